"""Verification reads rows lazily and decides exactly as reading them all would."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from specfrontier.decoding import verification
from specfrontier.decoding.drafters.base import Draft
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.theory.rules import AcceptanceRule, Linear, Lossless, RuleSchedule, rule_from_spec

SIZE, VOCABULARY = 12, 7


def block(seed: int, one_hot: bool = False) -> tuple[Draft, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(SIZE + 1, VOCABULARY, generator=generator)
    q = (logits[:SIZE] + 0.3 * torch.randn(SIZE, VOCABULARY, generator=generator)).softmax(-1)
    tokens = draw(q, generator)
    return Draft(tokens, None if one_hot else q, torch.ones(SIZE, dtype=torch.long), 1), logits


@pytest.mark.parametrize(
    "spec", ["lossless", "linear:0.3", "cactus:0.5", "clip:1.5", "lenience:0.5", "sampler-match", "fuzzy:0.2"]
)
@pytest.mark.parametrize("one_hot", [False, True])
def test_chunks_do_not_change_how_many_are_accepted(spec: str, one_hot: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = rule_from_spec(spec)
    for seed in range(20):
        draft, logits = block(seed, one_hot)
        counts = set()
        for chunk in (1, 4, SIZE + 1):
            monkeypatch.setattr(verification, "FIRST_CHUNK", chunk)
            generator = torch.Generator().manual_seed(seed)
            counts.add(verification.verify(draft, logits, Sampling(), rule, generator).accepted)
        assert len(counts) == 1


@pytest.mark.parametrize("spec", ["lossless", "linear:0.3", "clip:1.5", "sampler-match", "linear:1"])
@pytest.mark.parametrize("one_hot", [False, True])
def test_a_device_decides_as_a_host_does(spec: str, one_hot: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code for a GPU, which reads no number before the round ends, run on the CPU."""
    monkeypatch.setattr(verification, "FIRST_CHUNK", SIZE + 1)
    host = verification._end_on_host
    for seed in range(40):
        draft, logits = block(seed, one_hot)
        verdicts = []
        for end in (host, verification._end_on_device):
            monkeypatch.setattr(verification, "_end_on_host", end)
            generator = torch.Generator().manual_seed(seed)
            verdicts.append(verification.verify(draft, logits, Sampling(), rule_from_spec(spec), generator))
        assert verdicts[0] == verdicts[1]


def test_rows_after_the_first_rejection_are_never_read() -> None:
    draft, logits = block(0)
    impossible = logits.clone()
    impossible[0] = torch.where(torch.arange(VOCABULARY) == draft.tokens[0], -torch.inf, 0.0)
    impossible[verification.FIRST_CHUNK :] = torch.nan
    verdict = verification.verify(draft, impossible, Sampling(), Lossless(), torch.Generator().manual_seed(0))
    assert verdict.accepted == 0


def test_a_token_that_the_verifier_excludes_is_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by a uniform number of 0, which a float32 generator gives once in 2^24 draws."""
    draft, logits = block(0)
    logits[0] = torch.where(torch.arange(VOCABULARY) == draft.tokens[0], -torch.inf, logits[0])
    monkeypatch.setattr(torch, "rand", lambda *size, dtype=None, **kwargs: torch.zeros(*size, dtype=dtype))
    verdict = verification.verify(draft, logits, Sampling(), Lossless(), torch.Generator())
    assert verdict.accepted == 0
    assert verdict.token != int(draft.tokens[0])


@pytest.mark.parametrize("rule", [Lossless(), Linear(0.4)])
def test_emitted_token_has_the_rules_output_law(rule: AcceptanceRule) -> None:
    """Chi-square over 4,000 single-position blocks at level 1e-4."""
    generator = torch.Generator().manual_seed(1)
    _, logits = block(2)
    q = (0.5 * logits[:1]).softmax(-1)
    counts = np.zeros(VOCABULARY)
    for _ in range(4000):
        tokens = draw(q, generator)
        draft = Draft(tokens, q, torch.ones(1, dtype=torch.long), 1)
        verdict = verification.verify(draft, logits[:2], Sampling(), rule, generator)
        counts[int(tokens[0]) if verdict.accepted else verdict.token] += 1
    law = rule.output_law(logits[0].softmax(-1).double().numpy(), q[0].double().numpy(), validate=False)
    assert stats.chisquare(counts, 4000 * law / law.sum()).pvalue > 1e-4


def test_bonus_token_comes_from_the_verifier_under_full_leniency() -> None:
    """Chi-square over 3,000 blocks at level 1e-4: row B + 1 is p, not relaxed."""
    generator = torch.Generator().manual_seed(3)
    draft, logits = block(4)
    draft, logits = draft.truncated(2), logits[:3]
    counts = np.zeros(VOCABULARY)
    for _ in range(3000):
        verdict = verification.verify(draft, logits, Sampling(), Linear(1.0), generator)
        assert verdict.accepted == 2
        counts[verdict.token] += 1
    assert stats.chisquare(counts, 3000 * logits[2].double().softmax(-1).numpy()).pvalue > 1e-4


def test_an_empty_block_draws_from_the_verifier() -> None:
    draft, logits = block(5)
    verdict = verification.verify(
        draft.truncated(0), logits[:1], Sampling(temperature=0), Lossless(), torch.Generator()
    )
    assert verdict == verification.Verdict(0, int(logits[0].argmax()))


def test_a_schedule_uses_each_positions_own_rule() -> None:
    """Full leniency before position 3, none from it on: the first rejection can only come from position 3."""
    schedule = RuleSchedule((Linear(1.0), Linear(1.0), Lossless()))
    seen = set()
    for seed in range(60):
        draft, logits = block(seed)
        seen.add(verification.verify(draft, logits, Sampling(), schedule, torch.Generator().manual_seed(seed)).accepted)
    assert min(seen) == 2
    assert len(seen) > 1


def test_a_schedule_of_equal_rules_is_that_rule() -> None:
    for seed in range(20):
        draft, logits = block(seed)
        verdicts = {
            verification.verify(draft, logits, Sampling(), rule, torch.Generator().manual_seed(seed))
            for rule in (Linear(0.3), RuleSchedule((Linear(0.3),) * SIZE))
        }
        assert len(verdicts) == 1
