"""A profile: what was measured of a pair once, and everything that predictions start from.

Saved as JSON beside the table of the rounds that it was measured on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specfrontier.errors import InputError
from specfrontier.schema import SCHEMA_VERSION
from specfrontier.strict_json import DamageError, read_as, read_object, write_record

REMEDY = "make one with `specfrontier profile`"
ROUNDING = 1e-6
"""How far a mean of float32 distances may lie outside [0, 1]."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; `n` says from how many prompts (or rounds)."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class LineFit:
    """A straight line by least squares, `intercept + slope * x`, with 95 % intervals and R²."""

    intercept: Estimate
    slope: Estimate
    r_squared: float

    def at(self, x: float) -> float:
        """The fitted value at x."""
        return self.intercept.value + self.slope.value * x


@dataclass(frozen=True)
class EffortProfile:
    """What one diffusion effort was measured to do, at zero leniency.

    Attributes:
        steps, threshold: the effort (one of the two is None).
        d_visited: d_K over visited positions (accepted prefix and first rejection) of lossless runs.
        d_block: d_K over all block positions, on the draft's own prefix.
        acceptance: accepted over visited positions, as counted; `acceptance_rb` from acceptance rates.
        tv_by_position: mean TV at positions 1, 2, ..., over rounds that visited them.
        tokens_per_round: emitted tokens a round.
        forwards: mean drafter forwards a round.
        draft_s: seconds of a draft (median and spread as an interval of the middle 95 %).
        host_share: share of a round that is no model's forward, as timed inside a few generations; NaN if unknown.
    """

    steps: int | None
    threshold: float | None
    d_visited: Estimate
    d_block: Estimate
    acceptance: Estimate
    acceptance_rb: Estimate
    tv_by_position: tuple[float, ...]
    tokens_per_round: Estimate
    forwards: float
    draft_s: Estimate
    host_share: float = math.nan


@dataclass(frozen=True)
class VerifyCost:
    """Seconds of one verifier forward over `block_size` drafted tokens plus one, after `context` tokens."""

    block_size: int
    context: int
    seconds: Estimate


@dataclass(frozen=True)
class Profile:
    """A pair on a machine.

    Attributes:
        pair, task: names.
        block_size: B of the draft costs and distances.
        max_new_tokens: token limit of the runs.
        efforts: one entry an effort.
        draft_cost: c_d(K) = a + bK over fixed-K efforts, None if there are fewer than two.
        verify_cost: the constant c_v that the paper uses: verify seconds a round at this block size.
        verify_costs: c_v by block size and context.
        verify_cost_fit: verify seconds as intercept + slope * tokens fed.
        host_s: seconds of a round after draft and verification: acceptance and bookkeeping.
        host_share: share of a round that is no model's forward, drawing the draft's tokens included: mean over efforts,
            NaN if unknown. (In files whose efforts state none, it is the share of `host_s` alone.)
        prefill_s: seconds of prefill at the prompts' mean length.
        autoregressive_s: seconds a token of the verifier alone.
        prompt_tokens, output_tokens: mean lengths of the lossless runs.
        provenance: seed, versions, machine, pair file, settings.
        random_weights: whether the models had random weights, so that it holds costs and no distances (they are NaN).
    """

    pair: str
    task: str
    block_size: int
    max_new_tokens: int
    efforts: tuple[EffortProfile, ...]
    draft_cost: LineFit | None
    verify_cost: Estimate
    verify_costs: tuple[VerifyCost, ...]
    verify_cost_fit: LineFit | None
    host_s: Estimate
    host_share: float
    prefill_s: Estimate
    autoregressive_s: Estimate
    prompt_tokens: float
    output_tokens: float
    provenance: dict[str, Any] = field(default_factory=dict)
    random_weights: bool = False
    schema_version: int = SCHEMA_VERSION

    def require_distances(self) -> None:
        """Raise InputError if there is no d_K to predict or compare from."""
        if self.random_weights:
            raise InputError(
                f"the profile of {self.pair} holds costs and no d_K, so that nothing can be predicted from it; "
                "profile the pair without --random-weights"
            )

    def save(self, path: Path) -> None:
        """Write as strict JSON, atomically; NaN becomes null."""
        write_record(path, self)

    @classmethod
    def load(cls, path: Path) -> Profile:
        """Read what `save` wrote; InputError naming the field if it is damaged, or newer than this version."""
        try:
            table = read_object(path)
            version = read_as(int, table.get("schema_version"), "schema_version")
            if version > SCHEMA_VERSION:
                raise InputError(
                    f"{path} has schema version {version}, this release reads up to {SCHEMA_VERSION}; "
                    "upgrade specfrontier"
                )
            profile: Profile = read_as(cls, table)
            profile._check()
        except FileNotFoundError as error:
            raise InputError(f"no profile at {path}; {REMEDY}") from error
        except OSError as error:
            raise InputError(f"cannot read {path} ({error.strerror}); {REMEDY}") from error
        except DamageError as error:
            raise InputError(f"{path} is not a profile ({error}); {REMEDY}") from error
        return profile

    def _check(self) -> None:
        """Raise DamageError at the first quantity that no measurement gives and that predictions would stumble over."""
        for name, entries in (("efforts", self.efforts), ("verify_costs", self.verify_costs)):
            if not entries:
                raise DamageError(f"{name} is empty")
        for name, value, (low, high) in self._quantities():
            if not low <= value <= high:
                raise DamageError(f"{name} is {value}, outside [{low:g}, {high:g}]")
        for name, share in self._shares():
            if not (math.isnan(share) or -ROUNDING <= share <= 1 + ROUNDING):
                raise DamageError(f"{name} is {share}, outside [0, 1]")

    def _quantities(self) -> Iterator[tuple[str, float, tuple[float, float]]]:
        """Name, value and range of all that must be known."""
        count, amount, anything = (1.0, math.inf), (0.0, math.inf), (-math.inf, math.inf)
        yield "schema_version", self.schema_version, count
        yield "block_size", self.block_size, count
        yield "max_new_tokens", self.max_new_tokens, count
        for i, effort in enumerate(self.efforts):
            yield f"efforts[{i}].forwards", effort.forwards, amount
            yield f"efforts[{i}].draft_s.value", effort.draft_s.value, amount
            if effort.steps is not None or effort.threshold is None:
                yield f"efforts[{i}].steps", effort.steps or 0, count
            if effort.threshold is not None:
                yield f"efforts[{i}].threshold", effort.threshold, (math.ulp(0.0), 1.0)
        for i, node in enumerate(self.verify_costs):
            yield f"verify_costs[{i}].block_size", node.block_size, amount
            yield f"verify_costs[{i}].context", node.context, amount
            yield f"verify_costs[{i}].seconds.value", node.seconds.value, amount
        for name in ("verify_cost", "host_s", "prefill_s", "autoregressive_s"):
            yield f"{name}.value", getattr(self, name).value, amount
        for name in ("draft_cost", "verify_cost_fit"):
            line: LineFit | None = getattr(self, name)
            if line is not None:
                yield f"{name}.intercept.value", line.intercept.value, anything
                yield f"{name}.slope.value", line.slope.value, anything
        yield "prompt_tokens", self.prompt_tokens, amount
        if not self.random_weights:
            yield "output_tokens", self.output_tokens, amount

    def _shares(self) -> Iterator[tuple[str, float]]:
        """Name and value of all that is a fraction, if it is known."""
        yield "host_share", self.host_share
        for i, effort in enumerate(self.efforts):
            yield f"efforts[{i}].host_share", effort.host_share
            for name in ("d_visited", "d_block", "acceptance", "acceptance_rb"):
                yield f"efforts[{i}].{name}.value", getattr(effort, name).value
            for k, distance in enumerate(effort.tv_by_position):
                yield f"efforts[{i}].tv_by_position[{k}]", distance
