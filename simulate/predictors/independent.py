"""What `PositionDependent` and `Correlated` share: independent rounds of one law, spread over whole texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.grid import Point
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.renewal import Texts, start_rate, text_rounds, text_seconds
from specfrontier.theory.tokens import TokenLaw

__all__ = ["RoundLaw", "outcome_of_rounds", "texts_of"]

FloatArray = NDArray[np.float64]

#: Nodes at which a prediction is computed exactly; replicates in between are interpolated, as one factor moves them.
_NODES = 7


@dataclass(frozen=True)
class RoundLaw:
    """The law of one round.

    Attributes:
        tokens: law of the emitted tokens.
        deviation: ``[B]`` expected TV(output law, p) at each position, given that it is visited.
    """

    tokens: TokenLaw
    deviation: FloatArray

    @property
    def visited(self) -> FloatArray:
        """``[B]``: probability that each position is visited."""
        survival = self.tokens.survival
        return np.concatenate([np.ones(1), survival[:-1]])


def outcome_of_rounds(
    law_at: Callable[[float], RoundLaw],
    factors: FloatArray,
    point: Point,
    evidence: Evidence,
    texts: Texts,
    whole_texts: bool,
) -> Outcome:
    """Predict a configuration whose rounds are independent and all of one law.

    Args:
        law_at: law of a round when all rejection rates are multiplied by a factor.
        factors: ``[1 + R]`` the factor 1 and its bootstrap replicates.
        point: configuration.
        evidence: profile and costs.
        texts: lengths.
        whole_texts: spread rounds over texts that end (otherwise endless ones, as Equation 7 has them).
    """
    nodes = np.linspace(factors.min(), factors.max(), _NODES) if len(factors) > 1 else np.ones(1)
    nodes = np.union1d(nodes, [1.0])
    rows = [_figures(law_at(float(f)), point, evidence, texts, whole_texts) for f in nodes]
    table = np.array(rows).T
    names = [entry.name for entry in fields(Outcome)]
    return Outcome(**{name: np.interp(factors, nodes, values) for name, values in zip(names, table, strict=True)})


def texts_of(evidence: Evidence, point: Point) -> Texts:
    """Recorded lengths of the effort's lossless runs, or the profile's mean length."""
    profile = evidence.profile
    if evidence.recorded is None:
        return Texts.of(profile.output_tokens, profile.prompt_tokens)
    traces = evidence.recorded.lossless(point.effort, 1)
    return Texts.of(traces.output_tokens, float((traces.context - traces.start).mean()))


def _figures(law: RoundLaw, point: Point, evidence: Evidence, texts: Texts, whole_texts: bool) -> tuple[float, ...]:
    """Throughput, latency, tokens a round, acceptance, agreement, deviation, overshoot: in the order of Outcome."""
    mean = float(law.tokens.mean)
    if whole_texts:
        starts = start_rate(law.tokens, int(texts.lengths[-1]))
        rounds = text_rounds(starts, texts)
        seconds = text_seconds(starts, texts, evidence.costs, point.effort, point.block_size)
    else:
        rounds = texts.mean / mean
        context = texts.prompt_tokens + texts.mean / 2
        seconds = rounds * float(evidence.costs.round_s(point.effort, point.block_size, point.block_size, context))
    visited = float(law.visited.sum())
    deviation = float(law.visited @ law.deviation) / visited
    return (
        texts.mean / seconds,
        evidence.costs.prefill_s + seconds,
        texts.mean / rounds,
        (mean - 1) / visited,
        1 - deviation,
        deviation * visited * rounds,
        np.nan,
    )
