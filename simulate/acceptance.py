"""From recorded traces to a rule's acceptance and deviation, position by position.

A trace lies on the draft's own prefix y_1..y_(k-1). A decoder reaches position k only if it accepted those tokens, so
each trace counts there with the probability that it was accepted as drawn, A_1(y_1) ··· A_(k-1)(y_(k-1)):

    P(accepted length >= n) = E[A_1(y_1) ··· A_(n-1)(y_(n-1)) · α_n],    α_n = E[A_n(y_n) | y_<n].

For a linear rule α_n = 1 - (1 - λ) TV_n (Equation 6). Replacing the A's before n by their α's too looks like one more
step of the same averaging but is biased: a token that p likes more than q is accepted more often *and* leads where the
two agree more or less than elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.grid import linear_leniency
from specfrontier.simulate.traces import Traces
from specfrontier.theory.rules import AcceptanceRule
from specfrontier.theory.rules.schedule import Leniency, as_schedule

__all__ = ["SURE", "Rates", "RunRates", "rates", "rates_by_run"]

FloatArray = NDArray[np.float64]

#: Acceptance below e^-40 counts as rejection, which bounds sums of -log(acceptance).
SURE = 40.0


@dataclass(frozen=True)
class Rates:
    """A rule on recorded rounds, ``[R, B]`` each, zero past the end of a trace.

    Attributes:
        keep: A_k(y_k), the probability of accepting the token that was drawn.
        alpha: acceptance rate, its expectation over that token where known in closed form, else `keep`.
        deviation: TV(output law, p), in expectation over the token.
    """

    keep: FloatArray
    alpha: FloatArray
    deviation: FloatArray

    def reach(self) -> FloatArray:
        """``[R, B]``: probability of reaching each position, Π_{j<k} A_j(y_j); 1 at the first."""
        ones = np.ones((*self.keep.shape[:-1], 1))
        return np.concatenate([ones, np.cumprod(self.keep[..., :-1], axis=-1)], axis=-1)

    def survival(self) -> FloatArray:
        """``[R, B]``: probability that at least n drafted tokens are accepted, as they were drawn."""
        return np.asarray(np.cumprod(self.keep, axis=-1), dtype=np.float64)


@dataclass(frozen=True)
class RunRates:
    """Rates, at all positions of recorded rounds, of the rule that holds in a block from position `first` (0-based)."""

    first: int
    rates: Rates


def rates_by_run(leniency: Leniency, traces: Traces, *, average: bool = True) -> tuple[RunRates, ...]:
    """Rates of every rule of a schedule, in the order of the positions at which they set in; arguments as `rates`."""
    runs = as_schedule(leniency).runs()
    return tuple(RunRates(first, _rates_of_rule(rule, traces, average)) for first, rule in runs)


def rates(leniency: Leniency, traces: Traces, *, average: bool = True) -> Rates:
    """Evaluate a rule, or a schedule from the first position of each block, on every position of `traces`.

    Deviation of a rule other than linear is its acceptance less the lossless one, q-averaged: exact for rules
    that attain the coupling bound acceptance <= 1 - TV(p, q) + TV(output law, p) (linear, clip, lenience), a
    lower bound for others.

    Args:
        leniency: of pointwise rules.
        traces: recorded under any rule.
        average: whether to use α in closed form where there is one. It is right only if every token was drawn
            from its recorded q given the tokens before it (Proposition 2's conditions).

    Raises:
        InputError: if a rule needs whole rows, which the traces don't hold.
    """
    first, *later = rates_by_run(leniency, traces, average=average)
    if not later:
        return first.rates
    found = {entry.name: getattr(first.rates, entry.name).copy() for entry in fields(Rates)}
    for run, name in product(later, found):
        found[name][:, run.first :] = getattr(run.rates, name)[:, run.first :]
    return Rates(**found)


def _rates_of_rule(rule: AcceptanceRule, traces: Traces, average: bool) -> Rates:
    if not rule.pointwise:
        raise InputError(
            f"{rule.spec} decides on whole rows of p and q, which traces do not hold; predict a pointwise rule or "
            "measure this one"
        )
    lam = linear_leniency(rule)
    if lam is None:
        keep = np.where(traces.exists, rule.acceptance_at(traces.p_y, traces.q_y), 0.0)
        return Rates(keep, keep, np.maximum(keep - traces.strict, 0.0))
    # min(1, ((1 - λ) p + λ q) / q) = λ + (1 - λ) min(1, p / q): one division serves every λ.
    keep = _where_it_exists(traces, lam, (1 - lam) * traces.strict)
    if not average:
        return Rates(keep, keep, np.maximum(keep - traces.strict, 0.0))
    return Rates(keep, _where_it_exists(traces, 1.0, (lam - 1) * traces.tv), lam * traces.tv)


def _where_it_exists(traces: Traces, constant: float, values: FloatArray) -> FloatArray:
    """`constant` + `values` at positions that exist, in place: these arrays are most of what a rule costs."""
    values += constant
    values *= traces.exists
    return values
