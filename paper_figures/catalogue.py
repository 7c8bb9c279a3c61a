"""Every figure and table of the paper by its name, and how to draw one or all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from specfrontier.errors import InputError
from specfrontier.paper_figures.outputs import FORMATS, Drawing, check_formats, output_folder, save_figure
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import UnavailableError
from specfrontier.paper_figures.style import journal_style
from specfrontier.paper_figures.tables.render import Table, save_rendered

Kind = Literal["figure", "table"]


@dataclass(frozen=True)
class Entry:
    """One figure or table.

    Attributes:
        name: as a user asks for it, such as `4` or `table1`.
        kind: figure or table.
        module: that draws it, with a function `draw(source)`.
        title: what it shows.
        from_paper: whether the paper's printed numbers are enough to draw it.
    """

    name: str
    kind: Kind
    module: str
    title: str
    from_paper: bool

    @property
    def stem(self) -> str:
        """Name of its files."""
        return f"figure{int(self.name):02d}" if self.kind == "figure" else self.name

    def make(self, source: RunSource | None) -> Drawing | Table:
        """Draw it; UnavailableError if `source` lacks what it needs."""
        if source is None and not self.from_paper:
            raise UnavailableError(
                f"{self.stem} is drawn from measurements, which the paper does not print; name a run with --from"
            )
        draw_it: Callable[[RunSource | None], Drawing | Table] = import_module(self.module).draw
        return draw_it(source)


def _entry(kind: Kind, name: str, title: str, *, from_paper: bool) -> Entry:
    place = f"figures.figure{int(name):02d}" if kind == "figure" else f"tables.{name}"
    return Entry(name, kind, f"{__package__}.{place}", title, from_paper)


ENTRIES = (
    _entry("figure", "1", "Two tradeoffs and their joint frontier", from_paper=True),
    _entry("figure", "2", "Optimal relaxed target; the two tradeoffs one at a time", from_paper=True),
    _entry("figure", "3", "Theoretical and measured acceptance and throughput", from_paper=True),
    _entry("figure", "4", "Frontiers of masked and uniform diffusion", from_paper=False),
    _entry("figure", "5", "Frontiers of drafters that share a verifier", from_paper=False),
    _entry("figure", "6", "Draft cost and verify cost a round", from_paper=False),
    _entry("figure", "7", "First pair: Cactus and linear acceptance", from_paper=False),
    _entry("figure", "8", "Second pair: Cactus and linear acceptance", from_paper=False),
    _entry("figure", "9", "Ablation of the block size", from_paper=False),
    _entry("figure", "10", "First pair on a second task", from_paper=False),
    _entry("figure", "11", "Second pair on a second task", from_paper=False),
    _entry("figure", "12", "Complete sweeps of Figure 5", from_paper=False),
    _entry("figure", "13", "A drafter at several efforts, by task", from_paper=False),
    _entry("table", "table1", "Baseline accuracies", from_paper=True),
    _entry("table", "table2", "Checkpoints", from_paper=True),
    _entry("table", "table3", "Sampling settings", from_paper=True),
    _entry("table", "table4", "Main configurations", from_paper=True),
    _entry("table", "table5", "Cactus budgets", from_paper=True),
    _entry("table", "examples", "Samples at rising leniency and effort (Appendix H)", from_paper=False),
)
_BY_NAME = {entry.name: entry for entry in ENTRIES}


def entry_named(which: str) -> Entry:
    """The entry of `4`, `figure4`, `table1` or `examples`; InputError if there is none."""
    name = which.lower().removeprefix("figure").lstrip("0") if which != "examples" else which
    if name not in _BY_NAME:
        raise InputError(f"no figure or table {which!r}; choose 1 to 13, table1 to table5, examples, or all")
    return _BY_NAME[name]


def draw(which: str, source: RunSource | None, out: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw one figure or table of the paper, or all that `source` allows.

    Args:
        which: a figure (`4`), a table (`table1`), `examples` (Appendix H), or `all`.
        source: measurements to draw from; None draws what the paper's printed numbers are enough for.
        out: folder, made if absent.
        formats: of figures: any of pdf, svg, png. A table is written as Markdown, LaTeX and CSV.

    Returns:
        The files written. With `all`, what cannot be drawn is left out; `draw_all` also says why.

    Raises:
        InputError: if `which` is unknown, `source` lacks what was asked for, or `out` cannot be written.
    """
    if which == "all":
        return draw_all(source, out, formats).paths
    entry, formats, folder = entry_named(which), check_formats(formats), output_folder(out)
    return _draw(entry, source, folder, formats)


@dataclass(frozen=True)
class Drawn:
    """What was drawn, and why the rest was not.

    Attributes:
        paths: the files written.
        left_out: the reason, by name of the figure or table.
    """

    paths: list[Path]
    left_out: dict[str, str]


def draw_all(source: RunSource | None, out: Path, formats: Sequence[str] = FORMATS) -> Drawn:
    """Draw everything that `source` allows. Arguments as `draw`."""
    formats, folder = check_formats(formats), output_folder(out)
    paths: list[Path] = []
    left_out: dict[str, str] = {}
    for entry in ENTRIES:
        try:
            paths += _draw(entry, source, folder, formats)
        except UnavailableError as error:
            left_out[entry.name] = str(error)
    return Drawn(paths, left_out)


def _draw(entry: Entry, source: RunSource | None, folder: Path, formats: Sequence[str]) -> list[Path]:
    with journal_style():
        made = entry.make(source)
        if isinstance(made, Table):
            return save_rendered(made, folder, entry.stem)
        return save_figure(made, folder, entry.stem, formats)
