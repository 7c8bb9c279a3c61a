"""Leviathan's lenience, as printed."""

from __future__ import annotations

import math
from typing import ClassVar

from specfrontier.theory.arrays import Array, cut_ratio, in_range, normalize, positive_part
from specfrontier.theory.rules.base import ReplacementRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Lenience"]


@acceptance_rule("lenience")
class Lenience(ReplacementRule):
    """Accept y with probability min(1, p(y)/(l q(y))), 0 < l <= 1; replace from Normalize([p - q]_+).

    Source: Leviathan et al. (2023), Appendix A.5: q(y) is multiplied by l before it is compared with
    p(y), and nothing else in their Algorithm 1 changes, so neither does the residual.
    Output law: min(q, p/l) + c [p - q]_+ with c = (1 - sum min(q, p/l)) / TV(p, q) <= 1. Deviation: no
    token becomes likelier than p/l, so KL <= log(1/l); at equal acceptance the law is further from p than
    that of ``Clip(1/l)``, because what is added falls where p exceeds q most rather than where p̃/p is
    least.
    Acceptance rate: sum min(q, p/l). ``lenience = 1`` is lossless.
    """

    pointwise: ClassVar[bool] = True
    lenience: float = parameter(low=0.0, high=1.0, open_low=True, hint="1 is lossless, smaller is more lenient")

    @property
    def kl_bound(self) -> float:
        return -math.log(self.lenience)

    def acceptance_at(self, p_y: Array, q_y: Array) -> Array:
        # Raising p(y) and not lowering q(y): l q(y) could underflow to 0 and let a token that p excludes pass.
        return cut_ratio(in_range(1 / self.lenience, p_y) * p_y, q_y)

    def _replacement(self, p: Array, q: Array) -> Array:
        return normalize(positive_part(p - q), p)
