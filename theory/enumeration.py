"""Algorithm 1's exact output law by enumeration, for small vocabularies and blocks.

Proposition 2 is a claim about a law. For a tabular drafter and verifier that law is a finite sum over
denoising trajectories, accept decisions and replacements, computed here to rounding error for any sampler and
any acceptance rule. It settles questions that sampling cannot: a bias of 1 % in total variation is invisible
in generated text and plain here.

Two ways to verify a draft (``docs/theory/proposition2.md``):

- ``"paper"``: Algorithm 1 as printed. Every position is verified with the distribution it was drawn from.
- ``"exact"``: the block is cut after :func:`~specfrontier.theory.exactness.exact_prefix_length` positions and
  the next one is drawn from p (order condition); each row of q is the law of the token *given that it was
  kept* (selection condition).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from specfrontier.theory.block_samplers import MASK, Canvas, Placement, Sampler
from specfrontier.theory.exactness import exact_prefix_length

__all__ = [
    "Draft",
    "TabularPair",
    "Verification",
    "draft_law",
    "output_error",
    "round_law",
    "sequence_law",
    "verifier_law",
]

FloatArray = NDArray[np.float64]
Prefix = tuple[int, ...]
Verification = Literal["paper", "exact"]


class VerificationRule(Protocol):
    """The part of the rule protocol that one verification step uses."""

    def acceptance(self, p: Any, q: Any) -> Any:
        """``[V]``: probability that each drafted token is kept."""

    def residual(self, p: Any, q: Any, y: Any) -> Any:
        """``[V]``: law of the replacement after ``y`` was rejected."""


@dataclass(frozen=True)
class TabularPair:
    """A drafter and a verifier given as functions, small enough to enumerate.

    Attributes:
        denoiser: (prefix h, canvas) to probabilities ``[B, V]``; the canvas holds
            :data:`~specfrontier.theory.block_samplers.MASK` where a position is masked.
        verifier: prefix to probabilities ``[V]`` of the next token.
        vocab_size: V.
        block_size: B.
    """

    denoiser: Callable[[Prefix, Canvas], FloatArray]
    verifier: Callable[[Prefix], FloatArray]
    vocab_size: int
    block_size: int

    def __post_init__(self) -> None:
        for name in ("vocab_size", "block_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @classmethod
    def random(cls, vocab_size: int, block_size: int, *, seed: int, concentration: float = 1.0) -> TabularPair:
        """Build a pair whose every row is an independent Dirichlet draw: no structure, no mercy.

        Args:
            vocab_size: V.
            block_size: B.
            seed: non-negative; the same seed gives the same tables.
            concentration: Dirichlet parameter, positive; small values give peaked rows.
        """

        @cache
        def rows(stream: int, key: tuple[int, ...], count: int) -> FloatArray:
            # A generator a key keeps the tables lazy and independent of the order in which they are read.
            rng = np.random.default_rng([seed, stream, len(key), *(token + 1 for token in key)])
            return rng.dirichlet(np.full(vocab_size, concentration), size=count)

        return cls(
            denoiser=lambda prefix, canvas: rows(0, (*prefix, *canvas), block_size),
            verifier=lambda prefix: rows(1, prefix, 1)[0],
            vocab_size=vocab_size,
            block_size=block_size,
        )


@dataclass(frozen=True)
class Draft:
    """One denoising trajectory: the arguments that DiffusionDraft hands to the verifier, and its probability.

    Attributes:
        probability: of this trajectory.
        tokens: y, B token ids.
        proposals: q, ``[B, V]``; the law that each token is claimed to have been drawn from.
        unmask_steps: B steps (from 0) at which each position took its final value.
    """

    probability: float
    tokens: Canvas
    proposals: FloatArray
    unmask_steps: tuple[int, ...]


def draft_law(
    pair: TabularPair, sampler: Sampler, prefix: Prefix = (), *, verification: Verification = "paper"
) -> Iterator[Draft]:
    """Yield every draft of one round with its probability.

    Args:
        pair: the tables.
        sampler: how positions are fixed over the K steps.
        prefix: h.
        verification: ``"paper"`` reports each token's denoiser row as q, ``"exact"`` its law given that it
            was kept (the two agree where the sampler does not select on draws).

    Raises:
        ValueError: if ``verification`` is neither, or if the sampler leaves a position masked.
    """
    _check_verification(verification)
    blank = np.zeros((pair.block_size, pair.vocab_size))
    for probability, canvas in sampler.start(pair.block_size, pair.vocab_size):
        start = Draft(probability, canvas, blank, (-1,) * pair.block_size)
        yield from _denoise(pair, sampler, prefix, start, 0, verification)


def round_law(
    pair: TabularPair,
    sampler: Sampler,
    rule: VerificationRule,
    prefix: Prefix = (),
    *,
    verification: Verification = "paper",
) -> dict[tuple[int, ...], float]:
    """Compute the law of the 1 to B + 1 tokens that one round of Algorithm 1 appends (lines 4 to 13).

    Args:
        pair: the tables.
        sampler: the drafter's sampler.
        rule: an acceptance rule, for instance ``Lossless()`` or ``Linear(0.3)``.
        prefix: h.
        verification: ``"paper"`` or ``"exact"``; see the module's text.

    Returns:
        Probability of each appended tuple of tokens; the values sum to 1.
    """
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for draft in draft_law(pair, sampler, prefix, verification=verification):
        for tokens, probability in _verify(pair, rule, prefix, draft, verification):
            law[tokens] += probability
    return dict(law)


def sequence_law(
    pair: TabularPair,
    sampler: Sampler,
    rule: VerificationRule,
    length: int,
    *,
    verification: Verification = "paper",
) -> FloatArray:
    """Compute the law of the first ``length`` tokens when Algorithm 1 runs as many rounds as they take.

    Args:
        pair: the tables; each round drafts a fresh block of B positions after the current prefix.
        sampler: the drafter's sampler.
        rule: an acceptance rule.
        length: number of tokens, at least 1.
        verification: ``"paper"`` or ``"exact"``.

    Returns:
        Array of shape ``[V] * length``; entry ``[v_1, ..., v_n]`` is the probability of that text.

    Raises:
        ValueError: if ``length`` is less than 1, or as :func:`draft_law`.
    """
    _check_length(length)
    # Rounds only append, so going through the prefixes by length visits each after all its predecessors.
    mass: list[dict[Prefix, float]] = [defaultdict(float) for _ in range(length + 1)]
    mass[0][()] = 1.0
    for done in range(length):
        for prefix, reached in mass[done].items():
            for tokens, probability in round_law(pair, sampler, rule, prefix, verification=verification).items():
                text = (prefix + tokens)[:length]
                mass[len(text)][text] += reached * probability
    return _as_array(mass[length], pair.vocab_size, length)


def verifier_law(pair: TabularPair, length: int) -> FloatArray:
    """Compute the law of the verifier's first ``length`` tokens, of shape ``[V] * length``."""
    _check_length(length)
    law = np.ones((pair.vocab_size,) * length)
    for position in range(length):
        for prefix in product(range(pair.vocab_size), repeat=position):
            row = pair.verifier(prefix)
            law[prefix] *= row.reshape((-1,) + (1,) * (length - position - 1))
    return law


def output_error(
    pair: TabularPair,
    sampler: Sampler,
    rule: VerificationRule,
    length: int,
    *,
    verification: Verification = "paper",
) -> float:
    """Total variation between Algorithm 1's text of ``length`` tokens and the verifier's, in [0, 1].

    Zero up to rounding for every lossless rule under ``verification="exact"``. Arguments as
    :func:`sequence_law`.
    """
    law = sequence_law(pair, sampler, rule, length, verification=verification)
    return float(0.5 * np.abs(law - verifier_law(pair, length)).sum())


def _denoise(
    pair: TabularPair, sampler: Sampler, prefix: Prefix, draft: Draft, step: int, verification: Verification
) -> Iterator[Draft]:
    """Follow every outcome of the steps from ``step`` on."""
    if step == sampler.steps:
        if MASK in draft.tokens:
            raise ValueError(f"sampler left a position of {draft.tokens} masked after its {step} steps")
        yield draft
        return
    probs = pair.denoiser(prefix, draft.tokens)
    outcomes = list(sampler.outcomes(draft.tokens, probs, step))
    for probability, placement in outcomes:
        rows = _proposal_rows(placement, probs, outcomes if verification == "exact" else None)
        advanced = _advance(draft, probability, placement, rows, step)
        yield from _denoise(pair, sampler, prefix, advanced, step + 1, verification)


def _advance(draft: Draft, probability: float, placement: Placement, rows: FloatArray, step: int) -> Draft:
    tokens, steps, proposals = list(draft.tokens), list(draft.unmask_steps), draft.proposals.copy()
    for (position, token), row in zip(placement, rows, strict=True):
        tokens[position], steps[position], proposals[position] = token, step, row
    return Draft(draft.probability * probability, tuple(tokens), proposals, tuple(steps))


def _proposal_rows(
    placement: Placement, probs: FloatArray, outcomes: list[tuple[float, Placement]] | None
) -> FloatArray:
    """Rows of q for the tokens just placed: the denoiser's, or (given all outcomes) laws of kept tokens."""
    if outcomes is None:
        return np.array([probs[position] for position, _ in placement]).reshape(-1, probs.shape[1])
    return np.array([_kept_law(placement, i, outcomes, probs.shape[1]) for i in range(len(placement))])


def _kept_law(placement: Placement, i: int, outcomes: list[tuple[float, Placement]], vocab_size: int) -> FloatArray:
    """Law of the i-th placed token given which positions were kept and the tokens placed to its left."""
    kept = [position for position, _ in placement]
    law = np.zeros(vocab_size)
    for probability, other in outcomes:
        if [position for position, _ in other] == kept and other[:i] == placement[:i]:
            law[other[i][1]] += probability
    return law / law.sum()


def _verify(
    pair: TabularPair, rule: VerificationRule, prefix: Prefix, draft: Draft, verification: Verification
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield what verifying ``draft`` appends, with probabilities: lines 7 to 13 of Algorithm 1."""
    limit = pair.block_size if verification == "paper" else int(exact_prefix_length(draft.unmask_steps))
    reached = draft.probability
    for k in range(limit):
        accepted = draft.tokens[:k]
        p, q, y = pair.verifier(prefix + accepted), draft.proposals[k], draft.tokens[k]
        kept = float(rule.acceptance(p, q)[y])
        if kept < 1.0:
            replacement = rule.residual(p, q, np.asarray(y))
            yield from _append(accepted, replacement, reached * (1.0 - kept))
        reached *= kept
        if reached == 0.0:
            return
    accepted = draft.tokens[:limit]
    yield from _append(accepted, pair.verifier(prefix + accepted), reached)


def _append(accepted: tuple[int, ...], row: FloatArray, probability: float) -> Iterator[tuple[tuple[int, ...], float]]:
    for token, weight in enumerate(row):
        if weight > 0:
            yield (*accepted, token), probability * float(weight)


def _as_array(law: dict[Prefix, float], vocab_size: int, length: int) -> FloatArray:
    array = np.zeros((vocab_size,) * length)
    for text, probability in law.items():
        array[text] = probability
    return array


def _check_verification(verification: str) -> None:
    if verification not in get_args(Verification):
        raise ValueError(f"verification must be 'paper' or 'exact', got {verification!r}")


def _check_length(length: int) -> None:
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
