"""Proposition 2 for a whole block: when Algorithm 1 emits the verifier's law, and the certificate for it.

Proposition 2 holds for one position: whatever random vector Q the draft token was drawn from, rejection
sampling against a fixed target returns the target. A block of B positions needs two more conditions:

- **Order.** Position k's target depends on the tokens before it, so none of them may have been drawn while
  looking at y_k: no earlier position is unmasked after position k.
- **Selection.** Given that a drawn token was kept, its law must still be q_k: the choice of which positions
  to fix may use the distributions, never the tokens just drawn.

Statement and proof: ``docs/theory/proposition2.md``. Enumerations of both sides: ``theory/enumeration.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["BlockCertificate", "certify_block", "exact_prefix_length", "order_condition"]


def order_condition(unmask_steps: ArrayLike) -> NDArray[np.bool_]:
    """Tell, position by position, whether the order condition of Proposition 2 holds.

    Position k is safe if no earlier position was unmasked after it, that is
    ``max(unmask_steps[:k]) <= unmask_steps[k]``. Equal steps are safe: given the canvas, tokens drawn in one
    step are independent.

    Args:
        unmask_steps: integers ``[..., B]``; entry k is the denoising step at which position k took its final
            value. Only the order of the numbers matters. A uniform-diffusion sampler that redraws every
            position in its last step has equal entries.

    Returns:
        Booleans ``[..., B]``. Position 1 is always safe.

    Raises:
        ValueError: if ``unmask_steps`` is not an integer array with at least one axis.
    """
    steps = _integer_steps(unmask_steps)
    if steps.shape[-1] == 0:
        return np.ones(steps.shape, dtype=np.bool_)
    return np.maximum.accumulate(steps, axis=-1) <= steps


def exact_prefix_length(unmask_steps: ArrayLike) -> NDArray[np.int64]:
    """Count the leading positions of a block that Algorithm 1 may verify without bias.

    Returns the largest L such that every position 1..L satisfies the order condition. Under the selection
    condition, verifying positions 1..L and, if they are all accepted, drawing position L + 1 from p (instead
    of verifying it if L < B; as the bonus token if L = B) emits exactly the verifier's law: the block theorem
    of ``docs/theory/proposition2.md``, which extends the paper's Proposition 2.

    Args:
        unmask_steps: integers ``[..., B]``; entry k is the step at which position k took its final value.

    Returns:
        Integers ``[...]`` between min(1, B) and B (a NumPy scalar for one block).

    Raises:
        ValueError: if ``unmask_steps`` is not an integer array with at least one axis.

    Examples:
        >>> int(exact_prefix_length([0, 0, 1, 2]))  # left to right, in chunks
        4
        >>> int(exact_prefix_length([0, 2, 1, 2]))  # position 2 was drawn after, and looking at, position 3
        2
    """
    safe = order_condition(unmask_steps)
    return np.logical_and.accumulate(safe, axis=-1).sum(axis=-1, dtype=np.int64)


@dataclass(frozen=True)
class BlockCertificate:
    """Which part of a drafted block Algorithm 1 verifies exactly.

    Attributes:
        block_size: B.
        prefix_length: ``[...]``, the L of :func:`exact_prefix_length`; 0 if the selection condition fails.
        order_holds: ``[...]``, whether the order condition holds at every position.
        selection_holds: whether the sampler chose positions without looking at the tokens drawn for them.
    """

    block_size: int
    prefix_length: NDArray[np.int64]
    order_holds: NDArray[np.bool_]
    selection_holds: bool

    @property
    def exact(self) -> NDArray[np.bool_]:
        """``[...]``: whether Algorithm 1 as printed is lossless on the whole block."""
        return self.order_holds & self.selection_holds


def certify_block(unmask_steps: ArrayLike, *, selects_on_draws: bool = False) -> BlockCertificate:
    """Certify a drafted block against both conditions of the block form of Proposition 2.

    Args:
        unmask_steps: integers ``[..., B]``; see :func:`exact_prefix_length`.
        selects_on_draws: whether the sampler kept or discarded tokens by a function of the tokens themselves
            (a confidence threshold on the drawn token, low-confidence remasking) while reporting q unchanged.

    Returns:
        The certificate. If ``selects_on_draws``, no position is certified: even a first token that was kept
        for its high probability does not have law q.

    Raises:
        ValueError: as :func:`exact_prefix_length`.
    """
    order = order_condition(unmask_steps)
    length = np.logical_and.accumulate(order, axis=-1).sum(axis=-1, dtype=np.int64)
    return BlockCertificate(
        block_size=order.shape[-1],
        prefix_length=np.zeros_like(length) if selects_on_draws else length,
        order_holds=np.asarray(order.all(axis=-1)),
        selection_holds=not selects_on_draws,
    )


def _integer_steps(unmask_steps: ArrayLike) -> NDArray[np.integer]:
    steps = np.asarray(unmask_steps)
    if steps.ndim == 0:
        raise ValueError(f"unmask_steps must have shape [..., B], got the scalar {steps!s}")
    if not np.issubdtype(steps.dtype, np.integer) and steps.size:
        raise ValueError(f"unmask_steps must be integers (step numbers), got dtype {steps.dtype}")
    return steps
