"""What holds for every family: its laws are the laws drawn from, and verification does its work on its drafts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from scipy import stats
from tiny_families import BLOCK, FAMILIES, MASK, MULTI_STEP, V, tiny_engine
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.engine import Engine, Settings
from specfrontier.decoding.sampling import Sampling
from specfrontier.theory.exactness import certify_block

#: Its last two tokens stand at its beginning too, so that prompt lookup finds something.
PROMPT = torch.tensor([1, 2, 3, 4, 0, 2, 3, 1, 2])
#: Error rate of each statistical test below; seeds are fixed, so that a run never flickers.
ERROR_RATE = 1e-4
DRAFTS, GENERATIONS, LENGTH = 150, 200, 2
SAMPLED = Sampling(temperature=0.8)
WORK = [(name, steps) for name in FAMILIES for steps in ((1, 3) if name in MULTI_STEP else (1,))]


def drafts(engine: Engine, steps: int, count: int, exact: bool = False) -> list[Draft]:
    """Independent drafts after the same prefix."""
    generator = torch.Generator().manual_seed(7)
    made = []
    with torch.inference_mode():
        verifier = engine.verifier.session()
        verifier.forward(PROMPT[:-1], rows=1)
        for _ in range(count):
            request = DraftRequest(PROMPT, BLOCK, Effort(steps), generator, exact, verifier.features)
            made.append(engine.drafter.session().draft(request))
    return made


def pearson(expected: np.ndarray, observed: np.ndarray, variance: np.ndarray) -> float:
    """p-value of the summed squared standard scores; cells without variance must agree exactly."""
    possible = variance > 1e-9
    assert np.allclose(observed[~possible], expected[~possible])
    score = ((observed - expected)[possible] ** 2 / variance[possible]).sum()
    # The V cells of a position add up to a constant: V - 1 of them are free, each with a share of the variance.
    return float(stats.chi2.sf(score * (V - 1) / V, max(1, possible.sum() * (V - 1) // V)))


@pytest.mark.parametrize(("family", "steps"), WORK)
def test_tokens_have_the_laws_that_the_draft_reports(family: str, steps: int) -> None:
    """Over many drafts, token counts at each position agree with the sum of the reported laws.

    Each draft reports its own laws; the counts' expectation is their sum, and their variance that of independent
    draws. Positions chosen by the distribution (`exact`), without which the laws of kept tokens are others.
    """
    made = drafts(tiny_engine(family, SAMPLED, Sampling()), steps, DRAFTS, exact=True)
    if family == "ngram":
        assert all(d.laws is None for d in made)
        return
    size = min(d.block_size for d in made)
    laws = np.stack([d.laws[:size].double().numpy()[:, :V] for d in made if d.laws is not None])
    tokens = np.stack([d.tokens[:size].numpy() for d in made])
    assert size > 0
    assert np.allclose(laws.sum(-1), 1, atol=1e-5)
    seen = np.eye(V)[tokens]
    # Two draws of one block may hang together, so each position has its own test, at a share of the error rate.
    for position in range(size):
        law = laws[:, position]
        p_value = pearson(law.sum(0), seen[:, position].sum(0), (law * (1 - law)).sum(0))
        assert p_value > ERROR_RATE / size


@pytest.mark.parametrize(("family", "steps"), WORK)
def test_steps_forwards_and_selection_are_reported_honestly(family: str, steps: int) -> None:
    engine = tiny_engine(family, SAMPLED, Sampling())
    for exact in (False, True):
        for draft in drafts(engine, steps, 3, exact):
            assert not (draft.tokens == MASK).any()
            assert draft.selects_on_draws == (family == "block-diffusion" and not exact)
            assert draft.block_size > 0
            assert draft.steps.min() >= 1
            serial = family in ("autoregressive", "dspark")
            expected = {"ngram": 0, "autoregressive": draft.block_size}.get(family, min(steps, draft.block_size))
            assert draft.forwards == expected or (family == "dspark" and draft.forwards == 1)
            assert draft.steps.max() <= (draft.block_size if serial else steps)


@pytest.mark.parametrize("family", ["masked-prefix", "uniform", "diffusion-gemma", "uno", "dflash", "dspark"])
def test_these_families_need_no_cut_to_be_verified_exactly(family: str) -> None:
    steps = 3 if family in MULTI_STEP else 1
    for draft in drafts(tiny_engine(family, SAMPLED, Sampling()), steps, 5, exact=True):
        certificate = certify_block(draft.steps.numpy(), selects_on_draws=draft.selects_on_draws)
        assert bool(certificate.exact)


@pytest.mark.parametrize(("family", "steps"), WORK)
def test_greedy_proposals_are_point_masses_and_repeat(family: str, steps: int) -> None:
    engine = tiny_engine(family, Sampling(temperature=0), Sampling())
    made = drafts(engine, steps, 3)
    assert all(d.laws is None for d in made)
    if family not in ("uniform", "diffusion-gemma", "uno"):  # these start from random tokens
        assert len({tuple(d.tokens.tolist()) for d in made}) == 1


@pytest.mark.parametrize("greedy_draft", [False, True])
@pytest.mark.parametrize(("family", "steps"), WORK)
def test_greedy_decoding_equals_the_verifiers_greedy(family: str, steps: int, greedy_draft: bool) -> None:
    """At temperature 0 and zero leniency the output is the verifier's, whatever was drafted."""
    draft = Sampling(temperature=0 if greedy_draft else 0.8)
    engine = tiny_engine(family, draft, Sampling(temperature=0))
    with torch.inference_mode():
        alone = engine.autoregressive(PROMPT, 12)
        drafted = engine.generate(PROMPT, Settings(Effort(steps), block_size=BLOCK, max_new_tokens=12))
    assert drafted.tokens == alone.tokens


def verifier_law(engine: Engine, prompt: Tensor, length: int) -> dict[tuple[int, ...], float]:
    """The verifier's own law of the next `length` tokens, by enumeration."""
    law = {}
    for text in itertools.product(range(V), repeat=length):
        session = engine.verifier.session()
        logits = session.forward(torch.cat((prompt, torch.tensor(text[:-1], dtype=torch.long))))[:, :V]
        rows = engine.verifier_sampling.law(logits[-length:])
        law[text] = float(torch.stack([rows[i, t] for i, t in enumerate(text)]).prod())
    return law


def goodness_of_fit(law: dict[tuple[int, ...], float], outputs: Sequence[tuple[int, ...]]) -> float:
    """p-value of the chi-square test of `outputs` against `law`, rare texts pooled."""
    counts = Counter(outputs)
    rows = sorted(law.items(), key=lambda row: -row[1])
    expected, observed, rest, seen = [], [], 0.0, 0
    for text, probability in rows:
        if probability * len(outputs) >= 5:
            expected.append(probability * len(outputs))
            observed.append(counts.get(text, 0))
        else:
            rest, seen = rest + probability * len(outputs), seen + counts.get(text, 0)
    if rest > 0:
        expected.append(rest)
        observed.append(seen)
    scaled = np.array(expected) * (sum(observed) / sum(expected))
    return float(stats.chisquare(observed, scaled).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "steps"), [(n, 2 if n in MULTI_STEP else 1) for n in FAMILIES])
def test_lossless_decoding_has_the_verifiers_law(family: str, steps: int) -> None:
    """Zero leniency, exact verification: the law of the next tokens is the verifier's (chi-square)."""
    engine = tiny_engine(family, SAMPLED, Sampling(temperature=0.9))
    with torch.inference_mode():
        law = verifier_law(engine, PROMPT, LENGTH)
        outputs = [
            engine.generate(
                PROMPT,
                Settings(Effort(steps), block_size=BLOCK, max_new_tokens=LENGTH, seed=seed, verification="exact"),
            ).tokens
            for seed in range(GENERATIONS)
        ]
    assert goodness_of_fit(law, outputs) > ERROR_RATE
