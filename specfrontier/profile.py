"""A profile: what was measured of a pair once, and everything that predictions start from.

Saved as JSON beside the table of the rounds that it was measured on.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from specfrontier.errors import InputError
from specfrontier.schema import SCHEMA_VERSION


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
        host_s: seconds of a round outside the models' forwards (acceptance, bookkeeping).
        host_share: their share of a round.
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
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Profile:
        """Read what `save` wrote; InputError if it is damaged or newer than this version."""
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
            if table["schema_version"] > SCHEMA_VERSION:
                raise InputError(
                    f"{path} has schema version {table['schema_version']}, this release reads up to {SCHEMA_VERSION}; "
                    "upgrade specfrontier"
                )
            return _profile(table)
        except FileNotFoundError as error:
            raise InputError(f"no profile at {path}; make one with `specfrontier profile`") from error
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{path} is not a profile ({error}); make one with `specfrontier profile`") from error


def _estimate(table: dict[str, Any]) -> Estimate:
    return Estimate(**table)


def _line(table: dict[str, Any] | None) -> LineFit | None:
    if table is None:
        return None
    return LineFit(_estimate(table["intercept"]), _estimate(table["slope"]), table["r_squared"])


def _effort(table: dict[str, Any]) -> EffortProfile:
    estimates = ("d_visited", "d_block", "acceptance", "acceptance_rb", "tokens_per_round", "draft_s")
    values = {name: _estimate(table[name]) for name in estimates}
    return EffortProfile(**{**table, **values, "tv_by_position": tuple(table["tv_by_position"])})


def _profile(table: dict[str, Any]) -> Profile:
    estimates = ("verify_cost", "host_s", "prefill_s", "autoregressive_s")
    return Profile(
        **{
            **table,
            **{name: _estimate(table[name]) for name in estimates},
            "efforts": tuple(_effort(e) for e in table["efforts"]),
            "draft_cost": _line(table["draft_cost"]),
            "verify_cost_fit": _line(table["verify_cost_fit"]),
            "verify_costs": tuple(
                VerifyCost(v["block_size"], v["context"], _estimate(v["seconds"])) for v in table["verify_costs"]
            ),
        }
    )
