"""How fast a grid is predicted, and how much faster than a loop over rounds in Python.

Run with ``pytest benchmarks/test_simulate.py -s``. Times are processor seconds, which other work on the machine does
not lengthen by waiting.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from specfrontier.profile import EffortProfile, Estimate, Profile
from specfrontier.simulate import Costs, Effort, Evidence, Grid, Point, Recorded, Replay, Traces
from specfrontier.simulate.acceptance import rates_by_run
from specfrontier.simulate.events import simulate_generations
from specfrontier.simulate.layout import Layout
from specfrontier.simulate.line import Line, Slots
from specfrontier.simulate.walks import Walks
from specfrontier.theory.rules import Linear

STEPS, BLOCK_SIZES = (1, 2, 3, 4), (32, 64, 128, 256)
LENIENCIES = tuple(i / 10 for i in range(11))
ROUNDS = 100_000


def exact(value: float) -> Estimate:
    return Estimate(value, value, value, 50)


def traces(steps: int, problems: int = 50, tokens: int = 200, block_size: int = 256) -> Traces:
    """Random lossless rounds of the paper's calibration size: 50 problems, blocks of up to 256."""
    rng = np.random.default_rng(steps)
    generation, start, accepted = [], [], []
    for problem in range(problems):
        t = 0
        while t < tokens:
            a = int(min(rng.geometric(0.5 / (1 + 0.3 * steps)) - 1, tokens - t - 1))
            generation.append(problem), start.append(t), accepted.append(a)
            t += a + 1
    R, left = len(start), tokens - np.array(start)
    tv = np.minimum(rng.gamma(1.0, 0.3, (R, block_size)), 1.0)
    length = np.minimum(left, block_size)
    whole = np.full(R, block_size)
    seconds = np.full(R, 0.01)
    return Traces(
        Point(Effort(steps), "lossless", block_size),
        tv=tv, p_y=0.5 * (1 - tv), q_y=np.full_like(tv, 0.5), length=length, ended=length < block_size,
        requested=whole, start=np.array(start), context=np.array(start) + 50, accepted=np.array(accepted),
        emitted=np.array(accepted) + 1, forwards=np.full(R, steps), draft_s=seconds, verify_s=seconds,
        accept_s=seconds, generation=np.array(generation),
        problems=np.array([f"p{i}" for i in range(problems)], dtype=object),
    )  # fmt: skip


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    efforts = tuple(
        EffortProfile(K, None, *map(exact, (0.3, 0.3, 0.7, 0.7)), (0.3,) * 256, exact(3.0), float(K), exact(0.01 * K))
        for K in STEPS
    )
    costs = [exact(x) for x in (0.05, 0.001, 0.02, 0.04)]
    profile = Profile(
        "bench", "bench", 256, 512, efforts, None, costs[0], (), None, costs[1], 0.01, costs[2], costs[3], 50.0, 200.0
    )
    recorded = Recorded({(Effort(K), "lossless", 256): traces(K) for K in STEPS})
    return Evidence(profile, Costs.from_profile(profile), recorded)


def test_a_paper_size_grid_takes_seconds(evidence: Evidence) -> None:
    """4 efforts x 11 leniencies x 4 block sizes, 100,000 simulated rounds a point, in under 5 processor seconds.

    Of an idle machine: what shares its caches stretches processor time too.
    """
    grid = Grid.product(steps=STEPS, rules=[f"linear:{lam}" for lam in LENIENCIES], block_sizes=BLOCK_SIZES)
    fitted = Replay(rounds=ROUNDS).fit(evidence)
    wall, processor = time.perf_counter(), time.process_time()
    speeds = [fitted.at(point).throughput[0] for point in grid]
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"\n{len(grid)} points of {ROUNDS} rounds: {processor:.2f} processor seconds, {wall:.2f} of wall time")
    assert np.isfinite(speeds).all()
    assert processor < 5.0


@dataclass
class Loop:
    """The same simulation a round and a position at a time, as one would first write it.

    Look-ups are made ready beforehand, as lists and dictionaries, and are not timed.
    """

    recorded: Traces
    lam: float
    block_size: int

    def __post_init__(self) -> None:
        starts, owners = self.recorded.start.tolist(), self.recorded.generation.tolist()
        self.tv, self.exists = self.recorded.tv.tolist(), self.recorded.length.tolist()
        self.total = self.recorded.output_tokens.tolist()
        self.row_at = {key: row for row, key in enumerate(zip(owners, starts, strict=True))}
        self.place = {}
        for row, (g, s) in enumerate(zip(owners, starts, strict=True)):
            for k in range(min(int(self.recorded.accepted[row]) + 1, self.exists[row])):
                self.place[g, s + k] = 1 - (1 - self.lam) * self.tv[row][k]

    def run(self, round_s: Callable[[int, int], float], rounds: int) -> tuple[float, float]:
        """Processor seconds a round, and tokens a second of decoding.

        `round_s` gives the seconds of a round that verifies so many positions after so many tokens.
        """
        random.seed(0)
        tokens, seconds, g, t = 0, 0.0, 0, 0
        began = time.process_time()
        for _ in range(rounds):
            room = min(self.block_size, self.total[g] - t)
            accepted = self._accepted(g, t, room)
            seconds += round_s(room, t + 50)
            t += accepted + 1
            if t >= self.total[g]:
                tokens += self.total[g]
                g, t = (g + 1) % len(self.total), 0
        return (time.process_time() - began) / rounds, tokens / seconds

    def _accepted(self, g: int, t: int, room: int) -> int:
        row, base, accepted = self.row_at.get((g, t)), t, 0
        while accepted < room:
            if row is None:
                row, base = self.row_at.get((g, t + accepted)), t + accepted
            if row is None:
                alpha = self.place.get((g, t + accepted), 0.5)
            elif t + accepted - base < self.exists[row]:
                alpha = 1 - (1 - self.lam) * self.tv[row][t + accepted - base]
            else:
                break
            if random.random() > alpha:
                break
            accepted += 1
        return accepted


def test_a_hundred_times_faster_than_a_loop_and_linear_in_rounds(evidence: Evidence) -> None:
    recorded, costs, lam, size = traces(1), evidence.costs, 0.3, 64
    layout, leniency = Layout.of(recorded, size, 512), rates_by_run(Linear(lam), recorded)

    def simulate(rounds: int) -> tuple[float, float]:
        start, generator = time.process_time(), np.random.default_rng(0)
        line = Line.of(recorded, layout)
        walks = Walks.of(recorded, line, leniency, overshoot=False)
        slots = Slots.of(line, layout, size, layout.round_s(costs, Effort(1)))
        found = simulate_generations(walks, slots, rounds=rounds, generator=generator)
        seconds = time.process_time() - start
        return seconds / found.total_rounds, recorded.output_tokens.mean() / found.decode_s.mean()

    simulate(1000)  # warm-up
    mine, speed = simulate(ROUNDS)
    larger, _ = simulate(4 * ROUNDS)

    def asked(room: int, context: int) -> float:
        return float(costs.round_s(Effort(1), size, room, context))

    table = [asked(room, 50) for room in range(size + 1)]  # these costs don't depend on the context
    plain = Loop(recorded, lam, size)
    loop, reference = plain.run(asked, 3000)
    lean, _ = plain.run(lambda room, context: table[room], 3000)
    print(
        f"\n{mine * 1e9:.0f} ns a round, {larger * 1e9:.0f} at four times the rounds; loops {loop * 1e9:.0f} "
        f"({loop / mine:.0f} times) and, with costs looked up in a list, {lean * 1e9:.0f} ({lean / mine:.0f} times)"
    )
    assert speed == pytest.approx(reference, rel=0.1)  # the loop's 3,000 rounds are good to about 3 %
    assert larger < 1.5 * mine
    assert loop > 100 * mine
