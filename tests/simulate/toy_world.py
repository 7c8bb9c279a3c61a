"""A tiny pair whose laws are known, decoded by Algorithm 1 itself: ground truth for the predictors.

A text of problem i is a string over {0, 1} closed by the end token 2 at a length of its own. The verifier's law of a
token depends on the problem, the place in the text and the token before; the drafter's is that law, pushed towards one
side by a distance that grows with the depth in the block, varies with the place (hard spots), with the round (a common
factor) and with the token before (`drift`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specfrontier.profile import EffortProfile, Estimate, Profile, VerifyCost
from specfrontier.theory.rules.schedule import as_schedule, leniency_from_spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

END = 2
DRAFT_S, FORWARD_S, VERIFY_S, TOKEN_S, CONTEXT_S, HOST_S, PREFILL_S = 1e-3, 2e-3, 6e-3, 1e-4, 1e-5, 5e-4, 4e-3


@dataclass(frozen=True)
class World:
    """Strengths of the effects that predictors differ in.

    Args:
        problems: how many.
        distance: mean total variation at depth 1 for K = 1; it falls as 1 / sqrt(K).
        depth: relative growth of the distance per position of depth.
        place: spread of the distance over places in the text.
        common: spread of the distance over rounds.
        drift: how much further apart the laws are after token 1, which the drafter prefers.
        early_end: the drafter's probability of a wrong end token at every place.
        shortest, longest: range of text lengths, the end token included.
        seed: of the problems.
    """

    problems: int = 60
    distance: float = 0.25
    depth: float = 0.0
    place: float = 0.0
    common: float = 0.0
    drift: float = 0.0
    early_end: float = 0.0
    shortest: int = 20
    longest: int = 40
    limit: int = 64
    seed: int = 0

    @cached_property
    def lengths(self) -> Ints:
        return np.random.default_rng([self.seed, 1]).integers(self.shortest, self.longest + 1, self.problems)

    @cached_property
    def spots(self) -> Floats:
        """Hardness by problem and place, log-normal with mean 1; neighbours share it in runs of three."""
        normal = np.random.default_rng([self.seed, 2]).standard_normal((self.problems, self.limit // 3 + 2))
        spots: Floats = np.repeat(np.exp(self.place * normal - self.place**2 / 2), 3, axis=1)
        return spots

    @cached_property
    def bases(self) -> Floats:
        """The verifier's probability of token 0, by problem and place."""
        return np.random.default_rng([self.seed, 3]).uniform(0.35, 0.9, (self.problems, self.limit + 3))


@dataclass(frozen=True)
class Decoder:
    """Algorithm 1 in a world, for one configuration: all problems in step, a round at a time."""

    world: World
    steps: int
    rule: str
    block_size: int

    @property
    def name(self) -> str:
        return f"{self.steps}-{self.rule}-{self.block_size}"

    def run(self, seed: int = 0, config: str | None = None, copies: int = 1) -> pd.DataFrame:
        """The rounds table of every problem decoded once (or `copies` times, as problems of their own)."""
        w = self.world
        rng = np.random.default_rng([seed, self.steps, self.block_size, zlib.crc32(self.rule.encode())])
        problem = np.tile(np.arange(w.problems), copies)
        place, before = np.zeros(len(problem), dtype=np.int64), np.zeros(len(problem), dtype=np.int64)
        alive, rows, index = np.arange(len(problem)), [], 0
        while len(alive):
            block = self._round(problem[alive], place[alive], before[alive], rng)
            block |= {"chain": alive, "round": np.full(len(alive), index), "problem": problem[alive]}
            block["context"] = 10 + problem[alive] % 5 + place[alive]
            rows.append(pd.DataFrame({name: list(values) for name, values in block.items()}))
            place[alive] += block["emitted"]
            before[alive] = block["last"]
            alive = alive[(block["last"] != END) & (place[alive] < w.limit)]
            index += 1
        return self._table(pd.concat(rows, ignore_index=True), config or self.name)

    def _table(self, table: pd.DataFrame, config: str) -> pd.DataFrame:
        table = table.sort_values(["chain", "round"], kind="stable", ignore_index=True)
        copy = table["chain"] // self.world.problems
        suffix = np.where(copy > 0, "-" + copy.astype(str), "")
        return table.assign(
            config=config + pd.Series(suffix),
            problem=[f"p{i:03d}" for i in table["problem"]],
            forwards=self.steps,
            draft_s=DRAFT_S + FORWARD_S * self.steps,
            verify_s=VERIFY_S + TOKEN_S * table["verified"] + CONTEXT_S * table["context"],
            accept_s=HOST_S,
        ).drop(columns=["chain", "last"])

    def _laws(self, problem: Ints, place: Ints, depth: int, before: Ints, factor: Floats) -> tuple[Floats, Floats]:
        """p and q [n, 3] of the tokens at `place` (0 first), at `depth` (1 first) of their blocks."""
        w = self.world
        base = w.bases[problem, np.minimum(place, w.bases.shape[1] - 1)]
        spot = w.spots[problem, np.minimum(place, w.spots.shape[1] - 1)]
        distance = w.distance / np.sqrt(self.steps) * (1 + w.depth * (depth - 1)) * factor
        distance = np.minimum(distance * spot * (1 + w.drift * (before == 1)), 0.95 * base)
        zero = np.zeros(len(base))
        p = np.stack([base, 1 - base, zero], axis=-1)
        q = np.stack([base - distance, 1 - base + distance, zero], axis=-1) * (1 - w.early_end)
        q[:, END] += w.early_end
        last = place >= w.lengths[problem] - 1
        p[last], q[last] = (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)
        return p, q

    def _round(self, problem: Ints, place: Ints, before: Ints, rng: np.random.Generator) -> dict[str, Any]:
        w, schedule, n = self.world, as_schedule(leniency_from_spec(self.rule)), len(problem)
        rules = [schedule.rule_at(k) for k in range(self.block_size)]
        requested = np.minimum(self.block_size, w.limit - place)
        factor = np.exp(w.common * rng.standard_normal(n) - w.common**2 / 2)
        P, Q = np.zeros((2, n, self.block_size + 1, 3))
        Y = np.zeros((n, self.block_size + 1), dtype=np.int64)
        token = before
        for k in range(self.block_size + 1):  # the last one holds p of the bonus token
            P[:, k], Q[:, k] = self._laws(problem, place + k, k + 1, token, factor)
            token = Y[:, k] = draw(Q[:, k], rng)
        B = self.block_size
        ends = np.where((Y[:, :B] == END).any(axis=1), (Y[:, :B] == END).argmax(axis=1) + 1, B)
        drafted = np.minimum(ends, requested)
        exists = np.arange(B) < drafted[:, None]
        keep = by_position([r.acceptance_of(P[:, k], Q[:, k], Y[:, k]) for k, r in enumerate(rules)])
        stops = (rng.random((n, B)) > keep) | ~exists
        accepted = np.where(stops.any(axis=1), stops.argmax(axis=1), B)
        row = np.arange(n)
        at = np.minimum(accepted, B - 1)
        residual = by_position([r.residual(P[:, k], Q[:, k], Y[:, k]) for k, r in enumerate(rules)])[row, at]
        follows = draw(np.where((accepted < drafted)[:, None], residual, P[row, accepted]), rng)
        last_kept = Y[row, np.maximum(accepted - 1, 0)]
        ended = (accepted > 0) & (last_kept == END)
        emitted = np.minimum(accepted + ~ended, w.limit - place)
        law = by_position([r.output_law(P[:, k], Q[:, k]) for k, r in enumerate(rules)])

        def cut(values: Floats) -> list[Floats]:
            return [v[:m] for v, m in zip(values, drafted, strict=True)]

        return {
            "requested": requested,
            "drafted": drafted,
            "verified": drafted,
            "accepted": accepted,
            "emitted": emitted,
            "last": np.where(ended, END, follows),
            "tv": cut(0.5 * np.abs(P - Q)[:, :B].sum(-1)),
            "p_y": cut(np.take_along_axis(P, Y[..., None], -1)[:, :B, 0]),
            "q_y": cut(np.take_along_axis(Q, Y[..., None], -1)[:, :B, 0]),
            "acceptance": cut(by_position([r.acceptance_rate(P[:, k], Q[:, k]) for k, r in enumerate(rules)])),
            "deviation": cut(0.5 * np.abs(law - P[:, :B]).sum(-1)),
        }


def by_position(values: list[Floats]) -> Floats:
    """``[B]`` arrays ``[n, ...]`` as one ``[n, B, ...]``."""
    return np.stack(values, axis=1)


def draw(laws: Floats, rng: np.random.Generator) -> Ints:
    """One token a row of [n, 3]."""
    drawn: Ints = (rng.random(len(laws))[:, None] > np.cumsum(laws, axis=1)).sum(axis=1)
    return drawn


def measure(decoder: Decoder, seeds: int, first_seed: int = 1000) -> pd.DataFrame:
    """A measurements row from `seeds` decodings, fresh ones."""
    rounds = decoder.run(first_seed, copies=seeds).assign(
        seconds=lambda t: t["draft_s"] + t["verify_s"] + t["accept_s"]
    )
    visited = np.minimum(rounds["accepted"] + 1, rounds["verified"])
    deviation = [float(np.sum(d[:v])) for d, v in zip(rounds["deviation"], visited, strict=True)]
    sums = rounds.groupby("config")[["emitted", "seconds"]].sum()
    per_seed = sums["emitted"] / sums["seconds"]
    value = {
        "throughput": rounds["emitted"].sum() / rounds["seconds"].sum(),
        "latency": PREFILL_S + rounds["seconds"].sum() / (seeds * decoder.world.problems),
        "tokens_per_round": rounds["emitted"].sum() / len(rounds),
        "acceptance": rounds["accepted"].sum() / visited.sum(),
        "agreement": 1 - sum(deviation) / visited.sum(),
        "accuracy": np.nan,
    }
    error = np.std(per_seed, ddof=1) / np.sqrt(seeds) / value["throughput"] if seeds > 1 else 0.01
    row = {"config": decoder.name, "pair": "toy", "task": "toy", "mode": "speculative", "threshold": np.nan}
    row |= {"steps": decoder.steps, "rule": decoder.rule, "block_size": decoder.block_size}
    for name, x in value.items():
        row |= {
            name: x,
            f"{name}_se": abs(x) * error,
            f"{name}_low": x * (1 - 2 * error),
            f"{name}_high": x * (1 + 2 * error),
        }
    return pd.DataFrame([row | {"n": decoder.world.problems}])


@dataclass(frozen=True)
class Study:
    """A profile of a world with the tables that it was measured on."""

    profile: Profile
    rounds: pd.DataFrame
    configurations: pd.DataFrame


def study(
    world: World,
    steps: tuple[int, ...] = (1, 4),
    block_size: int = 16,
    rules: tuple[str, ...] = ("lossless",),
    seeds: int = 1,
) -> Study:
    """Record `rules` at every K, and profile the lossless ones."""
    tables, configurations, efforts = [], [], []
    for K in steps:
        for rule in rules:
            decoder = Decoder(world, K, rule, block_size)
            for seed in range(seeds):
                config = f"{decoder.name}-{seed}"
                tables.append(decoder.run(seed, config))
                configurations.append(
                    {
                        "config": config,
                        "mode": "speculative",
                        "steps": K,
                        "threshold": np.nan,
                        "rule": rule,
                        "block_size": block_size,
                    }
                )
        lossless = pd.concat(
            [t for t, c in zip(tables, configurations, strict=True) if c["rule"] == "lossless" and c["steps"] == K]
        )
        efforts.append(_effort(K, lossless, block_size))
    return Study(
        _profile(world, tuple(efforts), block_size), pd.concat(tables, ignore_index=True), pd.DataFrame(configurations)
    )


def _effort(K: int, rounds: pd.DataFrame, block_size: int) -> EffortProfile:
    by_position: list[list[float]] = [[] for _ in range(block_size)]
    for tv, accepted, verified in zip(rounds["tv"], rounds["accepted"], rounds["verified"], strict=True):
        for k in range(min(accepted + 1, verified)):
            by_position[k].append(tv[k])
    visited = np.concatenate([np.array(v) for v in by_position])
    means, last = [], float(visited.mean())
    for values in by_position:
        last = float(np.mean(values)) if values else last
        means.append(last)
    d = float(visited.mean())
    half = 1.96 * float(visited.std()) / np.sqrt(len(visited) / 4)
    exact = _exact
    return EffortProfile(
        steps=K,
        threshold=None,
        d_visited=Estimate(d, d - half, d + half, 10),
        d_block=exact(float(np.concatenate(list(rounds["tv"])).mean())),
        acceptance=exact(1 - d),
        acceptance_rb=exact(1 - d),
        tv_by_position=tuple(means),
        tokens_per_round=exact(rounds["emitted"].sum() / len(rounds)),
        forwards=float(K),
        draft_s=exact(DRAFT_S + FORWARD_S * K),
    )


def _profile(world: World, efforts: tuple[EffortProfile, ...], block_size: int) -> Profile:
    nodes = tuple(
        VerifyCost(b, c, _exact(VERIFY_S + TOKEN_S * b + CONTEXT_S * c)) for b in (1, block_size) for c in (0, 100)
    )
    return Profile(
        pair="toy",
        task="toy",
        block_size=block_size,
        max_new_tokens=world.limit,
        efforts=efforts,
        draft_cost=None,
        verify_cost=_exact(VERIFY_S + TOKEN_S * block_size + CONTEXT_S * 25),
        verify_costs=nodes,
        verify_cost_fit=None,
        host_s=_exact(HOST_S),
        host_share=0.05,
        prefill_s=_exact(PREFILL_S),
        autoregressive_s=_exact(VERIFY_S),
        prompt_tokens=12.0,
        output_tokens=float(world.lengths.mean()),
    )


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value, 1)


def variant(world: World, **changes: float) -> World:
    """The world with some effects changed."""
    return replace(world, **changes)  # type: ignore[arg-type]
