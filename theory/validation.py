"""Checks on what a user passes in, made once at the public entry points.

The decoder hands over rows that it has just normalised itself; it skips these checks with ``validate=False``,
because on an accelerator each of them would wait for the device.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, device

from specfrontier.theory.arrays import Array, as_floating

#: Largest |sum - 1| of a row. A float32 softmax over 150,000 tokens is off by up to about 1e-5.
NORMALIZATION_TOLERANCE = 1e-4
#: The same for 16-bit floats, whose rounding alone can cost a few parts in a thousand.
HALF_PRECISION_TOLERANCE = 2e-2

__all__ = [
    "HALF_PRECISION_TOLERANCE",
    "NORMALIZATION_TOLERANCE",
    "check_law",
    "check_laws",
    "check_numbers",
    "check_tokens",
]


def check_law(p: Array, name: str) -> Array:
    """Return ``p`` ``[..., V]`` as floating-point laws over the last axis.

    Raises ``ValueError`` naming the argument if it has no vocabulary axis, holds NaN, an infinity or a
    negative entry, or if a row does not sum to 1 within ``NORMALIZATION_TOLERANCE``.
    """
    try:
        p = as_floating(p)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of probabilities, got {p!r}") from None
    xp = array_namespace(p)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"{name} must have shape [..., V] with V >= 1, got shape {tuple(p.shape)}")
    if not xp.all(xp.isfinite(p)):
        raise ValueError(f"{name} holds NaN or infinite entries; pass probabilities, not logits")
    if xp.any(p < 0):
        raise ValueError(
            f"{name} holds negative entries (minimum {float(xp.min(p))!r}); pass probabilities, not logits"
        )
    total = xp.sum(p, axis=-1)
    error = xp.abs(total - 1)
    tolerance = HALF_PRECISION_TOLERANCE if xp.finfo(p.dtype).eps > 1e-4 else NORMALIZATION_TOLERANCE
    if xp.any(error > tolerance):
        worst = float(xp.reshape(total, (-1,))[int(xp.argmax(xp.reshape(error, (-1,))))])
        raise ValueError(f"{name} must sum to 1 along its last axis (within {tolerance}), but a row sums to {worst!r}")
    return p


def check_laws(p: Array, q: Array) -> tuple[Array, Array]:
    """Check ``p`` and ``q`` ``[..., V]`` together: one vocabulary, leading axes that broadcast."""
    p, q = check_law(p, "p"), check_law(q, "q")
    try:
        array_namespace(p, q)
    except TypeError as error:
        raise ValueError(f"p and q must come from one array library, got {type(p)} and {type(q)}") from error
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(f"p and q must share one vocabulary, got V = {p.shape[-1]} for p and {q.shape[-1]} for q")
    _check_broadcast("p and q", p.shape[:-1], q.shape[:-1])
    return p, q


def check_tokens(y: Array, p: Array, q: Array) -> Array:
    """Check tokens ``y`` ``[...]``: integers in [0, V) that broadcast with the rows of ``p`` and ``q``."""
    xp = array_namespace(p)
    y = xp.asarray(y, device=device(p))
    if not xp.isdtype(y.dtype, "integral"):
        raise ValueError(f"y must hold integer token ids, got dtype {y.dtype}")
    vocabulary_size = p.shape[-1]
    if xp.any((y < 0) | (y >= vocabulary_size)):
        raise ValueError(f"y must hold token ids in [0, {vocabulary_size}), got {int(xp.min(y))} to {int(xp.max(y))}")
    _check_broadcast("y and the rows of p and q", y.shape, np.broadcast_shapes(p.shape[:-1], q.shape[:-1]))
    return y


def check_numbers(value: Array | float, name: str, p: Array, q: Array) -> Array:
    """Return ``value``, a number or ``[...]``, in p's dtype and beside it; it must broadcast with the rows."""
    xp = array_namespace(p)
    try:
        value = xp.asarray(value, dtype=p.dtype, device=device(p))
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} must be a number or an array of numbers, got {value!r}") from None
    rows = np.broadcast_shapes(p.shape[:-1], q.shape[:-1])
    _check_broadcast(f"{name} and the rows of p and q", tuple(value.shape), rows)
    return value


def _check_broadcast(what: str, *shapes: tuple[int, ...]) -> None:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(f"leading axes of {what} do not broadcast: {listed}") from None
