"""The main job: profile a pair, predict its frontier, measure it, compare the two, draw them, within a time budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from specfrontier.decoding import read_pair_file
from specfrontier.profile import Profile
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.grid import SweepGrid, default_grid
from specfrontier.profiling.job import Job, open_job
from specfrontier.profiling.parts import digest
from specfrontier.profiling.profiler import ProfileSettings, profile_pair
from specfrontier.profiling.results import (
    ANCHORS,
    predictions_of,
    write_comparison,
    write_measurements,
    write_predictions,
)
from specfrontier.profiling.sweep import SweepResult, sweep
from specfrontier.simulate import Comparison, compare

if TYPE_CHECKING:
    from specfrontier.profiling.tasks.base import TaskProblem

Say = Callable[[str], None]

PROFILE_SHARE, MEASURE_SHARE = 0.35, 0.55
PREDICTORS = ("anchored", "replay", "closed-form")
FEWEST_PROBLEMS, MOST_PROBLEMS = 4, 500


@dataclass(frozen=True)
class MainJob:
    """What the main job made: everything lies in `folder` too."""

    folder: Path
    profile: Profile
    predictions: pd.DataFrame
    measurements: pd.DataFrame
    comparison: Comparison
    figures: list[Path]


def run_main_job(name: str, out: Path, *, budget_s: float, seed: int = 0, say: Say = print) -> MainJob:
    """Run the main job on a pair's default task and grid, at the pair's block size.

    Args:
        name: of the pair.
        out: run folder; an interrupted job goes on where it was.
        budget_s: seconds that profile and measurement may take together, about; the number of problems follows
            from it and from the machine's measured speed.
        seed: of every random draw.
        say: told what is going on.
    """
    file = read_pair_file(name)
    grid = replace(default_grid(file, file.tasks[0]), seeds=(seed,))
    job = open_job(name, file.tasks[0], out, n=MOST_PROBLEMS, seed=seed, settings={"budget_s": budget_s})
    say(f"{file.name}: {file.summary}")
    profile = _profile(job, grid, PROFILE_SHARE * budget_s, seed, say)
    predictions = predictions_of(out, profile, rules=grid.rules, predictors=PREDICTORS, seed=seed)
    write_predictions(predictions, out, profile)
    say(f"predicted {len(predictions)} points from the profile alone, before the others are measured")
    measurements = _measure(job, grid, MEASURE_SHARE * budget_s, say)
    comparison = compare(measurements, predictions)
    write_comparison(comparison, out, out, out)
    say("drawing")
    figures = _draw(job, profile, predictions, measurements, out)
    return MainJob(out, profile, predictions, measurements, comparison, figures)


def _profile(job: Job, grid: SweepGrid, seconds: float, seed: int, say: Say) -> Profile:
    settings = ProfileSettings(
        steps=grid.steps,
        thresholds=grid.thresholds,
        block_size=grid.block_sizes[0],
        max_new_tokens=grid.max_new_tokens,
        seed=seed,
        anchors=ANCHORS,
    )
    configurations = settings.configurations(job.pair.name, job.task.name)
    efforts = len(grid.steps) + len(grid.thresholds)
    say(f"profiling: {efforts} efforts, lossless and at {len(ANCHORS)} leniencies, for about {seconds:.0f} s")
    _sweep(job, configurations, seconds)
    finished = _finished(job, configurations)
    say(f"profiled on {len(finished)} problems; timing the verifier by block size and context")
    profile = profile_pair(job.pair, job.task, finished, settings, job.store)
    profile.save(job.store.folder / "profile.json")
    return profile


def _measure(job: Job, grid: SweepGrid, seconds: float, say: Say) -> pd.DataFrame:
    configurations = grid.configurations(job.pair.name, job.task.name)
    say(f"measuring: {len(configurations)} configurations end to end, for about {seconds:.0f} s")
    done = _sweep(job, configurations, seconds)
    for label, error in done.failed.items():
        say(f"failed: {label}: {error}")
    return write_measurements(job.store)


def _sweep(job: Job, configurations: Sequence[Configuration], seconds: float) -> SweepResult:
    return sweep(
        job.pair,
        job.task,
        job.problems,
        configurations,
        job.store,
        time_limit_s=seconds,
        at_least=FEWEST_PROBLEMS,
    )


def _finished(job: Job, configurations: Sequence[Configuration]) -> list[TaskProblem]:
    """The problems that every configuration has."""
    common = set.intersection(*(job.store.finished(c.key) for c in configurations))
    return [problem for problem in job.problems if digest(problem.identifier) in common]


def _draw(job: Job, profile: Profile, predictions: pd.DataFrame, measurements: pd.DataFrame, out: Path) -> list[Path]:
    from specfrontier.paper_figures import demo_figures

    tables = job.store.tables()
    keys = tables.configurations.loc[tables.configurations["mode"] == "speculative", "config"]
    rounds = tables.rounds[tables.rounds["config"].isin(keys)]
    return demo_figures(profile, predictions, measurements, rounds, out / "figures", predictor="anchored")
