"""The law that `Sampling` states is transformers' and is the law that is drawn from."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from specfrontier.decoding.sampling import LEAST_TEMPERATURE, LONG, Sampling, draw
from specfrontier.errors import InputError

LOGITS = torch.tensor([[2.0, 1.0, 0.0, -1.0], [0.0, 3.0, 3.0, 1.0]])


def test_plain_law_is_the_softmax_in_float32() -> None:
    law = Sampling().law(LOGITS.bfloat16())
    assert law.dtype == torch.float32
    assert torch.equal(law, LOGITS.bfloat16().float().softmax(-1))


def test_greedy_law_is_one_hot_of_the_first_maximum() -> None:
    assert Sampling(temperature=0).law(LOGITS).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_temperature_then_truncation() -> None:
    law = Sampling(temperature=0.5, top_k=2).law(LOGITS[:1])[0]
    expected = (LOGITS[0, :2] / 0.5).softmax(-1)
    assert torch.allclose(law[:2], expected)
    assert law[2:].tolist() == [0, 0]


def test_the_order_of_truncations_matters_and_is_kept() -> None:
    logits = torch.log(torch.tensor([[0.4, 0.3, 0.2, 0.1]]))
    k_first = Sampling(top_k=2, top_p=0.55, filters=("top_k", "top_p")).law(logits)
    p_first = Sampling(top_k=2, top_p=0.55, filters=("top_p", "top_k")).law(logits)
    assert k_first.count_nonzero() == 1  # 0.4 / 0.7 > 0.55 already
    assert p_first.count_nonzero() == 2


BAD = [
    *({"temperature": value} for value in (-1, float("nan"), float("inf"), 1e-40)),
    {"top_p": 0},
    {"top_k": 0},
]


@pytest.mark.parametrize("bad", BAD)
def test_values_out_of_range_are_named(bad: dict) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        Sampling(**bad)


def test_the_least_temperature_is_greedy_and_finite() -> None:
    logits = torch.tensor([[40.0, -40.0, 39.0]])
    assert Sampling(temperature=LEAST_TEMPERATURE).law(logits).tolist() == [[1, 0, 0]]


@pytest.mark.parametrize("rows", [1, 3])
def test_draws_have_the_law(rows: int) -> None:
    """Chi-square of 6,000 draws from each row at level 1e-4; a token of probability zero never comes."""
    law = torch.tensor([[0.5, 0.0, 0.3, 0.2, 0.0]]).expand(rows, -1)
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([draw(law, generator) for _ in range(6000)])
    for column in draws.T:
        counts = column.bincount(minlength=5)
        assert counts[[1, 4]].tolist() == [0, 0]
        assert stats.chisquare(counts[[0, 2, 3]].numpy(), [3000, 1800, 1200]).pvalue > 1e-4


@pytest.mark.parametrize("size", [LONG, 2 * LONG, 3 * LONG + 77])
def test_long_laws_are_drawn_from_by_runs(size: int) -> None:
    """Each draw is the first entry whose cumulative probability exceeds the level, found without runs.

    Laws with empty runs, and with all their mass on the last entry; 50 draws from each.
    """
    generator = torch.Generator().manual_seed(1)
    law = torch.randn(4, size, generator=generator).mul(4).softmax(-1)
    law[1, : size // 2] = 0
    law[2] = 0
    law[2, -1] = 1
    law[3, torch.randperm(size, generator=generator)[5:]] = 0
    for seed in range(50):
        found = draw(law, torch.Generator().manual_seed(seed))
        level = torch.rand(4, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        sums = law.cumsum(-1, dtype=torch.float64)
        expected = torch.searchsorted(sums, level * sums[:, -1:], right=True).squeeze(1)
        torch.testing.assert_close(found, expected)
        assert (law.gather(1, found[:, None]) > 0).all()


def test_a_draw_by_runs_has_the_law() -> None:
    """Chi-square over 40 masses of unlike sizes in a law of several runs, 20,000 draws, at level 1e-4."""
    generator = torch.Generator().manual_seed(2)
    where = torch.randperm(2 * LONG, generator=generator)[:40]
    law = torch.zeros(1, 2 * LONG)
    law[0, where] = torch.arange(1.0, 41.0) / 820
    rows = law.expand(500, -1)
    draws = torch.cat([draw(rows, generator) for _ in range(40)])
    counts = draws.bincount(minlength=2 * LONG)[where]
    assert int(counts.sum()) == len(draws)
    assert stats.chisquare(counts.numpy(), law[0, where].double().numpy() * len(draws)).pvalue > 1e-4
