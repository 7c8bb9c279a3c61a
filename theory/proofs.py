"""Proofs that a reader can step through, each step checked by SymPy.

A step is a claim in words and two expressions, of which it says that they are equal, or that the left one
is at least the right one, for all values that the symbols' assumptions allow. ``print(theorem1_proof())``
prints the argument; ``theorem1_proof().verify()`` has SymPy check every line. The alphabet is general:
sums run over v = 1..n with n a symbol.

SymPy is imported here and nowhere else in the theory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import sympy as sp

__all__ = ["Proof", "Relation", "Step", "cactus_proof", "clip_proof", "theorem1_proof"]


class Relation(Enum):
    """What a step shows about its two sides."""

    EQUAL = "="
    AT_LEAST = ">="


@dataclass(frozen=True)
class Step:
    """One line of a proof: left = right, or left >= right, whatever the symbols' values."""

    #: The claim, in words and in the paper's symbols.
    claim: str
    left: sp.Expr
    right: sp.Expr
    relation: Relation = Relation.EQUAL

    def holds(self) -> bool:
        """True if SymPy reduces the difference of the sides to 0, or can tell that it is nonnegative."""
        difference = sp.simplify(_evaluated(self.left) - _evaluated(self.right))
        return bool(difference == 0 if self.relation is Relation.EQUAL else difference.is_nonnegative)

    def __str__(self) -> str:
        return f"{self.claim}\n    {self.left} {self.relation.value} {self.right}"


@dataclass(frozen=True)
class Proof:
    """A statement and the steps that lead to it."""

    statement: str
    steps: tuple[Step, ...]

    def verify(self) -> None:
        """Check every step; ``AssertionError`` naming the first one that SymPy cannot confirm."""
        for number, step in enumerate(self.steps, start=1):
            if not step.holds():
                raise AssertionError(f"step {number} of the proof is not confirmed: {step}")

    def __str__(self) -> str:
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        return "\n".join([self.statement, *lines, "QED"])


def theorem1_proof() -> Proof:
    """Appendix A: linear interpolation attains the largest acceptance rate under a total variation budget.

    p, q are the verifier and drafter, r any feasible target, D = TV(p, q) and lam = epsilon / D.
    """
    n = sp.Symbol("n", integer=True, positive=True)
    v = sp.Symbol("v", integer=True)
    p, q, r = (_family(name) for name in "pqr")
    lam, mu = sp.symbols("lambda mu", nonnegative=True)  # mu stands for 1 - lambda
    epsilon, slack = sp.symbols("epsilon s", nonnegative=True)
    distance = sp.Symbol("D", positive=True)
    x, y = sp.symbols("x y", real=True)

    def total(term: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
        return sp.Sum(term(v), (v, 1, n))

    def tv(a: Any, b: Any) -> sp.Expr:
        return total(lambda i: sp.Abs(a(i) - b(i))) / 2

    def summed(first: sp.Expr, second: sp.Expr, against: sp.Expr) -> sp.Expr:
        return first + second - against

    return Proof(
        "Theorem 1. If TV(r, p) <= epsilon <= D then 1 - TV(r, q) <= 1 - D + epsilon, and "
        "(1 - lambda) p + lambda q with lambda = epsilon/D attains it.",
        (
            Step(
                "For real x, y, the squares of the two sides of the triangle inequality differ by:",
                (sp.Abs(x) + sp.Abs(y)) ** 2 - sp.Abs(x + y) ** 2,
                2 * (sp.Abs(x * y) - x * y),
            ),
            Step(
                "This is 0 where x y = s >= 0 ...",
                sp.Subs(sp.Abs(x) - x, x, slack),
                sp.Integer(0),
            ),
            Step(
                "... and nonnegative where x y = -s <= 0; hence |x + y| <= |x| + |y|.",
                sp.Subs(sp.Abs(x) - x, x, -slack),
                sp.Integer(0),
                Relation.AT_LEAST,
            ),
            Step(
                "With x = p(v) - r(v) and y = r(v) - q(v), summed over the alphabet and halved, "
                "0 <= TV(p, r) + TV(r, q) - TV(p, q):",
                total(lambda i: summed(sp.Abs(p(i) - r(i)), sp.Abs(r(i) - q(i)), sp.Abs(p(i) - q(i)))) / 2,
                summed(tv(p, r), tv(r, q), tv(p, q)),
            ),
            Step(
                "So where TV(p, r) = epsilon - s, TV(r, q) >= D - (epsilon - s) and no feasible target "
                "accepts more than 1 - D + epsilon:",
                distance - (epsilon - slack),
                distance - epsilon,
                Relation.AT_LEAST,
            ),
            Step(
                "The interpolation sums to 1, as p and q do:",
                total(lambda i: (1 - lam) * p(i) + lam * q(i)),
                (1 - lam) * total(p) + lam * total(q),
            ),
            Step(
                "Token by token, its distance from p is:",
                sp.Abs((1 - lam) * p(v) + lam * q(v) - p(v)),
                lam * sp.Abs(p(v) - q(v)),
            ),
            Step(
                "Summed, TV((1 - lambda) p + lambda q, p) = lambda D ...",
                total(lambda i: lam * sp.Abs(p(i) - q(i))) / 2,
                lam * tv(p, q),
            ),
            Step("... = epsilon: it is feasible.", sp.Subs(lam * distance, lam, epsilon / distance), epsilon),
            Step(
                "Token by token, with mu = 1 - lambda >= 0, its distance from q is:",
                sp.Abs(mu * p(v) + (1 - mu) * q(v) - q(v)),
                mu * sp.Abs(p(v) - q(v)),
            ),
            Step(
                "Summed, TV((1 - lambda) p + lambda q, q) = (1 - lambda) D ...",
                total(lambda i: mu * sp.Abs(p(i) - q(i))) / 2,
                mu * tv(p, q),
            ),
            Step(
                "... so that the acceptance rate attains the bound.",
                sp.Subs(1 - (1 - lam) * distance, lam, epsilon / distance),
                1 - distance + epsilon,
            ),
        ),
    )


def clip_proof() -> Proof:
    """The universal clip: the inequality behind its optimality for every convex f, token by token.

    t = min(max(q, a p), b p) is the clip, r a rival with at least its acceptance, g an increasing slope
    of f at t/p with values g_a <= g <= g_b, and m the change of min(., q) from t to r. Convexity gives
    D_f(r || p) - D_f(t || p) >= sum g (r - t) = sum (g - g_a)(r - t), and the steps show that each
    summand is at least (g_b - g_a) m. The sum of m is nonnegative, because r accepts no less.
    """
    low, high = sp.symbols("u w", nonnegative=True)  # u = g - g_a and w = g_b - g, for a token inside the clip
    gain, loss, over = sp.symbols("c d e", nonnegative=True)
    zero = sp.Integer(0)
    span = low + high  # g_b - g_a
    return Proof(
        "The clip t has the least divergence: (g - g_a)(r - t) >= (g_b - g_a) m for every token.",
        (
            Step(
                "Cut off (t = b p < q, so g = g_b), r = t + c <= q: m = c.",
                span * gain,
                span * gain,
                Relation.AT_LEAST,
            ),
            Step("Cut off, r = t - d: m = -d.", -span * loss, -span * loss, Relation.AT_LEAST),
            Step(
                "Cut off, r = q + e with q = t + c: only c counts, m = c.",
                span * (gain + over),
                span * gain,
                Relation.AT_LEAST,
            ),
            Step("Inside (t = q), r = q + c: m = 0.", low * gain, zero, Relation.AT_LEAST),
            Step("Inside, r = q - d: m = -d.", -low * loss, -span * loss, Relation.AT_LEAST),
            Step("Raised (t = a p > q, so g = g_a), r >= q: m = 0.", zero, zero, Relation.AT_LEAST),
            Step("Raised, r = q - d: m = -d.", zero, -span * loss, Relation.AT_LEAST),
        ),
    )


def cactus_proof() -> Proof:
    """Appendix E: Phi has one root above p, and its Taylor form is Equation 18."""
    p, gamma = sp.symbols("p gamma", positive=True)
    complement = sp.Symbol("o", positive=True)  # 1 - gamma
    delta = sp.Symbol("delta", nonnegative=True)
    phi = gamma * sp.log(gamma / p) + (1 - gamma) * sp.log((1 - gamma) / (1 - p))
    curvature = sp.diff(phi, gamma, 2)
    root = p + sp.sqrt(2 * delta * p * (1 - p))
    zero = sp.Integer(0)
    return Proof(
        "Phi(gamma) = delta has at most one root in [p, 1], to second order p + sqrt(2 delta p (1 - p)).",
        (
            Step("Phi vanishes at gamma = p ...", sp.Subs(phi, gamma, p), zero),
            Step("... with slope 0.", sp.Subs(sp.diff(phi, gamma), gamma, p), zero),
            Step("Its curvature is:", sp.Derivative(phi, (gamma, 2)), 1 / (gamma * (1 - gamma))),
            Step(
                "With o = 1 - gamma > 0 it is positive, so Phi increases strictly beyond p.",
                1 / (gamma * complement),
                zero,
                Relation.AT_LEAST,
            ),
            Step(
                "The quadratic with that curvature at p is delta at p + sqrt(2 delta p (1 - p)).",
                sp.Subs(curvature / 2, gamma, p) * (root - p) ** 2,
                delta,
            ),
            Step("Beyond Phi(1) = -log p acceptance is certain.", sp.Limit(phi, gamma, 1, "-"), -sp.log(p)),
        ),
    )


def _family(name: str) -> Callable[[sp.Expr], sp.Expr]:
    """A real number for every token, e.g. p(v)."""
    function = sp.Function(name, real=True)
    return lambda index: function(index)


def _evaluated(expression: sp.Expr) -> sp.Expr:
    """Carry out substitutions, derivatives and limits, and split sums so that equal parts cancel."""
    held = (sp.Subs, sp.Derivative, sp.Limit)
    carried_out = expression.replace(lambda e: isinstance(e, held), lambda e: e.doit())
    return sp.expand(carried_out.replace(lambda e: isinstance(e, sp.Sum), _split))


def _split(total: sp.Sum) -> sp.Expr:
    index = total.limits[0][0]
    terms = sp.Add.make_args(sp.expand(total.function))
    return sp.Add(*(_pull_out(term, index, total.limits[0]) for term in terms))


def _pull_out(term: sp.Expr, index: sp.Symbol, limits: Any) -> sp.Expr:
    constant, varying = term.as_independent(index, as_Add=False)
    return constant * sp.Sum(varying, limits)
