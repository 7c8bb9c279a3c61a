"""Cactus: a target that favours the token just drawn."""

from __future__ import annotations

from typing import ClassVar

from specfrontier.theory.arrays import Array, at, cut_ratio, namespace, normalize, one_hot, positive_part
from specfrontier.theory.boost import COIN_DIVERGENCES, boosted_probability, taylor_probability
from specfrontier.theory.rules.base import AcceptanceRule
from specfrontier.theory.rules.excess import shared_excess
from specfrontier.theory.rules.parameters import option, parameter
from specfrontier.theory.rules.registry import acceptance_rule

__all__ = ["Cactus"]


@acceptance_rule("cactus")
class Cactus(AcceptanceRule):
    """Raise p(y) to the largest gamma with D_f(p̃ || p) <= delta, scaling the other tokens down together.

    p̃(y) = gamma and p̃(v) = (1 - gamma)/(1 - p(y)) p(v) for v != y; y is accepted with probability
    min(1, gamma/q(y)) and replaced from Normalize([p̃ - q]_+), which depends on y.

    Source: Hao and Mou (2026); Appendix E of the paper. ``solver="newton"`` finds the exact gamma of
    Equation 17, as the paper does; ``"taylor"`` the second-order form of Equation 18, as Cactus's authors
    do, which can overspend or underspend the budget. ``divergence`` replaces KL by another f-divergence.
    Output law: no closed form; ``output_law`` sums over y in O(V log V) and never builds a V x V array.
    Deviation: delta bounds each p̃, not the law of the emitted token, whose KL from p has no bound that
    holds for all V (docs/theory/rules.md). Acceptance rate: sum min(q, gamma). ``delta = 0`` is lossless.
    """

    pointwise: ClassVar[bool] = True
    delta: float = parameter(low=0.0, hint="0 is lossless, larger budgets accept more")
    solver: str = option(("newton", "taylor"), default="newton")
    divergence: str = option(tuple(COIN_DIVERGENCES), default="kl")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver == "taylor" and self.divergence == "tv":
            raise ValueError("solver='taylor' needs a smooth divergence, got 'tv'; use solver='newton'")

    def acceptance_at(self, p_y: Array, q_y: Array) -> Array:
        return cut_ratio(self._gamma(p_y), q_y)

    def _gamma(self, p_y: Array) -> Array:
        raised = boosted_probability if self.solver == "newton" else taylor_probability
        return raised(p_y, self.delta, self.divergence)

    def _residual(self, p: Array, q: Array, y: Array) -> Array:
        xp = namespace(p, q)
        p_y = at(p, y)
        gamma = self._gamma(p_y)[..., None]
        target = xp.where(one_hot(y, p.shape[-1]), gamma, _shrink(p_y[..., None], gamma) * p)
        return normalize(positive_part(target - q), p)

    def _output_law(self, p: Array, q: Array) -> Array:
        xp = namespace(p, q)
        gamma = self._gamma(p)
        kept = xp.minimum(q, gamma)
        return kept + shared_excess(p, q, _shrink(p, gamma), q - kept)


def _shrink(p_y: Array, gamma: Array) -> Array:
    """(1 - gamma)/(1 - p(y)): the factor, at most 1, by which every other token is scaled."""
    xp = namespace(p_y)
    return xp.clip(1 - gamma, 0.0, 1.0) / xp.where(p_y < 1, 1 - p_y, 1.0)
