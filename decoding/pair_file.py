"""Pair files: one TOML a pair, saying which checkpoints, how they are sampled, and the settings to sweep.

A user adds a pair by writing such a file and passing its path wherever a pair's name is asked for.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from specfrontier.decoding.config_table import MOST, ConfigTable
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
        try:
            text, origin = path.read_text(encoding="utf-8"), name_or_path
        except UnicodeDecodeError as error:
            raise InputError(f"pair file {name_or_path} is not UTF-8 text ({error}); save it as such") from error
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
    """Build a pair from the table of its file; unknown and missing keys, and wrong values, are errors."""
    entries = _known(ConfigTable(table, "the pair", "leave it out"), PairFile)
    return PairFile(
        name=entries.text("name"),
        summary=entries.text("summary"),
        verifier=_model(entries.table("verifier"), "verifier"),
        drafter=_model(entries.table("drafter"), "drafter"),
        block_size=entries.integer("block_size"),
        max_new_tokens=_limits(entries),
        tasks=entries.texts("tasks") or ("arith",),
        prompt=_prompt(_known(entries.table("prompt"), PromptFormat)),
        grid=_grids(entries.table("grid")),
        parameters=_parameters(entries),
        source=entries.text("source", ""),
    )


def _known(entries: ConfigTable, kind: Any) -> ConfigTable:
    """The table, whose keys must be fields of a class."""
    known = {f.name for f in fields(kind)}
    unknown = sorted(set(entries) - known)
    if unknown:
        raise InputError(f"{entries.origin} has unknown key {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    return entries


def _limits(entries: ConfigTable) -> dict[str, int]:
    if not isinstance(entries.get("max_new_tokens"), dict):
        return {"default": entries.integer("max_new_tokens")}
    table = entries.table("max_new_tokens")
    return {"default": table.integer("default"), **{name: table.integer(name) for name in table}}


def _parameters(entries: ConfigTable) -> tuple[float, float]:
    found = entries.numbers("parameters", low=0) or (0.0, 0.0)
    if len(found) != 2:
        raise entries.refusal("parameters", "give two numbers, of the verifier and of the drafter")
    return found[0], found[1]


def _prompt(entries: ConfigTable) -> PromptFormat:
    instruction = entries.table("instruction")
    return PromptFormat(entries.flag("chat_template"), {task: instruction.text(task) for task in instruction})


def _model(entries: ConfigTable, where: str) -> ModelSpec:
    if not entries.has("checkpoint"):
        raise InputError(f"[{where}] needs a checkpoint: embedded:NAME, a folder or a Hugging Face repository")
    own = {f.name for f in fields(ModelSpec)} - {"sampling", "options"}
    sampling = {f.name: entries[f.name] for f in fields(Sampling) if f.name in entries}
    if "filters" in sampling:
        sampling["filters"] = entries.texts("filters")
    return ModelSpec(
        checkpoint=entries.text("checkpoint"),
        sampling=Sampling(**sampling),
        family=entries.text("family", "causal"),
        options={name: value for name, value in entries.items() if name not in {*own, *sampling}},
        revision=entries.text("revision") if entries.has("revision") else None,
    )


def _grids(entries: ConfigTable) -> dict[str, Grid]:
    """The grid of the table's own keys, and those of the tables within it."""
    dials = {f.name for f in fields(Grid)}
    named = [name for name, value in entries.items() if isinstance(value, dict) and name not in dials]
    default = {name: value for name, value in entries.items() if name not in named}
    found = {"default": _grid(ConfigTable(default, entries.origin, entries.remedy))}
    return found | {name: _grid(entries.table(name)) for name in named}


def _grid(entries: ConfigTable) -> Grid:
    by_steps = _known(entries, Grid).table("rules_by_steps")
    for steps in by_steps:
        if not steps.isdecimal() or int(steps) < 1:
            raise by_steps.refusal(steps, "name the lists by K, an integer >= 1")
    return Grid(
        steps=entries.integers("steps", low=1, high=MOST) if entries.get("steps") else (),
        threshold=entries.numbers("threshold", high=1),
        rules=entries.texts("rules") if entries.has("rules") else ("lossless",),
        block_sizes=entries.integers("block_sizes", low=1, high=MOST) if entries.get("block_sizes") else (),
        rules_by_steps={int(steps): by_steps.texts(steps) for steps in by_steps},
    )
