"""Greedy verification."""

from __future__ import annotations

from specfrontier.theory.arrays import Array, namespace, one_hot
from specfrontier.theory.rules.base import ReplacementRule
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Greedy"]


@acceptance_rule("greedy")
class Greedy(ReplacementRule):
    """Accept y exactly when y = argmax p; otherwise emit argmax p. The first of tied maxima counts.

    Source: blockwise parallel decoding, Stern et al. (2018).
    Output law: the point mass at argmax p, the verifier's greedy decoding, whatever q is. Deviation:
    TV = 1 - max p, KL = -log max p from the verifier's sampling law p. Acceptance rate: q(argmax p).
    """

    def _acceptance(self, p: Array, q: Array) -> Array:
        return self._replacement(p, q)

    def _replacement(self, p: Array, q: Array) -> Array:
        xp = namespace(p)
        return xp.astype(one_hot(xp.argmax(p, axis=-1), p.shape[-1]), p.dtype)
