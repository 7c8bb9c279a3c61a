"""Measure configurations on problems, storing each result as it comes; start it again and it goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from specfrontier.decoding import Generation, Pair
from specfrontier.errors import InputError
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.failures import Failure, free_memory
from specfrontier.profiling.modes import check_configuration, pair_for_task, run_configuration
from specfrontier.profiling.parts import digest
from specfrontier.profiling.progress import SweepProgress
from specfrontier.profiling.records import ProblemRecord, problem_record
from specfrontier.profiling.store import Store

if TYPE_CHECKING:
    from specfrontier.profiling.tasks.base import Task, TaskProblem

MOST_ATTEMPTS = 3
"""Processes that may die on one problem before its configuration counts as failed."""


@dataclass(frozen=True)
class SweepResult:
    """What a call of `sweep` did.

    Attributes:
        measured: problems measured by this call.
        reused: problems that the store already had.
        failed: error by label, of the configurations that could not be measured.
        stopped: whether the time limit ended it early.
    """

    measured: int
    reused: int
    failed: dict[str, str]
    stopped: bool = False


BUSY = -1.0
WAIT_S = 0.5

Unit = tuple["TaskProblem", Configuration]


def sweep(
    pair: Pair,
    task: Task,
    problems: Sequence[TaskProblem],
    configurations: Sequence[Configuration],
    store: Store,
    *,
    trace: bool = True,
    retry_failed: bool = False,
    time_limit_s: float | None = None,
    at_least: int = 0,
    on_problem: Callable[[Configuration, ProblemRecord], None] | None = None,
) -> SweepResult:
    """Measure every configuration on every problem that the store does not have yet.

    All configurations take their turn on one problem before the next one begins, in an order drawn anew for each, so
    that a machine whose speed drifts, or that is faster after a pause, is so for all of them alike. A configuration
    that fails is recorded with its error and skipped; a full disk, or an error that leaves the GPU unusable, ends the
    sweep with one line, and what was stored stays.

    Args:
        trace: record the laws of every position, outside the clock.
        retry_failed: try configurations again that failed in an earlier call.
        time_limit_s: begin no problem after this long; the same problems are then complete in all
            configurations.
        at_least: problems to measure whatever the time limit says.
        on_problem: called with each result.

    Raises:
        InputError: if nothing more can be stored or run, or the task refuses to score.
    """
    run = _Run(pair_for_task(pair, task.name), task, store, trace, on_problem)
    try:
        _declare(store, configurations, retry_failed)
        pending, reused = _pending(store, configurations, problems)
        stopped = run.work(pending, time_limit_s, at_least)
        _mark_done(store, configurations, problems)
        store.finish()
    except OSError as error:
        raise InputError(
            f"cannot store a result in {store.folder} ({(error.strerror or str(error)).lower()}); everything finished "
            "before is kept: make room and give the same command again"
        ) from error
    return SweepResult(run.measured, reused, run.failed(configurations), stopped)


def _declare(store: Store, configurations: Sequence[Configuration], retry_failed: bool) -> None:
    store.declare(configurations)
    for configuration in configurations:
        if store.status(configuration.key) == "done" or retry_failed:
            store.mark_running(configuration.key)


def _mark_done(store: Store, configurations: Sequence[Configuration], problems: Sequence[TaskProblem]) -> None:
    wanted = {digest(problem.identifier) for problem in problems}
    for configuration in configurations:
        if wanted <= store.finished(configuration.key):
            store.mark_done(configuration.key)


def _pending(
    store: Store, configurations: Sequence[Configuration], problems: Sequence[TaskProblem]
) -> tuple[list[list[Unit]], int]:
    """What is left to do, problem by problem, and how much is done."""
    finished = {configuration.key: store.finished(configuration.key) for configuration in configurations}
    groups = [
        [(problem, c) for c in _shuffled(configurations, problem) if digest(problem.identifier) not in finished[c.key]]
        for problem in problems
    ]
    reused = len(problems) * len(configurations) - sum(len(group) for group in groups)
    return groups, reused


def _shuffled(configurations: Sequence[Configuration], problem: TaskProblem) -> list[Configuration]:
    """The problem's own order, the same in every process and at every resumption."""
    return Random(problem.identifier).sample(configurations, len(configurations))


class _Run:
    """One process's work on a sweep."""

    def __init__(
        self,
        pair: Pair,
        task: Task,
        store: Store,
        trace: bool,
        on_problem: Callable[[Configuration, ProblemRecord], None] | None,
    ) -> None:
        self.pair, self.task, self.store, self.trace, self.on_problem = pair, task, store, trace, on_problem
        self.measured = 0
        self.warm: set[str] = set()
        self.skip: set[str] = set()

    def work(self, groups: list[list[Unit]], time_limit_s: float | None, at_least: int) -> bool:
        """Measure problem by problem; returns whether the time limit ended it."""
        end = None if time_limit_s is None else time.monotonic() + time_limit_s
        busy: list[Unit] = []
        units = [configuration.key for group in groups for _, configuration in group]
        with SweepProgress(units, end=end) as progress:
            for number, group in enumerate(groups):
                if number >= at_least and _late(end):
                    return True
                busy += self._measure_all(group, progress)
            while busy and not _late(end):  # until whoever has them is done with them, or dies
                time.sleep(WAIT_S)
                busy = self._measure_all(busy, progress)
        return bool(busy)

    def _measure_all(self, units: list[Unit], progress: SweepProgress) -> list[Unit]:
        """Measure units; returns those that another process has."""
        busy = []
        for problem, configuration in units:
            outcome = self._measure(problem, configuration)
            if outcome == BUSY:
                busy.append((problem, configuration))
            elif outcome is None:
                progress.drop(configuration.key)
            else:
                progress.done(configuration.key, configuration.label, outcome)
        return busy

    def failed(self, configurations: Sequence[Configuration]) -> dict[str, str]:
        """Errors of the failed configurations, by label."""
        return {c.label: e for c in configurations if (e := self.store.error(c.key)) is not None}

    def _measure(self, problem: TaskProblem, configuration: Configuration) -> float | None:
        """Measure a unit; returns its seconds, None if there was nothing to do, BUSY if another process has it."""
        key = configuration.key
        if key in self.skip:
            return None
        name = f"{key}-{digest(problem.identifier)}"
        with self.store.claims.claim(name) as claimed:
            if not claimed:
                return BUSY
            seconds = self._claimed(name, problem, configuration)
        self.store.claims.forget(name)  # measured or given up, by whomever
        return seconds

    def _claimed(self, name: str, problem: TaskProblem, configuration: Configuration) -> float | None:
        if self.store.has(configuration.key, problem.identifier):
            return None
        if self.store.status(configuration.key) == "failed":
            self.skip.add(configuration.key)
            return None
        return self._attempt(name, problem, configuration)

    def _attempt(self, name: str, problem: TaskProblem, configuration: Configuration) -> float | None:
        claims, attempts = self.store.claims, self.store.claims.attempts(name)
        if attempts >= MOST_ATTEMPTS:
            claims.end(name)
            died = f"{attempts} processes died on problem {problem.identifier} (out of memory?)"
            self._fail(configuration, Failure(died))
            return None
        claims.begin(name)
        try:
            return self._run(problem, configuration)
        finally:  # whatever Python can tell us of is no death; what is left behind is a process that was killed
            claims.end(name)

    def _run(self, problem: TaskProblem, configuration: Configuration) -> float | None:
        """Generate, score and store; returns the seconds, or None if the configuration failed."""
        began = time.monotonic()
        record = self._record(problem, configuration)
        if isinstance(record, Failure):
            self._fail(configuration, record)
            return None
        self.store.add(record.problem, record.rounds)
        self.measured += 1
        if self.on_problem is not None:
            self.on_problem(configuration, record)
        return time.monotonic() - began

    def _record(self, problem: TaskProblem, configuration: Configuration) -> ProblemRecord | Failure:
        try:
            generation = self._generate(problem, configuration)
            likelihood = self._likelihood(problem, generation)
        except Exception as error:
            return Failure.of(error)
        try:
            correct = self.task.score(problem, generation.text)
        except InputError:
            raise  # a task that refuses to score refuses for every configuration: that ends the sweep
        except Exception as error:
            return Failure.of(error, f"scoring {problem.identifier}: ")
        return problem_record(configuration.key, problem.identifier, generation, correct, likelihood)

    def _generate(self, problem: TaskProblem, configuration: Configuration) -> Generation:
        prompt, seed = self.task.prompt(problem), configuration.problem_seed(problem.identifier)
        if configuration.key not in self.warm:
            check_configuration(self.pair, configuration)
            run_configuration(self.pair, prompt, _short(configuration), seed, trace=False)
            self.warm.add(configuration.key)
        return run_configuration(self.pair, prompt, configuration, seed, self.trace)

    def _likelihood(self, problem: TaskProblem, generation: Generation) -> float | None:
        if not self.trace or not generation.tokens:
            return None
        return self.pair.log_likelihood(self.task.prompt(problem), generation.tokens)

    def _fail(self, configuration: Configuration, failure: Failure) -> None:
        """Record a failure, and make ready for the next configuration."""
        self.store.mark_failed(configuration.key, failure.reason)
        self.skip.add(configuration.key)
        if failure.device_lost:
            raise InputError(
                f"the GPU failed at {configuration.label} ({failure.reason}), and this process cannot use it any more; "
                "everything finished before is kept, and that configuration is recorded as failed: give the same "
                "command again for the others"
            )
        free_memory()


def _late(end: float | None) -> bool:
    return end is not None and time.monotonic() > end


def _short(configuration: Configuration) -> Configuration:
    """The same work cut short, to warm up kernels and allocators: one full block is drafted and verified."""
    limit = min(configuration.max_new_tokens, configuration.block_size or 4)
    return replace(configuration, max_new_tokens=limit)
