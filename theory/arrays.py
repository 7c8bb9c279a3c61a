"""The few array operations that the theory needs, for any array-API library.

Everything here works on the last axis (the vocabulary) and broadcasts over the leading ones. NumPy float64
and torch float32 run the same code, so what the property tests prove is what the decoder executes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

#: An array of any array-API library. The standard has no static type yet, hence an alias of ``Any``.
Array: TypeAlias = Any

__all__ = [
    "Array",
    "as_floating",
    "at",
    "cut_ratio",
    "in_range",
    "namespace",
    "normalize",
    "one_hot",
    "positive_part",
]


#: Namespaces found so far, by the type that all arrays of a call had.
_OF_KIND: dict[type | None, Any] = {}


def namespace(*arrays: Array) -> Any:
    """Array-API namespace that ``arrays`` share (``numpy`` for Python numbers and lists)."""
    kinds = {type(array) for array in arrays}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind in _OF_KIND:  # a rule asks a hundred times a round
        return _OF_KIND[kind]
    found = [array for array in arrays if is_array_api_obj(array)]
    xp = array_namespace(*found) if found else array_namespace(np.empty(0))
    if kind is not None:
        _OF_KIND[kind] = xp
    return xp


def as_floating(x: Array) -> Array:
    """``x`` as a floating-point array: lists become NumPy float64, integers the library's default float."""
    if not is_array_api_obj(x):
        return np.asarray(x, dtype=np.float64)
    xp = namespace(x)
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, xp.asarray(0.0).dtype)


def in_range(value: float, like: Array) -> float:
    """``value`` >= 0, cut to the largest number that ``like``'s dtype holds: infinity times 0 would be NaN."""
    return min(value, float(namespace(like).finfo(like.dtype).max))


def positive_part(x: Array) -> Array:
    """[x]_+ = max(x, 0), elementwise."""
    xp = namespace(x)
    return xp.where(x > 0, x, xp.zeros_like(x))


def normalize(weights: Array, fallback: Array) -> Array:
    """Normalise nonnegative ``weights`` ``[..., V]`` to laws; a row without any mass becomes ``fallback``.

    Such rows are not exotic: [p - q]_+ is all zeros whenever p = q up to rounding.
    """
    xp = namespace(weights)
    total = xp.sum(weights, axis=-1, keepdims=True)
    massive = total > 0
    return xp.where(massive, weights / xp.where(massive, total, xp.ones_like(total)), fallback)


def cut_ratio(numerator: Array, denominator: Array) -> Array:
    """min(1, numerator / denominator), elementwise, for nonnegative arguments; 1 where denominator is 0."""
    xp = namespace(numerator, denominator)
    certain = numerator >= denominator  # also catches 0/0, so that no division by zero remains
    return xp.where(certain, 1.0, numerator / xp.where(certain, xp.ones_like(denominator), denominator))


def one_hot(y: Array, vocabulary_size: int) -> Array:
    """Boolean ``[..., V]``: true at token ``y`` ``[...]``."""
    xp = namespace(y)
    y = xp.asarray(y)
    return xp.arange(vocabulary_size, device=device(y)) == y[..., None]


def at(x: Array, y: Array) -> Array:
    """x(y): the entry of ``x`` ``[..., V]`` at token ``y`` ``[...]``; leading axes broadcast."""
    xp = array_namespace(x)
    y = xp.asarray(y, dtype=xp.int64, device=device(x))
    batch = np.broadcast_shapes(x.shape[:-1], y.shape)
    x = xp.broadcast_to(x, (*batch, x.shape[-1]))
    index = xp.broadcast_to(y, batch)[..., None]
    return xp.take_along_axis(x, index, axis=-1)[..., 0]
