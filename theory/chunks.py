"""Prefix-ordered unmasking: the best way to cut a block of B positions into K chunks.

A sampler that fixes the next few positions from the left in every step satisfies both conditions of the block
form of Proposition 2, so its drafts are verified exactly without a cut. What is left to choose is the chunk
sizes. A position deeper in its chunk is drawn from a staler canvas and is accepted less often, but sizes must
add up to B: a small dynamic programme. Proofs: ``docs/theory/schedules.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import counts, nonnegative, positive, probabilities

__all__ = ["ChunkPlan", "best_chunk_steps", "best_chunks", "chunk_expected_tokens"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ChunkPlan:
    """A chunk schedule and its value.

    Attributes:
        sizes: chunk sizes from the left, positive, adding up to B; their number is the steps used, K.
        expected_tokens: tokens per round, correction or bonus included.
    """

    sizes: tuple[int, ...]
    expected_tokens: float

    @property
    def steps(self) -> int:
        """K, the number of denoising steps."""
        return len(self.sizes)

    @property
    def unmask_steps(self) -> NDArray[np.int64]:
        """``[B]``: the step at which each position is fixed, as the exactness certificate takes it."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def chunk_expected_tokens(sizes: Sequence[int], rates: ArrayLike) -> float:
    """Expected tokens per round of a given chunk schedule.

    Args:
        sizes: chunk sizes from the left, positive.
        rates: conditional acceptance rates in [0, 1]. ``[B]``: entry j holds for the j-th position of any
            chunk (from 0). ``[B, B]``: entry (s, j) holds for position s + j of the chunk that starts at s;
            entries beyond the block are ignored.

    Raises:
        ValueError: if sizes are not positive, do not add up to B, or rates are invalid.
    """
    table = _rate_table(rates)
    plan = counts(list(sizes), "sizes", minimum=1)
    if plan.sum() != table.shape[0]:
        raise ValueError(f"sizes must add up to B = {table.shape[0]}, got {tuple(sizes)}")
    starts = np.cumsum(plan) - plan
    row = np.concatenate([table[start, :size] for start, size in zip(starts, plan, strict=True)])
    return 1.0 + float(np.cumprod(row).sum())


def best_chunks(rates: ArrayLike, steps: int) -> ChunkPlan:
    """Maximise expected tokens per round over chunk schedules of at most K steps.

    Bellman's equation from the right, with G(s, n) = Σ_{j<=n} Π_{i<=j} α(s, i) the tokens that a chunk of n
    positions at s adds and P(s, n) the chance that it survives:
    W_m(s) = max_n G(s, n) + P(s, n) W_{m-1}(s + n). O(K B²).

    Args:
        rates: ``[B]`` by offset in the chunk or ``[B, B]`` by (start, offset); see
            :func:`chunk_expected_tokens`.
        steps: K >= 1.

    Returns:
        An optimal plan, with as few steps as attain the optimum.

    Raises:
        ValueError: if rates or steps are invalid.

    Examples:
        >>> best_chunks([0.9, 0.7, 0.5, 0.3], steps=2).sizes
        (1, 3)
    """
    table = _rate_table(rates)
    K = min(int(counts(steps, "steps", minimum=1)), table.shape[0])
    gain, survive = _chunk_values(table)
    values, choices = _bellman(gain, survive, K)
    used = 1 + int(np.argmax(values[:, 0] >= values[-1, 0] - 1e-14 * (1 + values[-1, 0])))
    return ChunkPlan(_follow(choices, used), 1.0 + float(values[used - 1, 0]))


def best_chunk_steps(rates: ArrayLike, draft_costs: ArrayLike, verify_cost: float) -> ChunkPlan:
    """Pick the number of steps too: maximise tokens per second over K and the chunk sizes.

    Args:
        rates: as :func:`best_chunks`.
        draft_costs: ``[n]``; entry K - 1 is c_d(K) in seconds.
        verify_cost: c_v in seconds, > 0.

    Returns:
        The plan of highest throughput.

    Raises:
        ValueError: if an argument is invalid.
    """
    cost = np.atleast_1d(nonnegative(draft_costs, "draft_costs")) + positive(verify_cost, "verify_cost")
    if cost.ndim != 1 or cost.size == 0:
        raise ValueError(f"draft_costs must have shape [n] with n >= 1, got shape {np.shape(draft_costs)}")
    plans = [best_chunks(rates, K) for K in range(1, cost.size + 1)]
    return max(plans, key=lambda plan: plan.expected_tokens / cost[plan.steps - 1])


def _rate_table(rates: ArrayLike) -> FloatArray:
    """Rates by (start, offset), zero beyond the block."""
    table = probabilities(rates, "rates")
    if table.ndim == 1:
        table = np.broadcast_to(table, (table.size, table.size))
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.size == 0:
        raise ValueError(f"rates must have shape [B] or [B, B] with B >= 1, got shape {np.shape(rates)}")
    start, offset = np.indices(table.shape)
    return np.where(start + offset < table.shape[0], table, 0.0)


def _chunk_values(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """G(s, n) and P(s, n) for n = 1..B, at column n - 1."""
    survive: FloatArray = np.cumprod(table, axis=1, dtype=np.float64)
    return np.cumsum(survive, axis=1, dtype=np.float64), survive


def _bellman(gain: FloatArray, survive: FloatArray, K: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Values ``[K, B + 1]`` of at most m + 1 chunks from each start, and the sizes that attain them."""
    B = gain.shape[0]
    values, choices = np.zeros((K, B + 1)), np.zeros((K, B), dtype=np.int64)
    for m in range(K):
        for start in range(B):
            reach = B - start
            if m == 0:  # the last chunk takes all that is left
                choices[m, start], values[m, start] = reach, gain[start, reach - 1]
                continue
            total = gain[start, :reach] + survive[start, :reach] * values[m - 1, start + 1 :]
            choices[m, start] = 1 + int(np.argmax(total))
            values[m, start] = total[choices[m, start] - 1]
    return values, choices


def _follow(choices: NDArray[np.int64], used: int) -> tuple[int, ...]:
    sizes: list[int] = []
    start = 0
    for m in reversed(range(used)):
        if start == choices.shape[1]:
            break
        sizes.append(int(choices[m, start]))
        start += sizes[-1]
    return tuple(sizes)
