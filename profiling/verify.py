"""Measure the few configurations that may be best, and choose among them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from specfrontier.decoding import pair_names, read_pair_file
from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.job import open_job
from specfrontier.profiling.results import as_predictions, write_measurements
from specfrontier.profiling.run_folder import read_sessions
from specfrontier.profiling.sessions import load_options_of
from specfrontier.profiling.sweep import sweep
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.simulate import Goal, Point, Recommendation, recommend
from specfrontier.simulate.grid import points_of


def verify(
    run: Path,
    profile: Profile,
    contenders: pd.DataFrame,
    goal: Goal,
    *,
    n: int,
    pair: str | None = None,
    source: TaskOptions = TaskOptions(),  # noqa: B008  (frozen)
) -> Recommendation:
    """Measure `contenders` on n problems into `run`, and recommend one of them from what was measured.

    The models are loaded as they were for the run.

    Args:
        run: folder of the profile's run; what it has already is not measured again.
        profile: names the pair and the task.
        contenders: rows of predictions.
        goal: what is asked for.
        n: problems, >= 1.
        pair: path of the pair's file, for one that is not shipped.
        source: where the task's problems come from, and what scoring may run.

    Raises:
        InputError: if n is out of range, there is no such pair or another one was profiled, a contender cannot be
            measured, or none meets the goal.
    """
    if n < 1:
        raise InputError(f"verify is {n}; give a number of problems >= 1")
    pair = _profiled(profile, pair)
    seed = int(profile.provenance.get("seed", 0))
    points = points_of(contenders)
    job = open_job(
        pair,
        profile.task,
        run,
        n=n,
        source=source,
        load=load_options_of(read_sessions(run), profile.pair),
        seed=seed,
        settings={"verify": [p.label for p in points]},
    )
    wanted = [_configuration(profile, point, seed) for point in points]
    done = sweep(job.pair, job.task, job.problems, wanted, job.store, retry_failed=True)
    if done.failed:
        label, error = next(iter(done.failed.items()))
        raise InputError(f"cannot measure {label}: {error}")
    write_measurements(job.store)
    chosen, problems = as_predictions(run, [configuration.key for configuration in wanted])
    return recommend(chosen, goal, problems=problems)


def _profiled(profile: Profile, pair: str | None) -> str:
    """Name or path of the profile's pair; InputError if a file is needed and not given, or is of another pair."""
    if pair is None:
        if profile.pair not in pair_names():
            raise InputError(f"{profile.pair} is not a shipped pair; give the path of its file with --pair")
        return profile.pair
    name = read_pair_file(pair).name
    if name != profile.pair:
        raise InputError(f"{pair} is the pair {name}, and the profile is of {profile.pair}; give the file of that one")
    return pair


def _configuration(profile: Profile, point: Point, seed: int) -> Configuration:
    return Configuration(
        pair=profile.pair,
        task=profile.task,
        mode="speculative",
        max_new_tokens=profile.max_new_tokens,
        steps=point.effort.steps,
        threshold=point.effort.threshold,
        rule=point.rule,
        block_size=point.block_size,
        verification="paper",
        seed=seed,
    )
