"""Policies in the decoder: leniency by position, K by round, and a router, measured beside fixed rivals.

Policies are made on every other problem and judged on the rest, where each meets the best fixed configuration (or
mixture of two) that deviates no more from the verifier.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from specfrontier.decoding import Effort as DraftEffort, Pair
from specfrontier.errors import InputError
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.job import Job
from specfrontier.profiling.sweep import sweep
from specfrontier.simulate import Effort, Recorded, Traces
from specfrontier.simulate.scheduling import (
    clips_for_budget,
    distances_by_position,
    round_under_clips,
    round_under_schedule,
)
from specfrontier.theory.rules import AcceptanceRule, Clip, Linear, RuleSchedule
from specfrontier.theory.schedules import tv_schedule_for_budget

Say = Callable[[str], None]

DIGITS = 4
"""A scheduled parameter is rounded to so many significant digits, so that its spec is legible."""


@dataclass(frozen=True)
class PolicySettings:
    """What is tried, and against what.

    Attributes:
        steps: fixed efforts K.
        leniencies: λ of the fixed linear rules, in (0, 1]; each is also the budget of a TV schedule.
        clips: b of the fixed clip rules, > 1; each is also the budget of a KL schedule.
        thresholds: τ of the drafter's confidence, which choose K by round.
        block_size: B.
        max_new_tokens: token limit.
        seed: of every random draw.
    """

    steps: tuple[int, ...]
    leniencies: tuple[float, ...]
    clips: tuple[float, ...]
    thresholds: tuple[float, ...]
    block_size: int
    max_new_tokens: int
    seed: int = 0

    @property
    def rules(self) -> tuple[str, ...]:
        """Specs of the rules that were asked for, and the lossless one."""
        lenient: list[AcceptanceRule] = [*map(Linear, self.leniencies), *map(Clip, self.clips)]
        return ("lossless", *(rule.spec for rule in lenient))

    @property
    def rival_rules(self) -> tuple[str, ...]:
        """Specs of the fixed rules: full leniency too, for policies that deviate more than `rules` do."""
        return tuple(dict.fromkeys((*self.rules, Linear(1.0).spec)))

    def fixed(self, pair: str, task: str) -> list[Configuration]:
        """The fixed configurations."""
        return replace(self._grid(steps=self.steps), rules=self.rival_rules).configurations(pair, task)

    def by_confidence(self, pair: str, task: str) -> list[Configuration]:
        """Efforts that the drafter's confidence chooses."""
        return self._grid(thresholds=self.thresholds).configurations(pair, task) if self.thresholds else []

    def scheduled(self, pair: str, task: str, steps: int, specs: Sequence[str]) -> list[Configuration]:
        """Schedules at one effort."""
        return replace(self._grid(steps=(steps,)), rules=tuple(specs)).configurations(pair, task)

    def _grid(self, *, steps: tuple[int, ...] = (), thresholds: tuple[float, ...] = ()) -> SweepGrid:
        return SweepGrid(
            steps=steps,
            thresholds=thresholds,
            rules=self.rules,
            block_sizes=(self.block_size,),
            max_new_tokens=self.max_new_tokens,
            seeds=(self.seed,),
            modes=("speculative",),
        )


@dataclass(frozen=True)
class MeasuredPolicies:
    """What was measured: configurations by policy; results lie in the job's store.

    Attributes:
        fixed: rivals, on all problems.
        tv, kl: schedules of leniency, by the spec of the uniform rule whose deviation they were given.
        confidence: configurations with thresholds, on all problems; empty if the drafter takes none.
        fit, judged: identifiers of the problems.
    """

    fixed: tuple[Configuration, ...]
    tv: tuple[tuple[str, Configuration], ...]
    kl: tuple[tuple[str, Configuration], ...]
    confidence: tuple[Configuration, ...]
    fit: tuple[str, ...]
    judged: tuple[str, ...]


def measure_policies(job: Job, settings: PolicySettings, say: Say = print) -> MeasuredPolicies:
    """Measure the fixed rivals, make schedules from the lossless rounds of half the problems, and measure policies.

    Raises:
        InputError: with fewer than eight problems, or if a fixed configuration cannot be measured.
    """
    if len(job.problems) < 8:
        raise InputError(f"policies need at least 8 problems, got {len(job.problems)}; give a larger --n")
    pair, task = job.pair.name, job.task.name
    fit, judged = job.problems[::2], job.problems[1::2]
    fixed = settings.fixed(pair, task)
    choosing = _choosing_pair(job.pair, settings)
    confident = [] if choosing is None else settings.by_confidence(choosing.name, task)
    say(f"fixed rivals: {len(fixed)} configurations on {len(job.problems)} problems")
    _measure(job, job.pair, job.problems, fixed)
    if choosing is None:
        say("K by round: this drafter takes no threshold")
    else:
        say(f"K by round: {len(confident)} configurations with a threshold on {len(job.problems)} problems")
        _measure(job, choosing, job.problems, confident)
    tv, kl = _schedules(job, settings, fixed, [problem.identifier for problem in fit])
    say(f"leniency by position: {len(tv)} schedules under TV and {len(kl)} under KL on {len(judged)} problems")
    _measure(job, job.pair, judged, [c for _, c in (*tv, *kl)])
    return MeasuredPolicies(
        tuple(fixed),
        tuple(tv),
        tuple(kl),
        tuple(confident),
        tuple(problem.identifier for problem in fit),
        tuple(problem.identifier for problem in judged),
    )


def tv_schedule(traces: Traces, lam: float) -> RuleSchedule:
    """The linear schedule that may deviate as much per token as uniform λ would on recorded lossless rounds."""
    budget = round_under_schedule(traces, lam)[1]
    found = tv_schedule_for_budget(distances_by_position(traces), budget).lam
    return RuleSchedule(tuple(Linear(_rounded(value)) for value in found))


def kl_schedule(traces: Traces, b: float) -> RuleSchedule:
    """The clip schedule that may spend as many nats per token as a uniform clip b would on recorded lossless rounds."""
    budget = round_under_clips(traces, b)[1]
    return RuleSchedule(tuple(Clip(max(1.0, _rounded(value))) for value in clips_for_budget(traces, budget)))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _schedules(
    job: Job, settings: PolicySettings, fixed: Sequence[Configuration], fit: Sequence[str]
) -> tuple[list[tuple[str, Configuration]], list[tuple[str, Configuration]]]:
    """TV and KL schedules at every effort, with the uniform rule that each is given the deviation of."""
    tables = job.store.tables()
    lossless = [c for c in fixed if c.rule == "lossless"]
    rounds = tables.rounds[tables.rounds["config"].isin([c.key for c in lossless]) & tables.rounds["problem"].isin(fit)]
    recorded = Recorded.from_tables(rounds, tables.configurations)
    tv: list[tuple[str, Configuration]] = []
    kl: list[tuple[str, Configuration]] = []
    for steps in settings.steps:
        traces = recorded.lossless(Effort(steps), settings.block_size)
        made = {Linear(lam).spec: tv_schedule(traces, lam).spec for lam in settings.leniencies}
        tv += _configured(job, settings, steps, made)
        made = {Clip(b).spec: kl_schedule(traces, b).spec for b in settings.clips}
        kl += _configured(job, settings, steps, made)
    return tv, kl


def _configured(
    job: Job, settings: PolicySettings, steps: int, made: dict[str, str]
) -> Iterator[tuple[str, Configuration]]:
    for uniform, spec in made.items():
        for configuration in settings.scheduled(job.pair.name, job.task.name, steps, [spec]):
            yield uniform, configuration


def _choosing_pair(pair: Pair, settings: PolicySettings) -> Pair | None:
    """The pair as one whose drafter takes thresholds, under a name of its own if that changes its unmasking order."""
    if not settings.thresholds:
        return None
    drafter = pair.engine.drafter
    effort = DraftEffort(threshold=settings.thresholds[0])
    if _takes(drafter, effort):
        return pair
    unmasking = getattr(drafter, "unmasking", None)
    if unmasking is None:
        return None
    confident = copy.copy(drafter)
    confident.unmasking = replace(unmasking, order="confidence")  # type: ignore[attr-defined]
    if not _takes(confident, effort):
        return None
    return replace(
        pair,
        file=replace(pair.file, name=f"{pair.name} by confidence"),
        engine=replace(pair.engine, drafter=confident),
    )


def _takes(drafter: object, effort: DraftEffort) -> bool:
    try:
        drafter.check_effort(effort)  # type: ignore[attr-defined]
    except InputError:
        return False
    return True


def _measure(job: Job, pair: Pair, problems: Sequence[object], configurations: Sequence[Configuration]) -> None:
    done = sweep(pair, job.task, problems, configurations, job.store, retry_failed=True)  # type: ignore[arg-type]
    if done.failed:
        label, error = next(iter(done.failed.items()))
        raise InputError(f"cannot measure {label} of {pair.name}: {error}")
