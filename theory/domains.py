"""Checks of numeric arguments: each returns float64 (or int64) arrays or raises one line naming the culprit.

Laws over a vocabulary have their own checks in ``theory/validation.py``; here are rates, distances, costs and
counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "check_broadcast",
    "counts",
    "finite",
    "nonnegative",
    "positive",
    "probabilities",
    "weights",
]

FloatArray = NDArray[np.float64]


def finite(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as float64, refusing NaN and infinities."""
    array = _as_float(value, name)
    _require(np.isfinite(array), array, name, "be finite")
    return array


def probabilities(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as float64, refusing entries outside [0, 1]."""
    array = _as_float(value, name)
    _require((array >= 0) & (array <= 1), array, name, "lie in [0, 1]")
    return array


def nonnegative(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as float64, refusing entries outside [0, inf)."""
    array = _as_float(value, name)
    _require((array >= 0) & np.isfinite(array), array, name, "lie in [0, inf)")
    return array


def positive(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as float64, refusing entries outside (0, inf)."""
    array = _as_float(value, name)
    _require((array > 0) & np.isfinite(array), array, name, "lie in (0, inf)")
    return array


def counts(value: ArrayLike, name: str, *, minimum: int = 0) -> NDArray[np.int64]:
    """Return ``value`` as int64, refusing fractions and entries below ``minimum``."""
    array = _as_float(value, name)
    _require((array >= minimum) & (array == np.floor(array)), array, name, f"be an integer >= {minimum}")
    _require(array < 2.0**53, array, name, "be less than 2**53")
    return array.astype(np.int64)


def weights(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` ``[..., n]`` as weights that sum to 1 over the last axis (within 1e-9)."""
    array = probabilities(value, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have shape [..., n] with n >= 1, got shape {array.shape}")
    total = array.sum(axis=-1)
    if np.any(np.abs(total - 1) > 1e-9):
        raise ValueError(f"{name} must sum to 1 along its last axis, got a sum of {float(np.ravel(total)[0])!r}")
    return array


def check_broadcast(**arrays: NDArray[np.generic]) -> tuple[int, ...]:
    """Return the common shape of the named arrays, or raise naming them all."""
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes do not broadcast: {shapes}") from None


def _as_float(value: ArrayLike, name: str) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of numbers, got {value!r}") from None


def _require(valid: NDArray[np.bool_], array: FloatArray, name: str, what: str) -> None:
    if not np.all(valid):
        offender = float(array[~valid].flat[0]) if array.ndim else float(array)
        raise ValueError(f"{name} must {what}, got {offender!r}")
