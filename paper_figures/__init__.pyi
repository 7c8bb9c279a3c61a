from .catalogue import ENTRIES as ENTRIES, draw as draw, draw_all as draw_all
from .demo import demo_figures as demo_figures
from .report import write_report as write_report
from .run import RunSource as RunSource, combine as combine, read_run as read_run
