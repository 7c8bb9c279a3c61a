"""What figures are drawn from: the tables of one run, or of several put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.paper_figures.efforts import efforts
from specfrontier.paper_figures.selection import UnavailableError, sweep
from specfrontier.profile import Profile
from specfrontier.profiling.parquet import read_frame
from specfrontier.schema import TABLES


def empty_table(name: str) -> pd.DataFrame:
    """A table of the schema without rows."""
    return pd.DataFrame(columns=[column.name for column in TABLES[name]])


@dataclass(frozen=True)
class RunSource:
    """The tables of `specfrontier.schema`, and the profiles, of one run or several.

    Attributes:
        name: shown on figures and in captions.
        configurations, problems, rounds, measurements, predictions: tables; without rows where nothing was stored.
        profiles: at most one a pair.
    """

    name: str
    configurations: pd.DataFrame = field(default_factory=lambda: empty_table("configurations"))
    problems: pd.DataFrame = field(default_factory=lambda: empty_table("problems"))
    rounds: pd.DataFrame = field(default_factory=lambda: empty_table("rounds"))
    measurements: pd.DataFrame = field(default_factory=lambda: empty_table("measurements"))
    predictions: pd.DataFrame = field(default_factory=lambda: empty_table("predictions"))
    profiles: tuple[Profile, ...] = ()

    @property
    def pairs(self) -> list[str]:
        """Names of the measured pairs, in the order in which they were measured."""
        return list(dict.fromkeys(self.measurements["pair"]))

    @property
    def diffusion_pairs(self) -> list[str]:
        """Pairs measured at more than one diffusion effort."""
        return [pair for pair in self.pairs if self._effort_count(pair) > 1]

    def diffusion_pair(self, position: int) -> str:
        """The pair of Figures 7 and 10 (position 0) or of Figures 8 and 11 (position 1).

        Raises:
            UnavailableError: if there is none at that position.
        """
        if position >= len(self.diffusion_pairs):
            raise UnavailableError(
                f"{self.name} holds {len(self.diffusion_pairs)} of the {position + 1} pairs at several diffusion "
                "efforts that this needs; add a run with --from"
            )
        return self.diffusion_pairs[position]

    @property
    def one_step_pairs(self) -> list[str]:
        """Pairs whose drafter was measured at one effort only, such as an autoregressive one."""
        return [pair for pair in self.pairs if self._effort_count(pair) == 1]

    def tasks(self, pair: str) -> list[str]:
        """Tasks on which a pair was measured."""
        rows = self.measurements
        return list(dict.fromkeys(rows.loc[rows["pair"] == pair, "task"]))

    def _effort_count(self, pair: str) -> int:
        return int(efforts(sweep(self.measurements, pair=pair)).dropna().nunique())

    def profile(self, pair: str) -> Profile | None:
        """The pair's profile, if there is one."""
        return next((profile for profile in self.profiles if profile.pair == pair), None)


def read_run(*folders: Path) -> RunSource:
    """Read one run folder, or several that a figure shall compare.

    A folder is what `specfrontier.profiling.store` describes, with `measurements.parquet` and, where they were made,
    `predictions.parquet` and `profile.json`.

    Raises:
        InputError: if a folder is missing, holds no measurements, or a table cannot be read or lacks a column.
    """
    if not folders:
        raise InputError("no run given; name the folder that `specfrontier measure` wrote")
    runs = [_read_folder(folder) for folder in folders]
    return runs[0] if len(runs) == 1 else combine(runs)


def combine(runs: Sequence[RunSource]) -> RunSource:
    """Several runs as one; of two profiles of one pair, the later wins."""

    def stacked(name: str) -> pd.DataFrame:
        tables = [table for run in runs if not (table := getattr(run, name)).empty]
        return pd.concat(tables, ignore_index=True) if tables else empty_table(name)

    profiles = {profile.pair: profile for run in runs for profile in run.profiles}
    return RunSource(
        name=" + ".join(run.name for run in runs),
        profiles=tuple(profiles.values()),
        **{name: stacked(name) for name in TABLES},
    )


def _read_folder(folder: Path) -> RunSource:
    from specfrontier.profiling.store import read_run as read_store  # here: it imports torch, drawing does not

    stored = read_store(folder)
    measurements = _read_optional(folder, "measurements")
    if measurements.empty:
        raise InputError(f"{folder} holds no measurements.parquet; run `specfrontier measure` with --out {folder}")
    profile = folder / "profile.json"
    return RunSource(
        folder.name,
        configurations=stored.configurations,
        problems=stored.problems,
        rounds=stored.rounds,
        measurements=measurements,
        predictions=_read_optional(folder, "predictions"),
        profiles=(Profile.load(profile),) if profile.exists() else (),
    )


def _read_optional(folder: Path, name: str) -> pd.DataFrame:
    path = folder / f"{name}.parquet"
    return read_frame(path, name) if path.exists() else empty_table(name)
