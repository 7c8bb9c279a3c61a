"""The exactness audit of a run: how often multi-step drafts violate the order condition, and what exactness costs.

Reads stored rounds alone: `steps` says when each position was fixed, `accepted` how far verification went.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from specfrontier.profiling.resampling import ratio
from specfrontier.theory.exactness import exact_prefix_length

SETTINGS = ("config", "pair", "steps", "threshold", "rule", "block_size", "verification")


@dataclass(frozen=True)
class Audit:
    """Blocks of one configuration.

    Attributes:
        rounds: blocks audited.
        exact_blocks: share without a violation of the order condition.
        first_violation: mean position (1, 2, ...) of the first violation over the blocks with one; NaN if none has.
        exact_positions: positions before the first violation, as a share of those drafted.
        past_violation: share of rounds that verified a position at or after a violation, so that it could do harm.
        tokens_per_round: emitted tokens a round, with its 95 % interval over prompts.
    """

    rounds: int
    exact_blocks: float
    first_violation: float
    exact_positions: float
    past_violation: float
    tokens_per_round: float
    tokens_per_round_low: float
    tokens_per_round_high: float


def audit_rounds(rounds: pd.DataFrame) -> Audit | None:
    """Audit the rounds of one configuration; None if none of them was traced."""
    traced = rounds[[value is not None and len(value) > 0 for value in rounds["steps"]]]
    if traced.empty:
        return None
    sizes = traced["steps"].map(len).to_numpy()
    exact = np.array([int(exact_prefix_length(np.asarray(steps))) for steps in traced["steps"]])
    violated = exact < sizes
    accepted = traced["accepted"].to_numpy(np.int64)
    grouped = rounds.groupby("problem")["emitted"]
    tokens = ratio(grouped.sum().to_numpy(np.float64), grouped.size().to_numpy(np.float64))
    return Audit(
        rounds=len(traced),
        exact_blocks=float(1 - violated.mean()),
        first_violation=float((exact[violated] + 1).mean()) if violated.any() else float("nan"),
        exact_positions=float(exact.sum() / sizes.sum()),
        past_violation=float((violated & (accepted >= exact)).mean()),
        tokens_per_round=tokens.value,
        tokens_per_round_low=tokens.low,
        tokens_per_round_high=tokens.high,
    )


def audit_table(configurations: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """One row a speculative configuration with traced rounds."""
    groups = dict(tuple(rounds.groupby("config", sort=False)))
    rows: list[Mapping[str, Any]] = []
    for settings in configurations[configurations["mode"] == "speculative"].to_dict("records"):
        found = audit_rounds(groups[settings["config"]]) if settings["config"] in groups else None
        if found is not None:
            rows.append({name: settings[name] for name in SETTINGS} | asdict(found))
    return pd.DataFrame(rows)
