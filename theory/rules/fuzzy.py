"""Fuzzy speculative decoding with a Jensen-Shannon threshold."""

from __future__ import annotations

from specfrontier.theory.arrays import Array, namespace
from specfrontier.theory.divergences import js_divergence
from specfrontier.theory.rules.base import TargetRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Fuzzy"]


@acceptance_rule("fuzzy")
class Fuzzy(TargetRule):
    """Target q where JS(p, q) < threshold (nats), p elsewhere: keep every draft where the laws are close.

    Source: fuzzy speculative decoding, Holsman et al. (ACL Findings 2025), in the reducible form that
    falls back to lossless verification rather than to rejecting outright (Xia et al., 2026), so threshold
    0 is lossless.
    Output law: q or p, row by row. Deviation: 0 or TV(p, q), which is at most sqrt(2 threshold) in a row
    that is kept. Acceptance rate: 1 or 1 - TV(p, q). Every draft is kept once the threshold exceeds log
    2.
    """

    threshold: float = parameter(low=0.0, hint="0 is lossless, above log 2 = 0.693 every draft is kept")

    def _target(self, p: Array, q: Array) -> Array:
        close = js_divergence(p, q, validate=False) < self.threshold
        return namespace(p, q).where(close[..., None], q, p)
