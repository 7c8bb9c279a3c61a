"""The main job: profile and measure a pair in turns, predict its frontier, compare, draw, within a time budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from specfrontier.decoding import read_pair_file
from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.grid import SweepGrid, default_grid, with_overrides
from specfrontier.profiling.job import Job, open_job
from specfrontier.profiling.parts import digest
from specfrontier.profiling.predictions import ANCHORS, add_accuracy, grid_of, predictions_of
from specfrontier.profiling.profiler import ProfileSettings, profile_pair
from specfrontier.profiling.results import write_comparison, write_measurements, write_predictions
from specfrontier.profiling.sweep import sweep
from specfrontier.simulate import Comparison, compare
from specfrontier.simulate.grid import predictable

if TYPE_CHECKING:
    from specfrontier.profiling.tasks.base import TaskProblem

Say = Callable[[str], None]

RECORDING_SHARE = 0.9
"""Of the budget; the rest is for the verifier by block size and context, and for drawing."""
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


def run_main_job(
    name: str,
    out: Path,
    *,
    budget_s: float,
    seed: int = 0,
    steps: tuple[int, ...] | None = None,
    rules: tuple[str, ...] | None = None,
    say: Say = print,
) -> MainJob:
    """Run the main job on a pair's default task and grid, at the pair's block size.

    Args:
        name: of the pair.
        out: run folder; an interrupted job goes on where it was.
        budget_s: seconds that profile and measurement may take together, about; the number of problems follows
            from it and from the machine's measured speed.
        seed: of every random draw.
        steps, rules: other efforts K and acceptance rules than those of the pair's grid.
        say: told what is going on.
    """
    file = read_pair_file(name)
    grid = with_overrides(default_grid(file, file.tasks[0]), {"steps": steps, "rules": rules, "seeds": (seed,)})
    job = open_job(name, file.tasks[0], out, n=MOST_PROBLEMS, seed=seed, settings={"budget_s": budget_s})
    say(f"{file.name}: {file.summary}")
    settings = _settings(grid, seed)
    _record(job, settings, grid, RECORDING_SHARE * budget_s, say)
    profile = _profile(job, settings, say)
    predicted = grid_of(profile, tuple(dict.fromkeys(("lossless", *grid.rules, *ANCHORS))))
    predictions = predictions_of(out, profile, predicted, PREDICTORS, seed=seed)
    measurements = write_measurements(job.store)
    predictions = _with_accuracy(predictions, measurements, say)
    write_predictions(predictions, out, profile)
    say(f"predicted {len(predictions)} points from the profile's rounds alone")
    comparison = compare(measurements, predictions)
    write_comparison(comparison, out, out, out)
    say("drawing")
    figures = _draw(job, profile, predictions, measurements, out)
    return MainJob(out, profile, predictions, measurements, comparison, figures)


def _settings(grid: SweepGrid, seed: int) -> ProfileSettings:
    return ProfileSettings(
        steps=grid.steps,
        thresholds=grid.thresholds,
        block_size=grid.block_sizes[0],
        max_new_tokens=grid.max_new_tokens,
        seed=seed,
        anchors=ANCHORS,
    )


def _record(job: Job, settings: ProfileSettings, grid: SweepGrid, seconds: float, say: Say) -> None:
    """Run the profile's configurations and the grid's, in turns on each problem.

    A machine's speed drifts by more within minutes than predictions miss; recorded in turns, what is predicted from
    and what is predicted ran at the same speed.
    """
    own = settings.configurations(job.pair.name, job.task.name)
    asked = grid.configurations(job.pair.name, job.task.name)
    others = [c for c in asked if c.key not in {mine.key for mine in own}]
    say(
        f"recording for about {seconds:.0f} s, in turns: {len(own)} configurations that the profile rests on "
        f"(lossless, and at {len(ANCHORS)} leniencies), and {len(others)} that it has to predict"
    )
    done = sweep(
        job.pair,
        job.task,
        job.problems,
        [*own, *others],
        job.store,
        time_limit_s=seconds,
        at_least=FEWEST_PROBLEMS,
    )
    for label, error in done.failed.items():
        say(f"failed: {label}: {error}")


def _profile(job: Job, settings: ProfileSettings, say: Say) -> Profile:
    finished = _finished(job, settings.configurations(job.pair.name, job.task.name))
    say(f"recorded {len(finished)} problems; timing the verifier by block size and context")
    profile = profile_pair(job.pair, job.task, finished, settings, job.store)
    profile.save(job.store.folder / "profile.json")
    return profile


def _with_accuracy(predictions: pd.DataFrame, measurements: pd.DataFrame, say: Say) -> pd.DataFrame:
    """Predictions with accuracy, if there is any and it can be fitted."""
    if not measurements["accuracy"].notna().any():
        return predictions
    try:
        return add_accuracy(predictions, predictable(measurements))
    except InputError as error:  # the recording is done; all else of the job still holds
        say(f"accuracy is not predicted: {error}")
        return predictions


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
