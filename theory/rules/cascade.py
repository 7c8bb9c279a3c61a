"""Speculative cascades: targets that defer to the verifier only where they must."""

from __future__ import annotations

import math

from specfrontier.theory.arrays import Array, namespace
from specfrontier.theory.divergences import tv_distance
from specfrontier.theory.rules.base import TargetRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["CascadeOpt", "CascadeToken"]


@acceptance_rule("cascade-opt")
class CascadeOpt(TargetRule):
    """Target p where max q < max p - alpha TV(p, q) (the row is deferred), and q everywhere else.

    Source: speculative cascades, Narasimhan et al. (ICLR 2025), the plug-in estimate of the optimal
    deferral rule for the 0-1 loss (their Equation 10; OPT). A drafter as confident as the verifier is
    trusted, right or wrong, and the more so the more the two disagree.
    Output law: p or q, row by row. Deviation: 0 or TV(p, q). Acceptance rate: 1 - TV(p, q) or 1. Larger
    alpha is more lenient; every row is deferred, hence lossless, only as alpha -> -inf.
    """

    alpha: float = parameter(low=-math.inf, open_low=True, hint="larger accepts more; 0 compares confidences")

    def _target(self, p: Array, q: Array) -> Array:
        xp = namespace(p, q)
        margin = self.alpha * tv_distance(p, q, validate=False)
        defers = xp.max(q, axis=-1) < xp.max(p, axis=-1) - margin
        return xp.where(defers[..., None], p, q)


@acceptance_rule("cascade-token")
class CascadeToken(TargetRule):
    """Target p̃(v) = q(v) 1[v in A] + (1 - q(A)) p(v), with A = {v: p(v) >= (1 - alpha) max p}.

    The drafter is trusted on the verifier's likely tokens A; the rest of its mass is handed to the verifier.

    Source: speculative cascades, Narasimhan et al. (ICLR 2025), token-specific deferral (their Token V3).
    Output law: p̃. Deviation: TV(p̃, p) <= q(A). Acceptance rate: 1 - TV(p̃, q).
    Larger alpha is more lenient, up to 1, where p̃ = q; below 0 A is empty and the rule lossless.
    """

    alpha: float = parameter(low=-math.inf, high=1.0, open_low=True, hint="1 keeps every draft, below 0 is lossless")

    def _target(self, p: Array, q: Array) -> Array:
        xp = namespace(p, q)
        trusted = p >= (1 - self.alpha) * xp.max(p, axis=-1, keepdims=True)
        kept = xp.where(trusted, q, 0.0)
        # Summing the mass outside A keeps this exactly 0 when A holds everything.
        deferred = xp.sum(xp.where(trusted, 0.0, q), axis=-1, keepdims=True)
        return kept + deferred * p
