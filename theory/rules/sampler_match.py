"""Accept when the verifier's own draw agrees."""

from __future__ import annotations

from typing import ClassVar

from specfrontier.theory.arrays import Array, namespace, normalize, one_hot
from specfrontier.theory.rules.base import AcceptanceRule
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["SamplerMatch"]


@acceptance_rule("sampler-match")
class SamplerMatch(AcceptanceRule):
    """The verifier draws v ~ p; y is kept if v = y, and otherwise v is emitted.

    So y is accepted with probability p(y), whatever q is, and the replacement is p conditioned on not
    being y: the rejected token matters, the drafter's law does not. Used by engines that cannot see q.

    Output law: p. Deviation: none. Acceptance rate: sum p q, never above 1 - TV(p, q).
    """

    pointwise: ClassVar[bool] = True

    @property
    def kl_bound(self) -> float:
        return 0.0

    def acceptance_at(self, p_y: Array, q_y: Array) -> Array:
        return p_y

    def _residual(self, p: Array, q: Array, y: Array) -> Array:
        xp = namespace(p)
        return normalize(xp.where(one_hot(y, p.shape[-1]), 0.0, p), p)

    def _output_law(self, p: Array, q: Array) -> Array:
        return p
