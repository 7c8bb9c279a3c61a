"""Recorded rounds as padded arrays: what every predictor that reads rounds starts from.

A *generation* is one problem run once under one configuration; its rounds are contiguous rows. A round's trace holds
all positions that exist in the draft, accepted or not, along the draft's own prefix. It ends early for two
reasons, which differ in what follows when all of it is accepted: a drafted end token (nothing follows), or a cut at a
violation of the order condition (a token drawn from p follows).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.grid import Effort, Point, parse_rule, points_of, predictable
from specfrontier.theory.rules import AcceptanceRule, Lossless

__all__ = ["Recorded", "Traces"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Traces:
    """The traced rounds of one configuration, sorted by generation and round.

    Attributes:
        point: the configuration that was recorded.
        tv, p_y, q_y: ``[R, B]`` by position of the block; zero past ``length``.
        length: ``[R]`` positions that exist, 0..B.
        ended: ``[R]`` whether the last of them is a drafted end token, so that no token follows it.
        requested: ``[R]`` block size asked of the drafter (less than B where the token limit was near).
        start: ``[R]`` output tokens before the round.
        context: ``[R]`` tokens before the block, prompt included.
        accepted, emitted, forwards: ``[R]`` as recorded.
        draft_s, verify_s, accept_s: ``[R]`` seconds as recorded.
        generation: ``[R]`` index of the round's generation, 0..G-1, non-decreasing.
        problems: ``[G]`` the problem of each generation.
    """

    point: Point
    tv: FloatArray
    p_y: FloatArray
    q_y: FloatArray
    length: IntArray
    ended: NDArray[np.bool_]
    requested: IntArray
    start: IntArray
    context: IntArray
    accepted: IntArray
    emitted: IntArray
    forwards: IntArray
    draft_s: FloatArray
    verify_s: FloatArray
    accept_s: FloatArray
    generation: IntArray
    problems: NDArray[np.object_]

    @property
    def rounds(self) -> int:
        """R."""
        return self.tv.shape[0]

    @property
    def block_size(self) -> int:
        """B, the longest block on record."""
        return self.tv.shape[1]

    @cached_property
    def first(self) -> IntArray:
        """``[G]``: row of each generation's first round."""
        return np.searchsorted(self.generation, np.arange(len(self.problems)))

    @cached_property
    def output_tokens(self) -> IntArray:
        """``[G]``: tokens that each generation emitted."""
        return np.add.reduceat(self.emitted, self.first)

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        """``[R, B]``: whether the position exists."""
        return np.arange(self.block_size) < self.length[:, None]

    @cached_property
    def strict(self) -> FloatArray:
        """``[R, B]``: min(1, p(y)/q(y)), the probability of accepting each drafted token losslessly."""
        return np.where(self.exists, Lossless().acceptance_at(self.p_y, self.q_y), 0.0)

    @cached_property
    def recorded_survival(self) -> FloatArray:
        """``[R, B]``: probability of accepting the first n tokens as drawn, under the rule of the recording.

        A rule that decides on whole rows counts as accepting nothing, as its rates at the drawn tokens are unknown.
        """
        rule = parse_rule(self.point.rule)
        if not rule.pointwise:
            return np.zeros_like(self.strict)
        keep = np.where(self.exists, rule.acceptance_at(self.p_y, self.q_y), 0.0)
        return np.asarray(np.cumprod(keep, axis=1), dtype=np.float64)

    def by_generation(self, values: FloatArray) -> FloatArray:
        """Sum ``[..., R]`` over the rounds of each generation, ``[..., G]``."""
        return np.add.reduceat(values, self.first, axis=-1)

    def of_problems(self, names: set[str]) -> Traces:
        """The generations of these problems."""
        kept = np.isin(self.problems.astype(str), list(names))
        if kept.all():
            return self
        rows = kept[self.generation]
        sizes = {
            entry.name: getattr(self, entry.name)[rows]
            for entry in fields(self)
            if entry.name not in ("point", "generation", "problems")
        }
        number = np.cumsum(kept) - 1
        return replace(self, **sizes, generation=number[self.generation[rows]], problems=self.problems[kept])

    @classmethod
    def from_rounds(cls, point: Point, rounds: pd.DataFrame) -> Traces:
        """Build from the rows of the rounds table that belong to one configuration (any number of seeds)."""
        table = rounds[rounds["tv"].notna()].sort_values(["config", "problem", "round"], kind="stable")
        if table.empty:
            raise InputError(f"the rounds of {point.label} hold no traces; record them with traces switched on")
        verified, drafted = _ints(table["verified"]), _ints(table["drafted"])
        requested, context = _ints(table["requested"]), _ints(table["context"])
        length = np.array([len(values) for values in table["tv"]], dtype=np.int64)
        if np.any(length != verified):
            row = int(np.flatnonzero(length != verified)[0])
            raise InputError(
                f"a round of {point.label} has {length[row]} traced positions but {verified[row]} verified ones; "
                "record the rounds again"
            )
        keys = pd.MultiIndex.from_frame(table[["config", "problem"]])
        generation, unique = pd.factorize(keys)
        first = np.searchsorted(generation, np.arange(len(unique)))
        width = max(int(requested.max()), 1)
        return cls(
            point=point,
            tv=_sound(point, "tv", _padded(table["tv"], width)),
            p_y=_sound(point, "p_y", _padded(table["p_y"], width)),
            q_y=_sound(point, "q_y", _padded(table["q_y"], width)),
            length=length,
            ended=(drafted < requested) & (verified == drafted),
            requested=requested,
            start=context - context[first][generation],
            context=context,
            accepted=_ints(table["accepted"]),
            emitted=_ints(table["emitted"]),
            forwards=_ints(table["forwards"]),
            draft_s=_sound(point, "draft_s", _floats(table["draft_s"])),
            verify_s=_sound(point, "verify_s", _floats(table["verify_s"])),
            accept_s=_sound(point, "accept_s", _floats(table["accept_s"])),
            generation=generation.astype(np.int64),
            problems=np.array([problem for _, problem in unique], dtype=object),
        )


@dataclass(frozen=True)
class Recorded:
    """Every traced configuration on record, by (effort, rule, B); seeds of one configuration are pooled."""

    traces: Mapping[tuple[Effort, str, int], Traces]

    @classmethod
    def from_tables(cls, rounds: pd.DataFrame, configurations: pd.DataFrame) -> Recorded:
        """Join the rounds table with the table that says what each `config` key stands for.

        Args:
            rounds: columns of ``specfrontier.schema.ROUNDS``.
            configurations: any table with config, steps, threshold, rule and block_size (configurations or
                measurements). Configurations without rounds are passed over, and those with rules by position. Where it
                states `verification`, exact ones, whose drafts are cut, count only if there are no others.

        Raises:
            InputError: if a round's configuration is unknown, or no round is left.
        """
        known = configurations[configurations["config"].isin(rounds["config"].unique())]
        known = predictable(known)
        point_of = {
            config: point
            for config, point in zip(known["config"], points_of(known), strict=True)
            if isinstance(point.leniency, AcceptanceRule)
        }
        unknown = set(rounds["config"]) - set(configurations["config"])
        if unknown:
            raise InputError(
                f"{len(unknown)} configurations of the rounds, such as {sorted(unknown)[0]}, are not in the "
                "configurations table; give the table that was written with the rounds"
            )
        groups: dict[tuple[Effort, str, int], tuple[Point, list[str]]] = {}
        for config, point in point_of.items():
            groups.setdefault(point.key, (point, []))[1].append(config)
        traces = {}
        for key, (point, configs) in groups.items():
            own = rounds[rounds["config"].isin(configs)]
            if own["tv"].notna().any():
                traces[key] = Traces.from_rounds(point, own)
        if not traces:
            raise InputError(
                "the rounds table holds no traced speculative round; record rounds with traces switched on"
            )
        return cls(traces)

    def efforts(self) -> tuple[Effort, ...]:
        """Efforts on record."""
        return tuple(dict.fromkeys(effort for effort, _, _ in self.traces))

    def lossless(self, effort: Effort, block_size: int) -> Traces:
        """The traces at zero leniency from the shortest recorded block that is long enough.

        Raises:
            InputError: if there are none.
        """
        return self.at(effort, "lossless", block_size)

    def at(self, effort: Effort, rule: str, block_size: int) -> Traces:
        """As `lossless`, for any recorded rule."""
        sizes = sorted(b for e, r, b in self.traces if (e, r) == (effort, rule))
        long_enough = [b for b in sizes if b >= block_size]
        if not long_enough:
            have = f"only B = {', '.join(map(str, sizes))}" if sizes else "none at all"
            raise InputError(
                f"no {rule} rounds of {effort.label} with blocks of at least {block_size} are on record ({have}); "
                "profile that effort and block size, or ask for a smaller one"
            )
        return self.traces[effort, rule, long_enough[0]]

    def anchors(self, effort: Effort, block_size: int) -> tuple[Traces, ...]:
        """Traces of every recorded pointwise rule at this effort with blocks that are long enough.

        Of the problems that all of them have: what differs between them is then the rule, and not the problems.

        Raises:
            InputError: if they have no problem in common.
        """
        rules = dict.fromkeys(r for e, r, b in self.traces if e == effort and b >= block_size)
        found = [self.at(effort, rule, block_size) for rule in rules if parse_rule(rule).pointwise]
        if not found:
            return ()
        common = set.intersection(*(set(traces.problems) for traces in found))
        if not common:
            raise InputError(
                f"the rules recorded at {effort.label} have no problem in common; record them on the same problems"
            )
        return tuple(traces.of_problems(common) for traces in found)


def _padded(column: pd.Series, width: int) -> FloatArray:
    lengths = np.array([len(values) for values in column], dtype=np.int64)
    out = np.zeros((len(lengths), width))
    if lengths.sum():
        out[np.arange(width) < lengths[:, None]] = np.concatenate([np.asarray(v, dtype=np.float64) for v in column])
    return out


def _sound(point: Point, name: str, values: FloatArray) -> FloatArray:
    """`values`, if all are finite and none is negative, as probabilities and seconds are."""
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if len(wrong):
        raise InputError(
            f"a round of {point.label} has {name} = {wrong[0]:g}; it must be >= 0: record the rounds again"
        )
    return values


def _ints(column: pd.Series) -> IntArray:
    return column.to_numpy(dtype=np.int64)


def _floats(column: pd.Series) -> FloatArray:
    return column.to_numpy(dtype=np.float64)
