"""A run as one HTML page that needs nothing else: no network, no library, no file beside it."""

from specfrontier.paper_figures.report.page import write_report

__all__ = ["write_report"]
