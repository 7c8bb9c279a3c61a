"""Medusa's typical acceptance."""

from __future__ import annotations

from specfrontier.theory.arrays import Array, namespace
from specfrontier.theory.rules.base import ReplacementRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["TypicalAcceptance"]


@acceptance_rule("typical")
class TypicalAcceptance(ReplacementRule):
    """Accept y exactly when p(y) > min(epsilon, delta exp(-H(p))), H the entropy in nats; replace from p.

    Source: Medusa (Cai et al., 2024), Section 3.3.2: a token is typical if it is likely beside a hard
    threshold or beside the verifier's own uncertainty. Medusa's code takes epsilon = 0.09 and delta =
    sqrt(epsilon) = 0.3. Medusa draws the token after its accepted prefix from the verifier, so the
    replacement is p; its further promise to always keep one greedy token belongs to its tree, not to this
    rule.
    Output law: q restricted to the typical tokens, plus the rejected mass times p. Deviation: unbounded,
    since among typical tokens the drafter's weights count. Acceptance rate: q(typical tokens). Smaller is
    more lenient.
    """

    epsilon: float = parameter(low=0.0, high=1.0, hint="Medusa uses 0.09; smaller accepts more")
    delta: float = parameter(low=0.0, high=1.0, hint="Medusa uses 0.3; smaller accepts more", default=0.3)

    def _acceptance(self, p: Array, q: Array) -> Array:
        xp = namespace(p)
        positive = xp.where(p > 0, p, 1.0)
        entropy = -xp.sum(p * xp.log(positive), axis=-1, keepdims=True)
        threshold = xp.clip(self.delta * xp.exp(-entropy), 0.0, self.epsilon)
        return xp.astype(p > threshold, p.dtype)

    def _replacement(self, p: Array, q: Array) -> Array:
        return p
