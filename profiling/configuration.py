"""One cell of a sweep: every setting that a measurement depends on, and the key that names it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from specfrontier.decoding import Effort, Settings
from specfrontier.errors import InputError, first_line
from specfrontier.profiling.ranges import check_integer, check_seed
from specfrontier.theory.rules import Leniency, leniency_from_spec

Mode = Literal["speculative", "autoregressive", "drafter", "assisted"]
MODES: tuple[Mode, ...] = get_args(Mode)
KEY_LENGTH = 16


def parse_rule(spec: str) -> Leniency:
    """The rule of a spec such as `linear:0.3`, or the schedule of one such as `linear:1.0@1-3/lossless`.

    Raises:
        InputError: if it is neither.
    """
    try:
        return leniency_from_spec(spec)
    except ValueError as error:
        raise InputError(first_line(error)) from error


@dataclass(frozen=True)
class Configuration:
    """Settings of one measurement.

    Attributes:
        pair, task: names.
        mode: `speculative` (Algorithm 1), `autoregressive` (verifier alone), `drafter` (drafter alone), or
            `assisted` (transformers' own assisted generation with an autoregressive drafter).
        max_new_tokens: token limit, >= 1. No size is above `decoding.config_table.MOST`.
        steps, threshold: diffusion effort; both None where nothing is drafted.
        rule: spec of the acceptance rule or of a schedule of rules, or None where nothing is verified.
        block_size: B >= 1, or None where nothing is drafted.
        verification: `paper` or `exact`, or None where nothing is verified.
        seed: in [0, 2^63); a problem's own seed derives from it.

    Raises:
        InputError: if a dial is out of range, or missing in its mode.
    """

    pair: str
    task: str
    mode: Mode
    max_new_tokens: int
    steps: int | None = None
    threshold: float | None = None
    rule: str | None = None
    block_size: int | None = None
    verification: Literal["paper", "exact"] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"mode is {self.mode!r}; choose one of {', '.join(MODES)}")
        if self.rule is not None:
            # linear:0.20 and linear:0.2 are one configuration.
            object.__setattr__(self, "rule", parse_rule(self.rule).spec)
        if self.mode != "autoregressive":
            self.settings(0)
        check_seed(self.seed)
        sizes = {"max_new_tokens": self.max_new_tokens, "steps (K)": self.steps, "block_size (B)": self.block_size}
        for name, size in sizes.items():
            if size is not None:
                check_integer(size, name)

    @cached_property
    def key(self) -> str:
        """Digest of every setting: equal settings have equal keys on every machine."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]

    @property
    def label(self) -> str:
        """For people: `K=2 linear:0.4 B=32`."""
        if self.mode == "autoregressive":
            return "verifier alone"
        effort = Effort(self.steps, self.threshold).label
        parts = [effort, self.rule or "", f"B={self.block_size}"]
        if self.mode != "speculative":
            parts.insert(0, "drafter alone" if self.mode == "drafter" else "assisted")
        if self.verification == "exact":
            parts.append("exact")
        return " ".join(part for part in parts if part)

    def problem_seed(self, problem: str) -> int:
        """Seed of one problem, in [0, 2^63): the same for every configuration of one seed, so that
        configurations are compared on common random numbers."""
        digest = hashlib.sha256(f"{self.seed}:{problem}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def settings(self, seed: int, trace: bool = False) -> Settings:
        """The decoder's settings, with a problem's seed."""
        if self.block_size is None:
            raise InputError(f"mode {self.mode} needs a block size B; give an integer >= 1")
        return Settings(
            effort=Effort(self.steps, self.threshold),
            rule=parse_rule(self.rule or "lossless"),
            block_size=self.block_size,
            max_new_tokens=self.max_new_tokens,
            seed=seed,
            verification=self.verification or "paper",
            trace=trace,
        )

    def row(self) -> dict[str, Any]:
        """Its columns of the configurations table."""
        return {"config": self.key, **asdict(self)}
