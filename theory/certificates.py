"""Certificates for a whole text: from the KL of each token to the accuracy of any task.

KL adds along a sequence. If, given the prefix, the k-th emitted token has law o_k instead of p_k, then
the KL of the whole text's law from the verifier's is the expected sum of KL(o_k || p_k) over the emitted
tokens; it is at most that sum if o_k also depends on what the text does not show, such as the draft
(docs/theory/certificates.md). A KL bounds total variation, and total variation bounds the change in the
probability of any event, such as "the answer is right".
"""

from __future__ import annotations

import math

from specfrontier.theory.arrays import Array, as_floating, namespace
from specfrontier.theory.divergences import kl_divergence
from specfrontier.theory.rules import AcceptanceRule
from specfrontier.theory.validation import check_laws

__all__ = [
    "accuracy_drop_bound",
    "kl_for_accuracy_drop",
    "sequence_kl",
    "token_kl",
    "tv_bound",
    "worst_case_sequence_kl",
]


def token_kl(rule: AcceptanceRule, p: Array, q: Array, *, validate: bool = True) -> Array:
    """KL(output law || p) of one emitted token, shape ``[...]``, in nats; at most ``rule.kl_bound``.

    ``p`` and ``q`` are laws ``[..., V]``. Infinite where the rule emits a token that p excludes, as
    linear leniency does wherever top-p or top-k has emptied p under a token that q proposes.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    return kl_divergence(rule.output_law(p, q, validate=False), p, validate=False)


def sequence_kl(token_kls: Array, *, emitted: Array | None = None) -> Array:
    """Sum of per-token KLs ``[..., n]`` along a text, shape ``[...]`` (chain rule).

    ``emitted`` ``[..., n]`` marks the tokens that exist, where texts were padded to one length. The bonus
    token and tokens drawn from p contribute 0. Average the result over texts to estimate KL(text law ||
    verifier's law). Raises ``ValueError`` if a KL is negative or NaN.
    """
    token_kls = as_floating(token_kls)
    xp = namespace(token_kls)
    if emitted is not None:
        token_kls = xp.where(xp.asarray(emitted), token_kls, 0.0)
    if not bool(xp.all(token_kls >= 0)):
        raise ValueError("token_kls must hold KL divergences >= 0, got a negative or NaN entry")
    return xp.sum(token_kls, axis=-1)


def worst_case_sequence_kl(rule: AcceptanceRule, drafted_tokens: int) -> float:
    """``drafted_tokens * rule.kl_bound``: a certificate before any measurement, for any verifier and drafter.

    ``drafted_tokens`` counts the emitted tokens that a rule decided; bonus tokens cost nothing.
    Finite for ``Lossless`` and ``SamplerMatch`` (0), ``Clip`` (log b each) and ``Lenience`` (log(1/l) each).
    """
    if drafted_tokens < 0:
        raise ValueError(f"drafted_tokens must be >= 0, got {drafted_tokens!r}")
    return drafted_tokens * rule.kl_bound if drafted_tokens else 0.0


def tv_bound(kl: Array | float) -> Array:
    """Least of Pinsker's sqrt(kl / 2) and Bretagnolle and Huber's sqrt(1 - exp(-kl)), elementwise, in [0, 1].

    Both bound the total variation between two laws whose KL, either way round, is ``kl`` in [0, inf].
    Pinsker's is the better one up to about 1.6 nats; the other never reaches 1 and so never says nothing.
    Raises ``ValueError`` if ``kl`` is negative or NaN.
    """
    kl = as_floating(kl)
    xp = namespace(kl)
    if not bool(xp.all(kl >= 0)):
        raise ValueError("kl must be a KL divergence >= 0, got a negative or NaN entry")
    return xp.minimum(xp.sqrt(kl / 2), xp.sqrt(-xp.expm1(-kl)))


def accuracy_drop_bound(kl: Array | float) -> Array:
    """Most by which the accuracy of any task can change when the text's law is within ``kl`` of the
    verifier's.

    A task scores a text right or wrong, so its accuracy is the probability of an event and changes by at most
    the total variation: ``tv_bound(kl)``. The same holds for a mean score in [0, 1].
    """
    return tv_bound(kl)


def kl_for_accuracy_drop(drop: float) -> float:
    """Largest KL budget, in nats, that certifies an accuracy drop of at most ``drop`` in [0, 1].

    The inverse of ``accuracy_drop_bound``: max(2 drop^2, -log(1 - drop^2)), infinite at ``drop = 1``. Raises
    ``ValueError`` if ``drop`` lies outside [0, 1].
    """
    if not 0 <= drop <= 1:
        raise ValueError(f"drop must be a change of accuracy in [0, 1], got {drop!r}")
    bretagnolle_huber = math.inf if drop == 1 else -math.log1p(-(drop**2))
    return max(2 * drop**2, bretagnolle_huber)
