"""Prompt lookup proposes what followed the longest repeated suffix."""

from __future__ import annotations

import pytest
import torch

from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.drafters.ngram import NgramDrafter
from specfrontier.errors import InputError


def drafted(prefix: list[int], size: int = 3, longest: int = 3, alone: bool = False) -> list[int]:
    request = DraftRequest(torch.tensor(prefix), size, Effort(1), torch.Generator(), alone=alone)
    return NgramDrafter(vocab_size=10, longest=longest).draft(request).tokens.tolist()


@pytest.mark.parametrize(
    ("prefix", "longest", "expected"),
    [
        ([1, 2, 3, 4, 5, 1, 2, 3], 3, [4, 5, 1]),
        ([1, 2, 7, 9, 2, 8, 1, 2], 3, [7, 9, 2]),  # two tokens match once, one token matches later
        ([1, 2, 7, 9, 2, 8, 1, 2], 1, [8, 1, 2]),
        ([5, 5, 5], 3, [5]),  # the match may overlap the suffix
        ([1, 2, 3], 3, []),
        ([1], 3, []),
    ],
)
def test_the_longest_suffix_wins_and_the_latest_occurrence_of_it(
    prefix: list[int], longest: int, expected: list[int]
) -> None:
    assert drafted(prefix, longest=longest) == expected


def test_it_cannot_run_without_a_verifier() -> None:
    with pytest.raises(InputError, match="verifier"):
        drafted([1, 2, 1], alone=True)
