"""Linear leniency: the paper's Theorem 1."""

from __future__ import annotations

from typing import ClassVar

from specfrontier.theory.arrays import Array, normalize, positive_part
from specfrontier.theory.rules.base import TargetRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Linear"]


@acceptance_rule("linear")
class Linear(TargetRule):
    """Rejection sampling towards p̃ = (1 - lam) p + lam q, with 0 <= lam <= 1.

    Source: Equation 5 and Theorem 1 of the paper; earlier as collaborative decoding (Fu et al., 2025), linear
    interpolation (Hao and Mou, 2026) and dynamic ensemble verification (Wang et al., 2026).
    Output law: p̃. Deviation: TV(p̃, p) = lam TV(p, q); KL(p̃ || p) is infinite where p is 0 and q is not.
    Acceptance rate: 1 - (1 - lam) TV(p, q), the largest of any rule with that total variation (Equation 4).
    ``lam = 0`` is lossless, ``lam = 1`` keeps every draft.
    """

    pointwise: ClassVar[bool] = True
    lam: float = parameter(low=0.0, high=1.0, hint="0 is lossless, 1 keeps every drafted token")

    def _target(self, p: Array, q: Array) -> Array:
        return (1 - self.lam) * p + self.lam * q

    def _replacement(self, p: Array, q: Array) -> Array:
        # [p̃ - q]_+ = (1 - lam) [p - q]_+, and normalising drops the factor: no cancellation as lam -> 1.
        return normalize(positive_part(p - q), p)
