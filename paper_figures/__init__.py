"""The paper's figures and tables, from its printed numbers and from a user's own runs; and a run's report.

Names are imported on first use, so that importing the package does not load matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specfrontier.paper_figures.catalogue import ENTRIES, draw, draw_all
    from specfrontier.paper_figures.demo import demo_figures
    from specfrontier.paper_figures.report import write_report
    from specfrontier.paper_figures.run import RunSource, combine, read_run

__all__ = ["ENTRIES", "RunSource", "combine", "demo_figures", "draw", "draw_all", "read_run", "write_report"]

_MODULE_OF = {
    "ENTRIES": "catalogue",
    "RunSource": "run",
    "combine": "run",
    "demo_figures": "demo",
    "draw": "catalogue",
    "draw_all": "catalogue",
    "read_run": "run",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
