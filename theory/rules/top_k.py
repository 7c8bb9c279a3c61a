"""Accept anything among the verifier's k likeliest tokens."""

from __future__ import annotations

from specfrontier.theory.arrays import Array, namespace
from specfrontier.theory.rules.base import ReplacementRule
from specfrontier.theory.rules.parameters import parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["TopK"]


@acceptance_rule("top-k")
class TopK(ReplacementRule):
    """Accept y exactly when it is among the k likeliest tokens of p and p(y) > 0; replace from p.

    Tokens tied with the k-th are all accepted, so relabelling the vocabulary changes nothing. For k >= V
    everything that p allows is accepted.

    Source: the approximate inference of blockwise parallel decoding, Stern et al. (2018), which replaces
    by argmax p; here the verifier samples its replacement, as everywhere else in the paper.
    Output law: q restricted to the top k, plus the rejected mass times p. Deviation: unbounded, since
    within the top k the drafter's weights count and the verifier's do not. Acceptance rate: q(top k of
    p).
    """

    k: int = parameter(low=1, integer=True, hint="1 accepts the verifier's likeliest token only")

    def _acceptance(self, p: Array, q: Array) -> Array:
        xp = namespace(p)
        ascending = xp.sort(p, axis=-1)
        kth = ascending[..., -min(self.k, p.shape[-1])][..., None]
        return xp.astype((p >= kth) & (p > 0), p.dtype)

    def _replacement(self, p: Array, q: Array) -> Array:
        return p
