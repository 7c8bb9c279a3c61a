"""The cells of a sweep: from efforts, rules, block sizes and seeds to configurations, from flags or a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from specfrontier.decoding import PairFile
from specfrontier.decoding.config_table import MOST, ConfigTable
from specfrontier.errors import InputError
from specfrontier.profiling.configuration import MODES, Configuration, Mode, parse_rule
from specfrontier.profiling.ranges import MOST_SEED
from specfrontier.theory.rules import Linear


@dataclass(frozen=True)
class SweepGrid:
    """What a sweep covers: the product of its entries.

    Attributes:
        steps, thresholds: diffusion efforts, K and tau; their union is covered.
        rules: specs of acceptance rules, or of schedules of them by position.
        rules_by_steps: further rules at some K only.
        block_sizes: B.
        seeds: independent repetitions.
        verifications: `paper`, `exact` or both.
        modes: of `configuration.MODES`; each takes from the other entries those that it has a use for.
        max_new_tokens: token limit.
    """

    steps: tuple[int, ...]
    thresholds: tuple[float, ...]
    rules: tuple[str, ...]
    block_sizes: tuple[int, ...]
    max_new_tokens: int
    seeds: tuple[int, ...] = (0,)
    verifications: tuple[Literal["paper", "exact"], ...] = ("paper",)
    modes: tuple[Mode, ...] = ("speculative", "autoregressive", "drafter")
    rules_by_steps: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for mode in self.modes:
            if mode not in MODES:
                raise InputError(f"mode is {mode!r}; choose among {', '.join(MODES)}")

    def configurations(self, pair: str, task: str) -> list[Configuration]:
        """Every cell, baselines first, each once."""
        found: dict[str, Configuration] = {}
        for mode in sorted(self.modes, key=("autoregressive", "drafter", "assisted", "speculative").index):
            for cell in self._cells(mode):
                configuration = Configuration(
                    pair=pair, task=task, mode=mode, max_new_tokens=self.max_new_tokens, **cell
                )
                found.setdefault(configuration.key, configuration)
        return list(found.values())

    def _cells(self, mode: Mode) -> Iterator[dict[str, Any]]:
        if mode == "autoregressive":
            yield from ({"seed": seed} for seed in self.seeds)
            return
        verifications: tuple[str | None, ...] = (None,) if mode in ("drafter", "assisted") else self.verifications
        for (effort, rule), size, verification, seed in product(
            self._drafts(mode), self.block_sizes, verifications, self.seeds
        ):
            yield {**effort, "rule": rule, "block_size": size, "verification": verification, "seed": seed}

    def _drafts(self, mode: Mode) -> list[tuple[dict[str, Any], str | None]]:
        """Efforts with the rules that are tried at them."""
        if mode == "assisted":
            return [({"steps": 1}, spec) for spec in self.rules if spec == "lossless" or _is_proper_linear(spec)]
        efforts: list[dict[str, Any]] = [{"steps": k} for k in self.steps]
        efforts += [{"threshold": tau} for tau in self.thresholds]
        if mode == "drafter":
            return [(effort, None) for effort in efforts]
        return [
            (effort, rule)
            for effort in efforts
            for rule in (*self.rules, *self.rules_by_steps.get(effort.get("steps", 0), ()))
        ]


def _is_proper_linear(spec: str) -> bool:
    """Linear leniency short of 1, all that transformers' assisted generation has."""
    rule = parse_rule(spec)
    return isinstance(rule, Linear) and rule.lam < 1


def default_grid(pair: PairFile, task: str) -> SweepGrid:
    """The grid that a pair's file states for a task, at the pair's own block size."""
    own = pair.grid_for(task)
    steps = own.steps or (() if own.threshold else (1,))
    return SweepGrid(
        steps=tuple(steps),
        thresholds=tuple(own.threshold),
        rules=tuple(own.rules),
        rules_by_steps=own.rules_by_steps,
        block_sizes=(pair.block_size,),
        max_new_tokens=pair.token_limit(task),
    )


def with_overrides(grid: SweepGrid, overrides: dict[str, Any]) -> SweepGrid:
    """The grid with some entries replaced. Naming only steps, or only thresholds, drops the other's default, and
    naming rules drops those that the pair's file has for some K."""
    given = {name: value for name, value in overrides.items() if value is not None}
    if "rules" in given:
        given["rules_by_steps"] = {}
    if "steps" in given and "thresholds" not in given:
        given["thresholds"] = ()
    if "thresholds" in given and "steps" not in given:
        given["steps"] = ()
    return replace(grid, **given)


def read_overrides(path: Path) -> dict[str, Any]:
    """Entries of a grid from a TOML file with keys named as in `SweepGrid`.

    Raises:
        InputError: if there is no such file, or a key or a value is not one of a grid.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"no grid file at {path}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    known = {entry.name for entry in fields(SweepGrid)} - {"rules_by_steps"}
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(f"{path} has unknown key {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    entries = ConfigTable(table, str(path), "leave it out")
    return {name: _override(entries, name) for name in table}


def _override(entries: ConfigTable, name: str) -> Any:
    if name == "max_new_tokens":
        return entries.integer(name)
    if name == "seeds":
        return entries.integers(name, low=0, high=MOST_SEED)
    if name in ("steps", "block_sizes"):
        return entries.integers(name, low=1, high=MOST)
    if name in ("thresholds", "rules", "verifications", "modes") and entries[name] == []:
        raise entries.refusal(name, "give at least one value")
    return entries.numbers(name, high=1) if name == "thresholds" else entries.texts(name)
