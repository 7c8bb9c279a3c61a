"""Hypothesis strategies shared by the theory's property tests: laws with all the corners that laws have."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st

MAX_VOCABULARY = 8

__all__ = ["MAX_VOCABULARY", "batches", "law", "law_pairs", "laws", "positive_law_pairs"]


def _normalized(weights: list[float]) -> np.ndarray:
    row = np.asarray(weights, dtype=np.float64)
    row = row / row.max()  # first, so that a row of subnormal weights keeps its precision
    return row / row.sum()


#: What an entry is drawn from, before normalising: a palette, which is faster to draw from than floats.
_WEIGHTS = (0.0, 1e-300, 1e-100, 1e-17, 1e-9, *(np.arange(1, 28) ** 2 / 729.0))


@cache  # building a strategy costs more than drawing from it
def laws(size: int, *, positive: bool = False) -> st.SearchStrategy[np.ndarray]:
    """Laws over ``size`` tokens: ordinary, one-hot, uniform, with zeros and with entries down to 1e-300."""
    entry = st.integers(1 if positive else 0, len(_WEIGHTS) - 1)
    mixed = st.lists(entry, min_size=size, max_size=size).filter(any)
    mixed_law = mixed.map(lambda row: _normalized([_WEIGHTS[i] for i in row]))
    if positive:
        return mixed_law
    one_hot = st.integers(0, size - 1).map(lambda token: np.eye(size)[token])
    return st.one_of(mixed_law, one_hot, st.just(np.full(size, 1 / size)))


@st.composite
def law(draw: st.DrawFn, *, min_size: int = 1, max_size: int = MAX_VOCABULARY) -> np.ndarray:
    """One law over a vocabulary of any small size."""
    return draw(laws(draw(st.integers(min_size, max_size))))


@st.composite
def law_pairs(
    draw: st.DrawFn, *, min_size: int = 1, max_size: int = MAX_VOCABULARY, positive: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """A verifier p and a drafter q over one vocabulary; often equal, nearly equal or of disjoint supports."""
    size = draw(st.integers(min_size, max_size))
    p = draw(laws(size, positive=positive))
    kind = draw(st.sampled_from(["free", "free", "free", "equal", "near", "disjoint"]))
    if kind == "equal":
        return p, p.copy()
    if kind == "near":
        return p, _normalized(list(p * (1 + 1e-9 * np.arange(size))))
    q = draw(laws(size, positive=positive))
    if kind == "disjoint" and not positive and size > 1:
        cut = draw(st.integers(1, size - 1))
        halves = np.arange(size) < cut
        p, q = np.where(halves, p, 0.0), np.where(halves, 0.0, q)
        p[0], q[-1] = p[0] + 1e-3, q[-1] + 1e-3  # so that neither half is empty
        return _normalized(list(p)), _normalized(list(q))
    return p, q


def positive_law_pairs(**sizes: int) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Pairs p, q without zeros (entries may still be as small as 1e-300)."""
    return law_pairs(positive=True, **sizes)


@st.composite
def batches(draw: st.DrawFn, *, max_rows: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of shape ``[rows, V]``."""
    size = draw(st.integers(2, MAX_VOCABULARY))
    rows = draw(st.integers(1, max_rows))
    stack = st.lists(laws(size), min_size=rows, max_size=rows).map(np.stack)
    return draw(stack), draw(stack)
