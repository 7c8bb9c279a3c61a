"""Lossless speculative decoding."""

from __future__ import annotations

from typing import ClassVar

from specfrontier.theory.arrays import Array
from specfrontier.theory.rules.base import TargetRule
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Lossless"]


@acceptance_rule("lossless")
class Lossless(TargetRule):
    """Accept y with probability min(1, p(y)/q(y)); replace from Normalize([p - q]_+).

    Source: Leviathan et al. (2023) and Chen et al. (2023); Section 2 and Equation 1 of the paper.
    Output law: p. Deviation: none. Acceptance rate: 1 - TV(p, q).
    """

    pointwise: ClassVar[bool] = True

    @property
    def kl_bound(self) -> float:
        return 0.0

    def _target(self, p: Array, q: Array) -> Array:
        return p
