"""What to deploy: the best configuration for a goal, how sure that is, and what would settle it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, Literal

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.simulate.grid import parse_leniency

__all__ = ["Choice", "Goal", "Recommendation", "recommend"]

Quality = Literal["accuracy", "agreement"]
Speed = Literal["throughput", "latency"]
_Z95 = 1.959964

#: Figures that agree to so many decimals are equal: lossless configurations differ in rounding alone.
_DECIMALS = 9


@dataclass(frozen=True)
class Goal:
    """Either the fastest configuration above a quality floor, or the best one below a latency ceiling.

    Args:
        quality: which figure counts as quality.
        floor: least quality allowed, in [0, 1]; asks for the fastest.
        latency: most seconds a problem allowed, > 0; asks for the best quality.
        speed: what fastest means.
    """

    quality: Quality = "accuracy"
    floor: float | None = None
    latency: float | None = None
    speed: Speed = "throughput"

    def __post_init__(self) -> None:
        if (self.floor is None) == (self.latency is None):
            raise InputError("a goal needs a quality floor or a latency ceiling, and not both")
        if self.floor is not None and not 0 <= self.floor <= 1:
            raise InputError(f"the {self.quality} floor is {self.floor}; give a share in [0, 1]")
        if self.latency is not None and not self.latency > 0:
            raise InputError(f"the latency ceiling is {self.latency} s; give seconds > 0")

    @property
    def objective(self) -> str:
        """The figure that is optimised."""
        return self.speed if self.floor is not None else self.quality

    @property
    def constraint(self) -> str:
        """The figure that is bounded."""
        return self.quality if self.floor is not None else "latency"

    @property
    def tie_break(self) -> str:
        """What decides between configurations that are equal in the objective."""
        return self.quality if self.floor is not None else "throughput"

    def allows(self, value: float) -> bool:
        """Whether a value of the constraint is within its bound."""
        return value >= self.floor if self.floor is not None else value <= (self.latency or 0.0)

    def gain(self, value: float) -> float:
        """The objective, turned so that more is better."""
        return -value if self.objective == "latency" else value


@dataclass(frozen=True)
class Choice:
    """A configuration with the figures expected of it: (value, low, high) each; NaN where unknown."""

    steps: int | None
    threshold: float | None
    rule: str
    parameter: tuple[str, float] | None
    block_size: int
    throughput: tuple[float, float, float]
    latency: tuple[float, float, float]
    agreement: tuple[float, float, float]
    accuracy: tuple[float, float, float]


@dataclass(frozen=True)
class Recommendation:
    """The answer to a goal.

    Attributes:
        goal: what was asked.
        choice: the configuration to deploy.
        runner_up: the next best, None if nothing else meets the goal.
        close: whether their intervals leave the order open (in the tie-break, if the objective is equal); true too
            where these are unknown.
        certain: whether the whole interval of the constraint is known to meet the bound.
        spread_known: whether intervals say how sure all this is. They do not where they are missing, or empty although
            the two differ.
        problems_to_settle: further measured problems that would tell choice and runner-up apart at 95 %, if they really
            differ by as much as predicted; 0 if the call is not close, None if they are predicted equal or their
            spread is unknown.
        contenders: row labels of the predictions that may be best: what to measure. The choice comes first, then by
            turns those not clearly worse, the next best first, and those better by estimate that miss the bound by no
            more than their intervals, the best first.
    """

    goal: Goal
    choice: Choice
    runner_up: Choice | None
    close: bool
    certain: bool
    spread_known: bool
    problems_to_settle: int | None
    contenders: tuple[Any, ...]

    def to_json(self) -> str:
        """As JSON; NaN becomes null."""
        return json.dumps(_without_nan(asdict(self)), indent=2)


def recommend(
    predictions: pd.DataFrame,
    goal: Goal,
    *,
    problems: int,
    accuracy_problems: int | None = None,
    most_contenders: int = 5,
) -> Recommendation:
    """Choose among predicted configurations.

    Args:
        predictions: of one predictor, on the grid to choose from (with accuracy, if the goal asks for it).
        goal: what to optimise, under what bound.
        problems: how many problems the intervals rest on.
        accuracy_problems: how many those of accuracy rest on, where it was fitted on other measurements; None for
            `problems`.
        most_contenders: at most how many configurations to name as possibly best.

    Raises:
        InputError: if no configuration meets the bound, naming the nearest, or the goal's figure was not predicted.
    """
    if predictions["predictor"].nunique() != 1:
        raise InputError("recommend needs the predictions of one predictor; select one")
    known = predictions.dropna(subset=[goal.objective, goal.constraint])
    if known.empty:
        raise InputError(f"no {goal.constraint} was predicted; fit a quality model first, or ask for agreement")
    feasible = known[[goal.allows(value) for value in known[goal.constraint]]]
    if feasible.empty:
        values = known[goal.constraint]
        nearest = values.max() if goal.floor is not None else values.min()
        bound = goal.floor if goal.floor is not None else goal.latency
        raise InputError(f"no configuration meets {goal.constraint} {bound}; the nearest reaches {nearest:.4g}")
    order = _ordered(feasible, goal)
    best, second = order.iloc[0], order.iloc[1] if len(order) > 1 else None
    figure = goal.objective if second is None else _deciding(best, second, goal)
    gap = math.inf if second is None else _standard_gap(best, second, figure)
    rested_on = accuracy_problems if figure == "accuracy" and accuracy_problems is not None else problems
    return Recommendation(
        goal=goal,
        choice=_choice(best),
        runner_up=None if second is None else _choice(second),
        close=_open(gap),
        certain=_meets_bound(best, goal, at="worst") is True,
        spread_known=not math.isnan(gap) and _meets_bound(best, goal, at="worst") is not None,
        problems_to_settle=_problems_to_settle(gap, rested_on) if _open(gap) else 0,
        contenders=_contenders(known, order, goal)[:most_contenders],
    )


def _ordered(feasible: pd.DataFrame, goal: Goal) -> pd.DataFrame:
    """Best first; equal ones, up to rounding, by the tie-break, where it is known."""
    keys = pd.DataFrame(
        {
            "gain": feasible[goal.objective].map(goal.gain).round(_DECIMALS),
            "tie": feasible[goal.tie_break].fillna(-math.inf).astype(float),
        }
    )
    found: pd.DataFrame = feasible.loc[keys.sort_values(["gain", "tie"], ascending=False, kind="stable").index]
    return found


def _deciding(a: pd.Series, b: pd.Series, goal: Goal) -> str:
    """The figure that puts a before b."""
    equal = round(float(a[goal.objective]) - float(b[goal.objective]), _DECIMALS) == 0
    known = not (pd.isna(a[goal.tie_break]) or pd.isna(b[goal.tie_break]))
    return goal.tie_break if equal and known else goal.objective


def _contenders(known: pd.DataFrame, order: pd.DataFrame, goal: Goal) -> tuple[Any, ...]:
    """The choice, then by turns near ties and whatever better may meet the bound after all: a cut keeps of both."""
    best = order.iloc[0]
    ties = [i for i, row in order.iloc[1:].iterrows() if _open(_standard_gap(best, row, _deciding(best, row, goal)))]
    gains = known.drop(index=order.index)[goal.objective].map(goal.gain).sort_values(ascending=False, kind="stable")
    better = gains[gains > goal.gain(best[goal.objective])].index
    perhaps = [i for i in better if _meets_bound(known.loc[i], goal, at="best") is not False]
    return (order.index[0], *_by_turns(ties, perhaps))


def _by_turns(one: Iterable[Any], other: Iterable[Any]) -> list[Any]:
    nothing = object()
    return [i for pair in zip_longest(one, other, fillvalue=nothing) for i in pair if i is not nothing]


def _open(gap: float) -> bool:
    """Whether a gap in standard errors leaves the order of two open: one that is unknown (NaN) does."""
    return not gap >= _Z95


def _standard_gap(a: pd.Series, b: pd.Series, figure: str) -> float:
    """Difference over its standard error, taken as if the two were independent: an upper bound on the doubt.

    NaN where it is unknown: an interval is missing, or both are empty though the two differ.
    """
    error = math.hypot(_error(a, figure), _error(b, figure))
    gap = abs(float(a[figure]) - float(b[figure]))
    if error == 0:
        return math.nan if gap > 0 else 0.0
    return gap / error


def _problems_to_settle(gap: float, problems: int) -> int | None:
    """Errors fall as one over the root of the problems, so the factor still missing is (z / gap)²."""
    if gap == 0 or math.isnan(gap):
        return None
    return max(0, math.ceil(problems * ((_Z95 / gap) ** 2 - 1)))


def _error(row: pd.Series, figure: str) -> float:
    """Standard error; NaN if unknown."""
    width = float(row[f"{figure}_high"]) - float(row[f"{figure}_low"])
    return width / (2 * _Z95) if math.isfinite(width) else math.nan


def _meets_bound(row: pd.Series, goal: Goal, *, at: Literal["worst", "best"]) -> bool | None:
    """Whether that end of the constraint's interval meets the bound; None if it is unknown."""
    low_end = (at == "worst") == (goal.floor is not None)
    end = float(row[f"{goal.constraint}_{'low' if low_end else 'high'}"])
    return bool(goal.allows(end)) if math.isfinite(end) else None


def _choice(row: pd.Series) -> Choice:
    def triple(name: str) -> tuple[float, float, float]:
        return float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"])

    return Choice(
        steps=None if pd.isna(row["steps"]) else int(row["steps"]),
        threshold=None if pd.isna(row["threshold"]) else float(row["threshold"]),
        rule=str(row["rule"]),
        parameter=parse_leniency(str(row["rule"])).parameter,
        block_size=int(row["block_size"]),
        throughput=triple("throughput"),
        latency=triple("latency"),
        agreement=triple("agreement"),
        accuracy=triple("accuracy"),
    )


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
