"""The paper's figures and tables, from its printed numbers and from a user's own runs; and a run's report.

Names are imported on first use, so that importing the package does not load matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specfrontier.lazy import lazy_names

if TYPE_CHECKING:
    from specfrontier.paper_figures.catalogue import ENTRIES, draw, draw_all
    from specfrontier.paper_figures.demo import demo_figures
    from specfrontier.paper_figures.report import write_report
    from specfrontier.paper_figures.run import RunSource, combine, read_run

__all__ = ["ENTRIES", "RunSource", "combine", "demo_figures", "draw", "draw_all", "read_run", "write_report"]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("ENTRIES", "draw", "draw_all"), f"{__name__}.catalogue"),
        **dict.fromkeys(("RunSource", "combine", "read_run"), f"{__name__}.run"),
        "demo_figures": f"{__name__}.demo",
        "write_report": f"{__name__}.report",
    },
)
