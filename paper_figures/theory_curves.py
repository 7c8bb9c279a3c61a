"""Equations 6 and 7 over leniency for each effort: from the paper's printed numbers, or from a pair's profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from specfrontier.paper_figures.paper_data import DISTANCE_BY_STEPS, DREAM_QWEN_PARAMETERS, THEORY_BLOCK_SIZE
from specfrontier.paper_figures.selection import UnavailableError
from specfrontier.profile import Profile
from specfrontier.theory import AffineCost, linear_acceptance_rate, throughput, verifier_agreement

_LENIENCIES = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class TheoryInputs:
    """What Equations 6 and 7 start from.

    Attributes:
        distances: d_K by K.
        draft_cost: c_d(K).
        verify_cost: c_v, in the unit of `draft_cost`.
        block_size: B.
        speed_label: of the throughput axis; its unit is one over that of the costs.
        note: where the numbers come from.
    """

    distances: dict[int, float]
    draft_cost: AffineCost
    verify_cost: float
    block_size: int
    speed_label: str
    note: str


def paper_inputs() -> TheoryInputs:
    """Dream-7B drafting for Qwen2.5-32B.

    The paper prints d_K and B but neither a, b nor c_v. A forward that is bound by memory takes time in proportion to
    the model's parameters, so c_v is the unit and c_d(K) is K times the ratio of parameters.
    """
    drafter, verifier = DREAM_QWEN_PARAMETERS
    return TheoryInputs(
        distances=dict(DISTANCE_BY_STEPS),
        draft_cost=AffineCost(0.0, drafter / verifier),
        verify_cost=1.0,
        block_size=THEORY_BLOCK_SIZE,
        speed_label="Speedup over the verifier",
        note=(
            rf"$d_K$ and $B$ = {THEORY_BLOCK_SIZE} as printed (Appendix F.4). The paper prints no costs: here "
            rf"$c_d(K) = {drafter}K/{verifier}\;c_v$, the ratio of parameters."
        ),
    )


def profile_inputs(profile: Profile) -> TheoryInputs:
    """A pair as it was profiled.

    Raises:
        UnavailableError: if it was profiled at fewer than two fixed efforts, so that no line of costs exists.
    """
    if profile.draft_cost is None:
        raise UnavailableError(
            f"the profile of {profile.pair} has fewer than two fixed efforts K; profile it with --steps 1,2,4"
        )
    return TheoryInputs(
        distances={e.steps: e.d_visited.value for e in profile.efforts if e.steps is not None and e.threshold is None},
        draft_cost=AffineCost(profile.draft_cost.intercept.value, profile.draft_cost.slope.value),
        verify_cost=profile.verify_cost.value,
        block_size=profile.block_size,
        speed_label="Throughput (tokens/s)",
        note=rf"$d_K$, $c_d(K)$ and $c_v$ from the profile of {profile.pair}, $B$ = {profile.block_size}.",
    )


def theory_curves(inputs: TheoryInputs, leniencies: np.ndarray = _LENIENCIES) -> pd.DataFrame:
    """Columns steps, leniency, acceptance, agreement, throughput; one row an effort and leniency."""
    tables = []
    for steps, d in sorted(inputs.distances.items()):
        alpha = linear_acceptance_rate(d, leniencies)
        cost = float(np.maximum(inputs.draft_cost(steps), 0.0))
        tables.append(
            pd.DataFrame(
                {
                    "steps": steps,
                    "leniency": leniencies,
                    "acceptance": alpha,
                    "agreement": verifier_agreement(d, leniencies),
                    "throughput": throughput(alpha, inputs.block_size, cost, inputs.verify_cost),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)
