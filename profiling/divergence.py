"""d_K: how far the drafter is from the verifier at an effort, by the two estimators that the word can mean.

The paper defines d_K as the mean TV(p, q_K) over prefixes, at effort K and zero leniency, and leaves the prefixes open.
*Visited*: positions that verification looked at, on prefixes that it accepted. Equation 6 needs this one: 1 - d_K is
then the lossless acceptance rate. *Block*: every position of the draft, on the draft's own prefix, accepted or not; it
weighs late positions, which are worse, as much as early ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from specfrontier.profile import Estimate
from specfrontier.profiling.positions import Positions, by_prompt, flat, positions
from specfrontier.profiling.resampling import ratio

SETTINGS = ("config", "pair", "task", "steps", "threshold", "rule", "block_size")
DISTANCES = ("d_visited", "d_block")


@dataclass(frozen=True)
class Divergence:
    """TV between verifier and drafter over the rounds of one configuration.

    Attributes:
        visited: over visited positions.
        block: over all positions of the blocks.
        acceptance: accepted over visited positions, as counted.
        acceptance_rb: the same from the rule's acceptance rates; less noisy, equal in expectation.
        by_position: mean TV at positions 1, 2, ... over the rounds that visited them.
        tokens_per_round: emitted tokens a round.
    """

    visited: Estimate
    block: Estimate
    acceptance: Estimate
    acceptance_rb: Estimate
    by_position: tuple[float, ...]
    tokens_per_round: Estimate


def divergence(rounds: pd.DataFrame, *, seed: int = 0) -> Divergence:
    """Estimate from the traced rounds of one configuration, with intervals by a bootstrap over their prompts.

    Rounds without a trace are passed over: what they accepted must not meet the positions of others.
    """
    rounds = rounds[rounds["tv"].notna()]
    at, tv = positions(rounds), flat(rounds["tv"])
    n_visited, n_block = at.count(), at.count(visited_only=False)
    accepted = rounds["accepted"].to_numpy(np.float64)
    emitted, one = rounds["emitted"].to_numpy(np.float64), np.ones(len(rounds))

    def over(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
        return ratio(*by_prompt(rounds["problem"], numerator, denominator), seed=seed).estimate

    return Divergence(
        visited=over(at.total(tv), n_visited),
        block=over(at.total(tv, visited_only=False), n_block),
        acceptance=over(accepted, n_visited),
        acceptance_rb=over(at.total(flat(rounds["acceptance"])), n_visited),
        by_position=_by_position(at, tv),
        tokens_per_round=over(emitted, one),
    )


def divergence_table(configurations: pd.DataFrame, rounds: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Both estimators for every speculative configuration of a sweep, so that the drift of d_K with leniency shows.

    Leniency changes which prefixes are visited: `d_visited` at lambda is the TV on the prefixes of that lambda.
    """
    chosen = configurations[configurations["mode"] == "speculative"]
    groups = dict(tuple(rounds.groupby("config", sort=False)))
    rows = []
    for settings in chosen.to_dict("records"):
        if settings["config"] not in groups:
            continue
        found = divergence(groups[settings["config"]], seed=seed)
        row = {name: settings[name] for name in SETTINGS}
        for name, estimate in zip(DISTANCES, (found.visited, found.block), strict=True):
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        rows.append(row)
    return pd.DataFrame(rows, columns=[*SETTINGS, *(f"{d}{end}" for d in DISTANCES for end in ("", "_low", "_high"))])


def _by_position(at: Positions, tv: np.ndarray) -> tuple[float, ...]:
    number, values = at.number[at.visited], tv[at.visited]
    if not len(number):
        return ()
    count = np.bincount(number)[1:]
    return tuple((np.bincount(number, values)[1:] / count).tolist())
