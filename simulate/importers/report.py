"""One form for what serving engines report about acceptance, with its identities checked.

Engines mean different things by acceptance: survival to a position or the rate given that it is reached, lengths with
the bonus token or without. Here `accepted` never holds the bonus or correction token, and rates are conditional: of
the rounds that reached position k, the share that accepted it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.importers.fields import check_identity, is_number
from specfrontier.simulate.predictors.position_dependent import PositionDependent
from specfrontier.theory.tokens import alpha_for_tokens

__all__ = ["ENOUGH_VISITS", "AcceptanceReport", "report_from_histogram", "report_from_steps"]

IntArray = NDArray[np.int64]

#: Visits that a rate must rest on to hold for all positions that follow: its standard error is then at most 0.05.
ENOUGH_VISITS = 100


@dataclass(frozen=True)
class AcceptanceReport:
    """What an engine reported, over any number of requests.

    Attributes:
        engine: who reported it.
        rounds: verify steps.
        drafted: draft tokens proposed, after what the engine itself discarded.
        accepted: draft tokens kept, without bonus or correction tokens.
        visited: rounds that reached position 1, 2, ... and had a draft there; None if only totals were reported.
        kept: rounds that accepted position 1, 2, ...; None likewise.
    """

    engine: str
    rounds: int
    drafted: int
    accepted: int
    visited: tuple[int, ...] | None = None
    kept: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InputError(f"{self.engine} reports {self.rounds} verify steps; run with speculation switched on")
        if not 0 <= self.accepted <= self.drafted:
            raise InputError(
                f"{self.engine} reports {self.accepted} accepted of {self.drafted} drafted tokens; accepted tokens "
                "must not exceed drafted ones (is the bonus token counted?)"
            )
        if self.kept is not None:
            check_identity(self.engine, "accepted tokens by position", sum(self.kept), "accepted tokens", self.accepted)

    @property
    def tokens_per_round(self) -> float:
        """Tokens of a verify step, the bonus or correction token included; what an end cut off is still counted."""
        return 1 + self.accepted / self.rounds

    @property
    def draft_length(self) -> float:
        """Mean proposed tokens a verify step."""
        return self.drafted / self.rounds

    @property
    def acceptance(self) -> tuple[float, ...]:
        """Conditional acceptance rate by position.

        From totals alone, one rate for all positions: the one at which Proposition 1 gives the reported tokens a
        round at the mean draft length.
        """
        if self.visited is None or self.kept is None:
            size = max(round(self.draft_length), 1)
            return (float(alpha_for_tokens(min(self.tokens_per_round, size + 1.0), size)),)
        reached = [(k, v) for k, v in zip(self.kept, self.visited, strict=True) if v > 0]
        return tuple(kept / visited for kept, visited in reached)

    def predictor(self) -> PositionDependent:
        """Predict from these rates: pass it to ``predict`` with a profile that has the costs.

        The last rate that a predictor is given holds for every later position, so it must not rest on a few lucky
        rounds. Trailing positions are therefore pooled, from the last one backwards, until they rest on
        ``ENOUGH_VISITS`` visits or none are left, and their pooled rate takes the place of theirs. Assumed:
        acceptance is constant from there on. From totals alone it is assumed to be constant from the first position,
        and counts that only restore printed rates (DeepSpec's) pass for visits.
        """
        if not self.visited or self.kept is None:
            return PositionDependent(self.acceptance)
        visits, kept = (np.cumsum(counts[::-1])[::-1] for counts in (self.visited, self.kept))
        last = max(int(np.count_nonzero(visits >= ENOUGH_VISITS)) - 1, 0)
        return PositionDependent((*self.acceptance[:last], float(kept[last] / visits[last])))

    @classmethod
    def pooled(cls, reports: Iterable[AcceptanceReport]) -> AcceptanceReport:
        """Requests of one engine together; positions are kept if every report has them."""
        parts = list(reports)
        if not parts:
            raise InputError("no acceptance record was found; the engine must run with speculation and report it")
        if not any(p.drafted for p in parts):
            raise InputError(f"{parts[0].engine} drafted no token in any step; run with speculation switched on")
        by_position = all(p.visited is not None for p in parts)
        return cls(
            engine=parts[0].engine,
            rounds=sum(p.rounds for p in parts),
            drafted=sum(p.drafted for p in parts),
            accepted=sum(p.accepted for p in parts),
            visited=_added([p.visited or () for p in parts]) if by_position else None,
            kept=_added([p.kept or () for p in parts]) if by_position else None,
        )


def report_from_histogram(
    engine: str, histogram: dict[int, int], *, drafted: int, accepted: int, rounds: int, block_size: int | None
) -> AcceptanceReport:
    """From rounds by accepted length.

    Args:
        histogram: rounds that accepted exactly j draft tokens.
        drafted, accepted, rounds: the engine's totals, checked against it.
        block_size: the draft length that every round had; None if it varied, in which case rates by position are
            lower bounds (a round that accepted all it had drafted counts as having reached the next position).
    """
    check_identity(engine, "histogram's rounds", sum(histogram.values()), "verify steps", rounds)
    total = sum(length * count for length, count in histogram.items())
    check_identity(engine, "histogram's accepted tokens", total, "accepted tokens", accepted)
    # Some round had a first position if anything was drafted at all, even if none was accepted.
    longest = block_size if block_size is not None else max(*histogram, min(drafted, 1), 0)
    if histogram and max(histogram) > longest:
        raise InputError(f"{engine} accepted {max(histogram)} tokens in a step that drafts at most {longest}")
    at_least = np.array([sum(c for j, c in histogram.items() if j >= k) for k in range(longest + 1)], dtype=np.int64)
    return AcceptanceReport(engine, rounds, drafted, accepted, _ints(at_least[:-1]), _ints(at_least[1:]))


def report_from_steps(
    engine: str, accepted: Sequence[int], drafted: Sequence[int], rounds: Sequence[int] | None = None
) -> AcceptanceReport:
    """From accepted and drafted counts of every round, or of so many `rounds` each: exact at any draft length."""
    if len(accepted) != len(drafted):
        raise InputError(f"{engine} reports {len(accepted)} accepted counts but {len(drafted)} drafted ones")
    kept, proposed = _counts_of(engine, accepted), _counts_of(engine, drafted)
    times = np.ones_like(kept) if rounds is None else _counts_of(engine, rounds)
    if np.any((kept < 0) | (kept > proposed)):
        row = int(np.flatnonzero((kept < 0) | (kept > proposed))[0])
        raise InputError(f"{engine} reports a step that accepted {kept[row]} of {proposed[row]} drafted tokens")
    positions = np.arange(1, int(proposed.max(initial=0)) + 1)
    reached = (kept[:, None] >= positions - 1) & (proposed[:, None] >= positions)
    return AcceptanceReport(
        engine,
        int(times.sum()),
        int(times @ proposed),
        int(times @ kept),
        _ints(times @ reached),
        _ints(times @ (kept[:, None] >= positions)),
    )


def _counts_of(engine: str, values: Sequence[int]) -> IntArray:
    wrong = [value for value in values if not is_number(value) or value != int(value)]
    if wrong:
        raise InputError(f"{engine} reports a step with the count {wrong[0]!r}; it must be an integer")
    return np.asarray(values, dtype=np.int64)


def _added(rows: list[tuple[int, ...]]) -> tuple[int, ...]:
    width = max(map(len, rows), default=0)
    return tuple(sum(row[k] for row in rows if k < len(row)) for k in range(width))


def _ints(values: IntArray) -> tuple[int, ...]:
    return tuple(int(v) for v in values)
