"""The clip: the rule that is optimal for every f-divergence."""

from __future__ import annotations

import math
from typing import ClassVar

from specfrontier.theory.arrays import Array, cut_ratio, in_range
from specfrontier.theory.clip import clip_target
from specfrontier.theory.rules.base import TargetRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Clip"]


@acceptance_rule("clip")
class Clip(TargetRule):
    """Rejection sampling towards p̃ = min(max(q, a p), b p), with 1 <= b < inf and a fixed by sum p̃ = 1.

    Accepts y with probability min(1, b p(y)/q(y)), which is Leviathan's lenience with l = 1/b, and
    replaces it from Normalize([a p - q]_+), which is not. Deciding reads two numbers; a is solved for in
    a rejected row only.

    Source: docs/theory/clip.md; the form is the law of lossy decoding in Narasimhan et al. (ICLR 2025).
    Output law: p̃, so a p <= p̃ <= b p. Deviation: KL(p̃ || p) <= log b, and no target with the same
    acceptance rate deviates less in any f-divergence. Acceptance rate: sum min(q, b p). ``b = 1`` is
    lossless.
    """

    pointwise: ClassVar[bool] = True
    b: float = parameter(low=1.0, hint="1 is lossless; no token becomes more than b times as likely as under p")

    @property
    def kl_bound(self) -> float:
        return math.log(self.b)

    def acceptance_at(self, p_y: Array, q_y: Array) -> Array:
        return cut_ratio(in_range(self.b, p_y) * p_y, q_y)

    def _target(self, p: Array, q: Array) -> Array:
        return clip_target(p, q, self.b, validate=False)
