"""The cells of a sweep: from efforts, rules, block sizes and seeds to configurations, from flags or a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from specfrontier.decoding import PairFile
from specfrontier.errors import InputError
from specfrontier.profiling.configuration import MODES, Configuration, Mode


@dataclass(frozen=True)
class SweepGrid:
    """What a sweep covers: the product of its entries.

    Attributes:
        steps, thresholds: diffusion efforts, K and tau; their union is covered.
        rules: specs of acceptance rules.
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
        efforts = [(k, None) for k in self.steps] + [(None, tau) for tau in self.thresholds]
        rules: tuple[str | None, ...] = self.rules
        verifications: tuple[str | None, ...] = self.verifications
        if mode == "drafter":
            rules, verifications = (None,), (None,)
        if mode == "assisted":
            efforts, verifications = [(1, None)], (None,)
            rules = tuple(spec for spec in self.rules if spec == "lossless" or _is_proper_linear(spec))
        for (k, tau), rule, size, verification, seed in product(
            efforts, rules, self.block_sizes, verifications, self.seeds
        ):
            yield {
                "steps": k,
                "threshold": tau,
                "rule": rule,
                "block_size": size,
                "verification": verification,
                "seed": seed,
            }


def _is_proper_linear(spec: str) -> bool:
    """Linear leniency short of 1, all that transformers' assisted generation has."""
    name, _, value = spec.partition(":")
    return name == "linear" and float(value) < 1


def default_grid(pair: PairFile, task: str) -> SweepGrid:
    """The grid that a pair's file states for a task, at the pair's own block size."""
    own = pair.grid_for(task)
    steps = own.steps or (() if own.threshold else (1,))
    return SweepGrid(
        steps=tuple(steps),
        thresholds=tuple(own.threshold),
        rules=tuple(own.rules),
        block_sizes=(pair.block_size,),
        max_new_tokens=pair.token_limit(task),
    )


def with_overrides(grid: SweepGrid, overrides: dict[str, Any]) -> SweepGrid:
    """The grid with some entries replaced. Naming only steps, or only thresholds, drops the other's default."""
    given = {name: value for name, value in overrides.items() if value is not None}
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
    known = {field.name for field in fields(SweepGrid)}
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(f"{path} has unknown key {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    kinds = {"steps": int, "block_sizes": int, "seeds": int, "thresholds": (int, float)}
    for name, value in table.items():
        wrong = not isinstance(value, int) if name == "max_new_tokens" else not isinstance(value, list)
        kind = kinds.get(name, str)
        if wrong or (isinstance(value, list) and not all(isinstance(entry, kind) for entry in value)):
            raise InputError(f"{path}: {name} is {value!r}; give {_wanted(name)}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


def _wanted(name: str) -> str:
    return {
        "max_new_tokens": "an integer",
        "steps": "a list of integers",
        "block_sizes": "a list of integers",
        "seeds": "a list of integers",
        "thresholds": "a list of numbers",
    }.get(name, "a list of strings")
