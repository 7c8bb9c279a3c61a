"""Per-position records of rounds (lists) as flat arrays, and their sums by prompt, without a Python loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Positions:
    """The traced positions of some rounds, one entry a position.

    Attributes:
        row: index of the round that it belongs to.
        number: 1, 2, ... within its block.
        visited: whether it was accepted or is the first rejection.
        rounds: number of rounds.
    """

    row: IntArray
    number: IntArray
    visited: NDArray[np.bool_]
    rounds: int

    def total(self, values: FloatArray, *, visited_only: bool = True) -> FloatArray:
        """Sum of `values` over each round's positions, `[rounds]`."""
        chosen = np.where(self.visited, values, 0.0) if visited_only else values
        return np.bincount(self.row, chosen, minlength=self.rounds).astype(np.float64)

    def count(self, *, visited_only: bool = True) -> FloatArray:
        """Positions of each round."""
        return self.total(np.ones(len(self.row)), visited_only=visited_only)


def positions(rounds: pd.DataFrame) -> Positions:
    """Positions of rounds (rows of `schema.ROUNDS`); rounds that were not traced have none."""
    lengths = np.array([0 if value is None else len(value) for value in rounds["tv"]], dtype=np.int64)
    row = np.repeat(np.arange(len(rounds)), lengths)
    number = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    reached = visited_counts(rounds)[row]
    return Positions(row, number, number <= reached, len(rounds))


def visited_counts(rounds: pd.DataFrame) -> IntArray:
    """Positions of each round that were accepted or are its first rejection."""
    accepted, verified = rounds["accepted"].to_numpy(np.int64), rounds["verified"].to_numpy(np.int64)
    return np.minimum(accepted + 1, verified)


def flat(column: pd.Series) -> FloatArray:
    """A list column as one array, rounds in order."""
    lists = [value for value in column if value is not None]
    return np.concatenate(lists) if lists else np.empty(0)


def by_prompt(prompts: pd.Series, *values: FloatArray) -> list[FloatArray]:
    """Sums by prompt of arrays with one entry a round."""
    index, _ = pd.factorize(prompts)
    return [np.bincount(index, value).astype(np.float64) for value in values]
