"""What the parts of a round cost: c_d(K) from recorded rounds, c_v(block size, context) by a loop of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import statsmodels.api as sm
import torch
from numpy.typing import ArrayLike

from specfrontier.decoding import Pair
from specfrontier.decoding.clock import RoundClock
from specfrontier.profile import Estimate, LineFit, VerifyCost
from specfrontier.profiling.resampling import spread


@dataclass(frozen=True)
class Loop:
    """How often a forward is repeated: the first `warm_up` are thrown away."""

    warm_up: int = 3
    repeats: int = 15


def fit_line(x: ArrayLike, y: ArrayLike) -> LineFit | None:
    """Least squares of y on x by statsmodels, with 95 % intervals and R²; None with fewer than two distinct x.

    With two points the line is exact and its intervals are unknown (NaN).
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(np.unique(x)) < 2:
        return None
    fitted = sm.OLS(y, sm.add_constant(x)).fit()
    bounds = fitted.conf_int() if len(x) > 2 else np.full((2, 2), math.nan)
    intercept, slope = (
        Estimate(float(value), float(low), float(high), len(x))
        for value, (low, high) in zip(fitted.params, bounds, strict=True)
    )
    return LineFit(intercept, slope, float(fitted.rsquared) if np.ptp(y) > 0 else 1.0)


def draft_cost_fit(rounds: pd.DataFrame, steps: pd.Series) -> LineFit | None:
    """c_d(K) = a + bK over the rounds of fixed-K configurations.

    A point is the median of one prompt's drafts at one K: rounds of a prompt are not independent, and a median is
    not moved by a pause of the machine.

    Args:
        rounds: full blocks only.
        steps: K of each round.
    """
    points = rounds.assign(K=steps.to_numpy()).groupby(["K", "problem"])["draft_s"].median().reset_index()
    return fit_line(points["K"].astype(float), points["draft_s"])


def full_blocks(rounds: pd.DataFrame) -> pd.DataFrame:
    """Rounds whose block was not cut short by the token limit; all of them if none is full."""
    full = rounds[rounds["requested"] == rounds["requested"].max()]
    return full if len(full) else rounds


def verify_nodes(block_size: int, sizes: Iterable[int], longest: int) -> list[int]:
    """Block sizes to time the verifier at: 0 (one token), powers of two, and those of interest."""
    largest = max([block_size, *sizes])
    powers = [2**i for i in range(int(math.log2(largest)) + 1)]
    return sorted({b for b in [0, *powers, *sizes, block_size] if b + 1 < longest})


def context_nodes(prompt_tokens: float, max_new_tokens: int, room: int) -> list[int]:
    """Contexts to time the verifier at: beginning, middle and end of a generation, as far as the model reaches."""
    start = max(1, round(prompt_tokens))
    wanted = [start, start + max_new_tokens // 2, start + max_new_tokens]
    return sorted({max(1, min(context, room)) for context in wanted})


def time_verifier(
    pair: Pair, block_sizes: Sequence[int], contexts: Sequence[int], loop: Loop | None = None
) -> list[VerifyCost]:
    """Seconds of one verifier forward over B drafted tokens plus one, after each context.

    Blocks and contexts take turns within each repetition, so that a drifting machine slows all of them alike. Token ids
    are random: a dense model's time does not depend on them.
    """
    loop = loop or Loop()
    verifier, device = pair.engine.verifier, pair.engine.verifier.device
    generator = torch.Generator().manual_seed(0)
    draws = torch.randint(pair.engine.vocab_size, (max(contexts) + max(block_sizes) + 1,), generator=generator)
    tokens = draws.to(device)
    seconds: dict[tuple[int, int], list[float]] = {(b, c): [] for c in contexts for b in block_sizes}
    with torch.inference_mode():
        sessions = {}
        for context in contexts:
            sessions[context] = verifier.session()
            sessions[context].forward(tokens[:context], rows=1)
            sessions[context].rollback(0)
        for repeat in range(loop.warm_up + loop.repeats):
            for (block_size, context), times in seconds.items():
                session, clock = sessions[context], RoundClock(device)
                clock.mark()
                session.forward(tokens[: block_size + 1])
                clock.mark()
                session.rollback(block_size + 1)
                elapsed = clock.seconds()[0]
                if repeat >= loop.warm_up:
                    times.append(elapsed)
    return [VerifyCost(b, c, spread(times)) for (b, c), times in seconds.items()]


def verify_cost_fit(costs: Sequence[VerifyCost]) -> LineFit | None:
    """Verify seconds as intercept + slope * tokens fed (B + 1), at the middle context; None without costs."""
    if not costs:
        return None
    contexts = sorted({cost.context for cost in costs})
    middle = contexts[len(contexts) // 2]
    chosen = [cost for cost in costs if cost.context == middle]
    return fit_line([cost.block_size + 1 for cost in chosen], [cost.seconds.value for cost in chosen])
