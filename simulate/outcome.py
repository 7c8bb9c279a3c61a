"""What a configuration is expected to do, with the bootstrap replicates of it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outcome", "Totals"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """Figures of one configuration, each ``[1 + R]``: the estimate, then R bootstrap replicates of it.

    Attributes:
        throughput: output tokens a second of decoding.
        latency: seconds a problem, prefill and decoding.
        tokens_per_round: emitted tokens a round.
        acceptance: accepted over visited positions.
        agreement: 1 - expected TV(output law, p) over visited positions.
        deviation: expected sum of TV(output law, p) over the visited positions of a problem.
        overshoot: expected nats likewise (``simulate.overshoot``); NaN from predictors that do not follow tokens.
    """

    throughput: FloatArray
    latency: FloatArray
    tokens_per_round: FloatArray
    acceptance: FloatArray
    agreement: FloatArray
    deviation: FloatArray
    overshoot: FloatArray

    def interval(self, name: str, level: float) -> tuple[float, float, float]:
        """Estimate and percentile interval of one figure; NaN ends if there are no replicates."""
        values: FloatArray = getattr(self, name)
        if len(values) < 3:
            return float(values[0]), np.nan, np.nan
        low, high = np.quantile(values[1:], [(1 - level) / 2, (1 + level) / 2])
        return float(values[0]), float(low), float(high)


@dataclass(frozen=True)
class Totals:
    """Expected totals of each generation, ``[G]`` each (or ``[..., G]``).

    Sums and not ratios, because measured throughput and tokens a round are sums over sums: a bootstrap over
    prompts is then one product with a matrix of weights.
    """

    tokens: FloatArray
    rounds: FloatArray
    accepted: FloatArray
    visited: FloatArray
    deviation: FloatArray
    overshoot: FloatArray
    decode_s: FloatArray

    def resampled(self, weights: FloatArray) -> Totals:
        """``[1 + R]`` means a generation; `weights` is ``[1 + R, G]`` with ones in its first row."""
        size = weights.sum(axis=-1)
        return Totals(**{entry.name: weights @ getattr(self, entry.name) / size for entry in fields(self)})

    def mixed(self, other: Totals, share: float | FloatArray) -> Totals:
        """`share` of `other` and the rest of this one, total by total; beyond [0, 1] on the line through both."""
        return Totals(
            **{
                entry.name: (1 - share) * getattr(self, entry.name) + share * getattr(other, entry.name)
                for entry in fields(self)
            }
        )

    def outcome(self, prefill_s: float) -> Outcome:
        """Figures of resampled means."""
        visited = np.maximum(self.visited, np.finfo(float).tiny)
        return Outcome(
            throughput=self.tokens / self.decode_s,
            latency=prefill_s + self.decode_s,
            tokens_per_round=self.tokens / self.rounds,
            acceptance=self.accepted / visited,
            agreement=1 - self.deviation / visited,
            deviation=self.deviation,
            overshoot=self.overshoot,
        )
