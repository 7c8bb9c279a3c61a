"""Measured policies against the best fixed configuration of equal deviation, as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.costs import draft_cost_fit
from specfrontier.profiling.policies import MeasuredPolicies
from specfrontier.profiling.run_folder import Tables
from specfrontier.simulate import Recorded
from specfrontier.simulate.scheduling import PolicyComparison, QueryTable, confidence, fit_router, judge

MEASURES = ("TV", "KL")
GROUPS = 4


@dataclass(frozen=True)
class PolicyRow:
    """One policy against its rival, on the problems that it was not made on.

    Attributes:
        kind: leniency by position, K by round, or router.
        policy: what was tried.
        spec: settings of the policy in full.
        measure: of deviation: TV, or KL in nats.
        deviation: of it, per emitted token.
        unit: tokens a second at the run's median costs, or tokens a round (rivals of the same K alone, whose rounds
            cost the same).
        speed: the policy's.
        rival: the best fixed configuration, or mixture of two, that deviates no more.
        rival_speed: the rival's.
        rival_deviation: the rival's, in the same measure.
        outdone: whether the policy deviates more than every fixed configuration, so that the two are not compared at
            equal deviation.
        gain, gain_low, gain_high: relative, with a 95 % interval over problems.
        accuracy: share of its problems answered right.
        problems: how many it was judged on.
    """

    kind: str
    policy: str
    spec: str
    measure: str
    deviation: float
    unit: str
    speed: float
    rival: str
    rival_speed: float
    rival_deviation: float
    outdone: bool
    gain: float
    gain_low: float
    gain_high: float
    accuracy: float
    problems: int


def policy_table(measured: MeasuredPolicies, tables: Tables, *, seed: int = 0) -> pd.DataFrame:
    """One row a policy, measure of deviation and unit of speed."""
    cells = _Cells(tables, measured.fixed)
    rows = [
        *_schedule_rows(measured, cells, seed),
        *_confidence_rows(measured, cells, seed),
        *_router_rows(measured, cells, tables, seed),
    ]
    return pd.DataFrame([asdict(row) for row in rows])


class _Cells:
    """Results by configuration and problem."""

    def __init__(self, tables: Tables, fixed: Sequence[Configuration]) -> None:
        problems = tables.problems.assign(
            TV=(1 - tables.problems["agreement"]) * tables.problems["visited"], KL=tables.problems["kl"]
        )
        keys = ["config", "problem"]
        self.table = problems.merge(_median_seconds(tables.rounds, [c.key for c in fixed]), on=keys).set_index(keys)

    def column(self, configuration: Configuration, problems: Sequence[str], name: str) -> np.ndarray:
        """``[n]`` one column on some problems."""
        values: np.ndarray = (
            self.table.loc[configuration.key].loc[list(problems), name].to_numpy(np.float64, na_value=np.nan)
        )
        return values

    def queries(
        self, fixed: Sequence[Configuration], problems: Sequence[str], measure: str, unit: str, signal: np.ndarray
    ) -> QueryTable:
        """Fixed configurations on some problems."""

        def rows(name: str) -> np.ndarray:
            return np.stack([self.column(c, problems, name) for c in fixed])

        return QueryTable(
            tuple(c.label.removesuffix(f" B={c.block_size}") for c in fixed),
            rows("output_tokens"),
            rows(unit),
            rows(measure),
            signal,
        )

    def judged(
        self,
        kind: str,
        policy: str,
        spec: str,
        chosen: Sequence[Configuration],
        fixed: Sequence[Configuration],
        problems: Sequence[str],
        measure: str,
        unit: str,
        seed: int,
    ) -> PolicyRow:
        """A policy that runs ``chosen[j]`` on problem j, against its rivals."""

        def own(name: str) -> np.ndarray:
            return np.concatenate([self.column(c, [p], name) for c, p in zip(chosen, problems, strict=True)])

        rivals = self.queries(fixed, problems, measure, unit, np.zeros(len(problems)))
        found = judge(policy, own("output_tokens"), own(unit), own(measure), rivals, seed=seed)
        return _row(kind, spec, found, measure, unit, float(np.nanmean(own("correct"))), len(problems))


def _median_seconds(rounds: pd.DataFrame, fixed: Sequence[str]) -> pd.DataFrame:
    """Seconds of every problem at the median costs of the fixed configurations' rounds.

    c_d by the number of forwards (a line), verification and host work. Wall seconds hold the machine's pauses, and
    policies are measured after their rivals; medians are the same for all, so that they differ by what they run alone.
    """
    own = rounds[rounds["config"].isin(fixed)]
    line = draft_cost_fit(own, own["forwards"])
    draft_s = own["draft_s"].median() if line is None else rounds["forwards"].map(line.at)
    table = rounds.assign(seconds=draft_s + own["verify_s"].median() + own["accept_s"].median())
    return table.groupby(["config", "problem"], as_index=False)["seconds"].sum()


def _row(
    kind: str, spec: str, found: PolicyComparison, measure: str, unit: str, accuracy: float, problems: int
) -> PolicyRow:
    return PolicyRow(
        kind=kind,
        policy=found.policy,
        spec=spec,
        measure=measure,
        deviation=found.deviation,
        unit="tokens/s" if unit == "seconds" else "tokens/round",
        speed=found.throughput,
        rival=found.fixed.label,
        rival_speed=found.fixed.throughput,
        rival_deviation=found.fixed.deviation,
        outdone=found.fixed.outdone,
        gain=found.gain,
        gain_low=found.gain_low,
        gain_high=found.gain_high,
        accuracy=accuracy,
        problems=problems,
    )


def _schedule_rows(measured: MeasuredPolicies, cells: _Cells, seed: int) -> Iterator[PolicyRow]:
    for measure, schedules in zip(MEASURES, (measured.tv, measured.kl), strict=True):
        for uniform, configuration in schedules:
            name, spec = f"K={configuration.steps}, {measure} of {uniform}", str(configuration.rule)
            same = [c for c in measured.fixed if c.steps == configuration.steps]
            chosen = [configuration] * len(measured.judged)
            for unit, fixed in (("rounds", same), ("seconds", list(measured.fixed))):
                yield cells.judged(
                    "leniency by position", name, spec, chosen, fixed, measured.judged, measure, unit, seed
                )


def _confidence_rows(measured: MeasuredPolicies, cells: _Cells, seed: int) -> Iterator[PolicyRow]:
    """For every rule, the threshold that was fastest on the problems to fit on."""
    for rule in dict.fromkeys(c.rule for c in measured.confidence):
        options = [c for c in measured.confidence if c.rule == rule]
        best = max(
            options,
            key=lambda c: (
                cells.column(c, measured.fit, "output_tokens").sum() / cells.column(c, measured.fit, "seconds").sum()
            ),
        )
        chosen = [best] * len(measured.judged)
        for measure in MEASURES:
            name = f"{best.label.removesuffix(f' B={best.block_size}')}"
            yield cells.judged(
                "K by round", name, name, chosen, measured.fixed, measured.judged, measure, "seconds", seed
            )


def _router_rows(measured: MeasuredPolicies, cells: _Cells, tables: Tables, seed: int) -> Iterator[PolicyRow]:
    """Routers, by two signals, for the deviation at the least effort of every rule that schedules were made for."""
    fixed = measured.fixed
    steps = min(c.steps for c in fixed if c.steps is not None)
    least = {str(c.rule): c for c in fixed if c.steps == steps}
    uniform = dict.fromkeys(name for name, _ in (*measured.tv, *measured.kl))
    lossless = least["lossless"]
    drafted = _first_confidence(tables, lossless)
    signals = {
        "prompt length": [cells.column(lossless, half, "prompt_tokens") for half in (measured.fit, measured.judged)],
        "confidence of the first draft": [
            np.array([drafted[problem] for problem in half]) for half in (measured.fit, measured.judged)
        ],
    }
    for measure in MEASURES:
        for rival in (least[name] for name in uniform):
            spent = cells.column(rival, measured.fit, measure).sum()
            budget = float(spent / cells.column(rival, measured.fit, "output_tokens").sum())
            for name, (fitted_on, judged_on) in signals.items():
                table = cells.queries(fixed, measured.fit, measure, "seconds", fitted_on)
                router = fit_router(table, budget, groups=min(GROUPS, len(measured.fit) // 2))
                chosen = [fixed[i] for i in router.choice(judged_on)]
                said = " / ".join(table.names[i] for i in router.configurations)
                policy = f"by {name}, {measure} of {rival.rule}"
                yield cells.judged("router", policy, said, chosen, fixed, measured.judged, measure, "seconds", seed)


def _first_confidence(tables: Tables, configuration: Configuration) -> dict[str, float]:
    """Accepted length that the drafter expects of its first draft, by problem."""
    rounds = tables.rounds[tables.rounds["config"] == configuration.key]
    traces = next(iter(Recorded.from_tables(rounds, tables.configurations).traces.values()))
    return dict(zip(traces.problems, confidence(traces)[traces.first], strict=True))
