"""Put the page together."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pandas as pd

from specfrontier import __version__
from specfrontier.paper_figures.outputs import output_folder, save_text
from specfrontier.paper_figures.report.chart import frontier_charts
from specfrontier.paper_figures.report.html import Html, element, join
from specfrontier.paper_figures.report.samples import Tokenize, outputs_of, samples_section
from specfrontier.paper_figures.report.sections import (
    ablation_table,
    comparison_of,
    costs_section,
    measured_table,
)
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import baseline, require_rows, sweep

# Nothing may be fetched; the page's own style and script are all that runs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def write_report(run: RunSource, out: Path, *, tokenize: Tokenize | None = None) -> Path:
    """Write a run as one self-contained HTML page.

    Args:
        run: as `read_run` returns it.
        out: the page (`report.html`), or a folder to put `report.html` in.
        tokenize: cuts an output into its tokens' texts; None takes the pair's own tokenizer. Where there is none, or
            its tokens are not as many as the rounds emitted, an output is shown without colours.

    Returns:
        The page's path.

    Raises:
        InputError: if the run holds no speculative measurements, or `out` cannot be written.
    """
    require_rows(sweep(run.measurements), "speculative measurements", "measure some with `specfrontier measure`")
    path = out if out.suffix in (".html", ".htm") else out / "report.html"
    output_folder(path.parent)
    return save_text(report_page(run, tokenize), path)


def report_page(run: RunSource, tokenize: Tokenize | None = None) -> str:
    """The page as text."""
    tokenizers = outputs_of(run.pairs, tokenize)
    sections = [_pair_section(run, pair, task, tokenizers[pair]) for pair in run.pairs for task in run.tasks(pair)]
    head = element(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", f"{run.name}: speed-quality frontier"),
        element("style", Html(_asset("page.css"))),
    )
    body = element(
        "body",
        element("header", element("h1", run.name), element("p", _summary(run), class_="muted")),
        element("main", *sections),
        element("div", id="tip", role="status", hidden="hidden"),
        element("script", Html(_asset("page.js"))),
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _pair_section(run: RunSource, pair: str, task: str, tokenize: Tokenize) -> Html:
    rows = sweep(run.measurements, pair=pair, task=task)
    if rows.empty:
        return Html("")
    key = f"f{run.pairs.index(pair)}-{run.tasks(pair).index(task)}"
    verifier = baseline(run.measurements, "autoregressive", pair=pair, task=task)
    predictions = run.predictions[run.predictions["pair"] == pair]
    comparison = comparison_of(rows, predictions)
    everything = pd.concat(
        [verifier, baseline(run.measurements, "drafter", pair=pair, task=task), rows], ignore_index=True
    )
    parts = [
        ("Frontier", frontier_charts(rows, verifier, key)),
        ("Measured and predicted", measured_table(everything, comparison)),
        ("What each effect is worth", ablation_table(comparison)),
        ("Costs", costs_section(run.profile(pair))),
        ("Samples", samples_section(rows, run.problems, run.rounds, tokenize)),
    ]
    return element(
        "section",
        element("h2", f"{pair} on {task}"),
        join(part for title, content in parts for part in (element("h3", title), content)),
    )


def _summary(run: RunSource) -> str:
    counts = run.measurements["n"].dropna()
    problems = f"{int(counts.min())}" if counts.nunique() == 1 else f"{int(counts.min())} to {int(counts.max())}"
    return f"{len(run.measurements)} configurations, {problems} problems each · specfrontier {__version__}"


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
