"""The report's tables: prediction beside measurement, what each effect is worth, and the costs."""

from __future__ import annotations

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.paper_figures.efforts import effort_of
from specfrontier.paper_figures.report.html import Html, element, table
from specfrontier.paper_figures.report.words import number, percent, setting, with_error
from specfrontier.profile import Estimate, Profile
from specfrontier.simulate import Comparison, compare

_ABLATION = ("throughput", "tokens_per_round", "agreement", "accuracy")
_IN_UNITS = ("acceptance", "agreement", "accuracy")  # figures whose errors are differences, not ratios


def comparison_of(rows: pd.DataFrame, predictions: pd.DataFrame) -> Comparison | None:
    """The comparison of one pair's measurements with its predictions; None where they share no point."""
    if predictions.empty:
        return None
    try:
        return compare(rows, predictions)
    except InputError:
        return None


def measured_table(rows: pd.DataFrame, comparison: Comparison | None) -> Html:
    """Every configuration: accuracy, latency, throughput, and the throughput that each predictor gave."""
    predicted = _predicted_throughput(comparison)
    header = ["Configuration", "Accuracy (%)", "Latency (s)", "Tokens/s", "Tokens a round", "Agreement", *predicted]
    body = []
    for _, row in rows.iterrows():
        cells = [
            setting(row),
            percent(row["accuracy"], row.get("accuracy_se")),
            with_error(row["latency"], row.get("latency_se")),
            with_error(row["throughput"], row.get("throughput_se")),
            with_error(row["tokens_per_round"], row.get("tokens_per_round_se")),
            with_error(row["agreement"], row.get("agreement_se")),
        ]
        for found in predicted.values():
            value = found.get(row["config"])
            cells.append("–" if value is None else _beside(value, row["throughput"]))
        body.append(cells)
    caption = "± is one standard error. A predictor's column is its tokens/s, with its error in brackets."
    return table(header, body, caption=caption if predicted else "± is one standard error.")


def ablation_table(comparison: Comparison | None) -> Html:
    """Error of each predictor, from the simplest on: what each effect that it adds is worth."""
    if comparison is None:
        return element("p", "The run holds no predictions for the measured configurations.", class_="muted")
    scores = comparison.scores[comparison.scores["figure"].isin(_ABLATION)]
    header = ["Predictor", "Figure", "Points", "Mean |error|", "Bias", "Noise floor", "Rank τ", "Coverage"]
    rows = [
        (
            row.predictor,
            row.figure.replace("_", " "),
            int(row.points),
            _error(row.mean_absolute_error, row.figure),
            _error(row.bias, row.figure),
            _error(row.noise_floor, row.figure),
            number(row.kendall_tau, 2),
            percent(row.coverage) + ("" if pd.isna(row.coverage) else " %"),
        )
        for row in scores.itertuples()
    ]
    caption = (
        "Errors over measured points that no predictor was fitted on. The noise floor is what measurement noise alone "
        "gives a perfect prediction; coverage is the share of measured values within the predicted interval."
    )
    return table(header, rows, caption=caption)


def costs_section(profile: Profile | None) -> Html:
    """Draft cost and distance by effort, then verify cost and what else a round takes."""
    if profile is None:
        return element("p", "The run holds no profile.", class_="muted")
    efforts = table(
        ["Effort", "d_K", "Lossless acceptance", "Tokens a round", "Drafter forwards", "Draft cost (ms)"],
        [
            (
                level.plain if (level := effort_of(e.steps, e.threshold)) else "–",
                _interval(e.d_visited),
                _interval(e.acceptance_rb),
                _interval(e.tokens_per_round),
                number(e.forwards),
                _interval(e.draft_s, 1e3),
            )
            for e in profile.efforts
        ],
        caption=f"Brackets are 95 % intervals. {_line(profile)}",
    )
    rest = [
        ("Verify cost c_v, a round", _interval(profile.verify_cost, 1e3)),
        *(
            (f"Verify cost at B={c.block_size}, context {c.context}", _interval(c.seconds, 1e3))
            for c in profile.verify_costs
        ),
        ("One token of the verifier alone", _interval(profile.autoregressive_s, 1e3)),
        ("Prefill", _interval(profile.prefill_s, 1e3)),
        ("Deciding and bookkeeping, a round", _interval(profile.host_s, 1e3)),
        ("Share of a round that is no model's forward", f"{percent(profile.host_share)} %"),
    ]
    return element("div", efforts, table(["Cost", "Milliseconds"], rest))


def _predicted_throughput(comparison: Comparison | None) -> dict[str, dict[str, float]]:
    if comparison is None:
        return {}
    rows = comparison.table[comparison.table["figure"] == "throughput"]
    groups = rows.groupby("predictor", sort=False)
    return {str(name): dict(zip(group["config"], group["predicted"], strict=True)) for name, group in groups}


def _beside(predicted: float, measured: float) -> str:
    return f"{number(predicted)} ({100 * (predicted / measured - 1):+.0f} %)".replace("-", "−")


def _error(value: float, figure: str) -> str:
    unit = "pp" if figure in _IN_UNITS else "%"
    return "–" if pd.isna(value) else f"{100 * value:.1f} {unit}".replace("-", "−")


def _interval(estimate: Estimate, factor: float = 1.0) -> str:
    low, value, high = (number(factor * v) for v in (estimate.low, estimate.value, estimate.high))
    return f"{value} [{low}, {high}]"


def _line(profile: Profile) -> str:
    fit = profile.draft_cost
    if fit is None:
        return ""
    a, b = _interval(fit.intercept, 1e3), _interval(fit.slope, 1e3)
    return f"c_d(K) = a + bK with a = {a} ms, b = {b} ms, R² = {fit.r_squared:.3f}."
