"""A table in three forms: Markdown to read, LaTeX to print, CSV to compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from specfrontier.paper_figures.outputs import save_table, save_text

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "→": r"$\to$", "≤": r"$\leq$", "∈": r"$\in$", "λ": r"$\lambda$", "τ": r"$\tau$", "δ": r"$\delta$",
    "…": r"\ldots{}", "–": "--", "−": "$-$", "×": r"$\times$", "\n": r"\newline ",
})  # fmt: skip
_MARKDOWN = str.maketrans({
    "\\": "\\\\", "|": r"\|", "<": "&lt;", ">": "&gt;", "*": r"\*", "_": r"\_", "`": r"\`", "\n": "<br>",
})  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table for people and the numbers behind it.

    Attributes:
        caption: one sentence or more.
        cells: text as it is read, one column each.
        data: numbers as they are computed with; written as CSV.
        wide: columns whose text runs over lines.
    """

    caption: str
    cells: pd.DataFrame
    data: pd.DataFrame
    wide: Sequence[str] = ()


def to_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    header = [_escape(name, _MARKDOWN) for name in table.cells]
    rows = [[_escape(cell, _MARKDOWN) for cell in row] for row in table.cells.itertuples(index=False)]
    lines = [header, ["---"] * len(header), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{_escape(table.caption, _MARKDOWN)}\n\n{body}\n"


def to_latex(table: Table) -> str:
    """A `table` environment with booktabs rules."""
    columns = "".join(r"p{0.6\linewidth}" if name in table.wide else "l" for name in table.cells)
    header = " & ".join(_escape(name, _LATEX) for name in table.cells)
    rows = [" & ".join(_escape(cell, _LATEX) for cell in row) + r" \\" for row in table.cells.itertuples(index=False)]
    lines = [
        r"\begin{table}", r"  \centering", rf"  \caption{{{_escape(table.caption, _LATEX)}}}",
        rf"  \begin{{tabular}}{{{columns}}}", r"    \toprule", rf"    {header} \\", r"    \midrule",
        *(f"    {row}" for row in rows), r"    \bottomrule", r"  \end{tabular}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def save_rendered(table: Table, out: Path, name: str) -> list[Path]:
    """Write `name.md`, `name.tex` and `name.csv`."""
    return [
        save_text(to_markdown(table), out / f"{name}.md"),
        save_text(to_latex(table), out / f"{name}.tex"),
        save_table(table.data, out / f"{name}.csv"),
    ]


def _escape(text: object, table: dict[int, str]) -> str:
    return str(text).translate(table)
