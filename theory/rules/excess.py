"""Summing token-dependent replacements over the rejected token, without a V x V array."""

from __future__ import annotations

import numpy as np

from specfrontier.theory.arrays import Array, namespace, positive_part

__all__ = ["shared_excess"]


def shared_excess(p: Array, q: Array, scale: Array, mass: Array) -> Array:
    """sum_y mass(y) Normalize([scale(y) p - q]_+), shape ``[..., V]``, in O(V log V).

    ``scale`` and ``mass`` are ``[..., V]`` over the rejected token y. [c p(v) - q(v)]_+ is positive where
    q(v)/p(v) < c, so with the tokens sorted by that ratio both the normaliser Z(c) = sum_v [c p(v) -
    q(v)]_+ and the sum over y at fixed v are differences of cumulative sums. Requires mass(y) <=
    Z(scale(y)), which holds for rejected mass: what p̃ takes from y it gives to other tokens. Absolute
    error: about V rounding errors.
    """
    xp = namespace(p, q)
    shape = np.broadcast_shapes(p.shape, q.shape, scale.shape)
    p, q, scale, mass = (xp.broadcast_to(x, shape) for x in (p, q, scale, mass))
    ratio = xp.where(p > 0, q / xp.where(p > 0, p, 1.0), xp.inf)

    order = xp.argsort(xp.concat([ratio, scale], axis=-1), axis=-1)
    place = xp.argsort(order, axis=-1)  # where each of the 2V keys stands in sorted order
    of_token, of_scale = place[..., : shape[-1]], place[..., shape[-1] :]

    p_below, q_below = (_running(x, xp.zeros_like(x), order, of_scale) for x in (p, q))
    normaliser = xp.maximum(scale * p_below - q_below, mass)
    share = mass / xp.where(normaliser > 0, normaliser, 1.0)

    zeros, back = xp.zeros_like(share), xp.flip(order, axis=-1)
    from_above = 2 * shape[-1] - 1 - of_token  # the same place, counted from the top
    p_factor = _running(zeros, share * scale, back, from_above)
    q_factor = _running(zeros, share, back, from_above)
    return positive_part(p * p_factor - q * q_factor)


def _running(of_tokens: Array, of_scales: Array, order: Array, place: Array) -> Array:
    """Cumulative sum of the 2V values in sorted ``order``, read at ``place``."""
    xp = namespace(of_tokens)
    values = xp.take_along_axis(xp.concat([of_tokens, of_scales], axis=-1), order, axis=-1)
    return xp.take_along_axis(xp.cumulative_sum(values, axis=-1), place, axis=-1)
