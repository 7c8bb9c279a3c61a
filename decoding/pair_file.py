"""Pair files: one TOML a pair, saying which checkpoints, how they are sampled, and the settings to sweep.

A user adds a pair by writing such a file and passing its path wherever a pair's name is asked for.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from specfrontier.decoding.drafters.base import Effort
from specfrontier.decoding.sampling import Sampling
from specfrontier.errors import InputError

SHIPPED = resources.files("specfrontier.decoding") / "pairs"


@dataclass(frozen=True)
class ModelSpec:
    """A checkpoint and how its tokens are drawn.

    Attributes:
        checkpoint: `embedded:NAME` (shipped weights), a folder, or a Hugging Face repository.
        sampling: temperature and truncation.
        family: for a drafter, a name of `drafters.families.FAMILIES`.
        options: what is particular to the family, see its builder.
        revision: commit of a Hugging Face repository, or None for its newest.
    """

    checkpoint: str
    sampling: Sampling = field(default_factory=Sampling)
    family: str = "causal"
    options: dict[str, Any] = field(default_factory=dict)
    revision: str | None = None


@dataclass(frozen=True)
class PromptFormat:
    """How a task's question becomes a prompt.

    Attributes:
        chat_template: wrap it as a user message by the tokenizer's chat template (thinking switched off).
        instruction: text put before the question, by task name.
    """

    chat_template: bool = False
    instruction: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """Settings that a sweep covers unless told otherwise; empty where a dial does not apply.

    Attributes:
        steps: diffusion efforts K.
        threshold: confidence thresholds tau.
        rules: specs of acceptance rules, such as `linear:0.2`, swept at every effort.
        block_sizes: B, where a sweep varies it.
        rules_by_steps: further rules for some K only (the paper's budgets differ by K).
    """

    steps: tuple[int, ...] = ()
    threshold: tuple[float, ...] = ()
    rules: tuple[str, ...] = ("lossless",)
    block_sizes: tuple[int, ...] = ()
    rules_by_steps: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def points(self) -> list[tuple[Effort, str]]:
        """Every effort with every rule that is swept at it."""
        fixed = [(Effort(steps=K), rule) for K in self.steps for rule in self.rules_at(K)]
        adaptive = [(Effort(threshold=tau), rule) for tau in self.threshold for rule in self.rules]
        return fixed + adaptive

    def rules_at(self, steps: int) -> tuple[str, ...]:
        """Rules swept at K = `steps`."""
        return self.rules + self.rules_by_steps.get(steps, ())


@dataclass(frozen=True)
class PairFile:
    """A drafter/verifier pair as its file states it.

    Attributes:
        name, summary: for people.
        verifier, drafter: the two models.
        block_size: B, the default block.
        max_new_tokens: token limit by task name; `default` for the rest.
        tasks: names of the tasks that the pair was made or evaluated for; the first is the default.
        prompt: how prompts are built.
        grid: what a sweep covers, by task name; `default` for the rest.
        parameters: billions of parameters, verifier and drafter, for the memory estimate.
        source: where the settings come from.
    """

    name: str
    summary: str
    verifier: ModelSpec
    drafter: ModelSpec
    block_size: int
    max_new_tokens: dict[str, int]
    tasks: tuple[str, ...]
    prompt: PromptFormat
    grid: dict[str, Grid]
    parameters: tuple[float, float]
    source: str = ""

    def token_limit(self, task: str | None = None) -> int:
        """Token limit for a task."""
        return self.max_new_tokens.get(task or self.tasks[0], self.max_new_tokens["default"])

    def grid_for(self, task: str | None = None) -> Grid:
        """Sweep grid for a task."""
        return self.grid.get(task or self.tasks[0], self.grid["default"])


def pair_names() -> list[str]:
    """Names of the pairs that ship with the project."""
    return sorted(Path(entry.name).stem for entry in SHIPPED.iterdir() if entry.name.endswith(".toml"))


def read_pair_file(name_or_path: str) -> PairFile:
    """Read a shipped pair by name, or a user's file by path.

    Raises:
        InputError: if there is no such pair, or its file is not valid (names the key and what is allowed).
    """
    path = Path(name_or_path)
    if path.suffix == ".toml":
        if not path.is_file():
            raise InputError(f"no pair file at {name_or_path}; give an existing .toml file or a shipped pair's name")
        text, origin = path.read_text(encoding="utf-8"), name_or_path
    elif name_or_path in pair_names():
        text, origin = (SHIPPED / f"{name_or_path}.toml").read_text(encoding="utf-8"), name_or_path
    else:
        raise InputError(
            f"unknown pair {name_or_path!r}; choose one of {', '.join(pair_names())}, or give the path of a .toml file"
        )
    try:
        return parse_pair(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, InputError) as error:
        raise InputError(f"pair file {origin}: {error}") from error


def parse_pair(table: dict[str, Any]) -> PairFile:
    """Build a pair from the table of its file; unknown and missing keys are errors."""
    table = dict(table)
    limit = table.pop("max_new_tokens", None)
    grid = table.pop("grid", {})
    if not isinstance(limit, int | dict):
        raise InputError("max_new_tokens is missing; give a number, or a table of task = number with a default")
    values = {
        "verifier": _model(table.pop("verifier", None), "verifier"),
        "drafter": _model(table.pop("drafter", None), "drafter"),
        "max_new_tokens": {"default": limit} if isinstance(limit, int) else limit,
        "tasks": tuple(table.pop("tasks", ("arith",))),
        "prompt": _build(PromptFormat, table.pop("prompt", {}), "prompt"),
        "grid": _grids(grid),
        "parameters": tuple(table.pop("parameters", (0.0, 0.0))),
    }
    if "default" not in values["max_new_tokens"]:
        raise InputError("max_new_tokens has no default; add one")
    pair = _build(PairFile, {**table, **values}, "pair")
    if not isinstance(pair.block_size, int) or pair.block_size < 1:
        raise InputError(f"block_size is {pair.block_size!r}; give an integer >= 1")
    return pair


def _model(table: Any, where: str) -> ModelSpec:
    if not isinstance(table, dict) or "checkpoint" not in table:
        raise InputError(f"[{where}] needs a checkpoint: embedded:NAME, a folder or a Hugging Face repository")
    table = dict(table)
    own = {f.name for f in fields(ModelSpec)} - {"sampling", "options"}
    sampling = {f.name: table.pop(f.name) for f in fields(Sampling) if f.name in table}
    if "filters" in sampling:
        sampling["filters"] = tuple(sampling["filters"])
    values = {name: table.pop(name) for name in list(table) if name in own}
    return ModelSpec(sampling=_build(Sampling, sampling, where), options=table, **values)


def _grids(table: dict[str, Any]) -> dict[str, Grid]:
    dials = {f.name for f in fields(Grid)}
    named = {name: value for name, value in table.items() if isinstance(value, dict) and name not in dials}
    default = {name: value for name, value in table.items() if name not in named}
    tables = {"default": default, **named}
    return {name: _grid(t, f"grid {name}") for name, t in tables.items()}


def _grid(table: dict[str, Any], where: str) -> Grid:
    table = dict(table)
    by_steps = table.pop("rules_by_steps", {})
    try:
        values: dict[str, Any] = {name: tuple(value) for name, value in table.items()}
        values["rules_by_steps"] = {int(K): tuple(rules) for K, rules in by_steps.items()}
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"[{where}] takes lists, and in rules_by_steps lists by K ({error})") from error
    return _build(Grid, values, where)


def _build(cls: Any, table: dict[str, Any], where: str) -> Any:
    known = {f.name for f in fields(cls)}
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(f"[{where}] has unknown key {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    try:
        return cls(**table)
    except TypeError as error:
        raise InputError(f"[{where}] is incomplete: {error}") from error
