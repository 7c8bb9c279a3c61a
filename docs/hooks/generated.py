"""Parts of pages that are computed from the code, so that they cannot drift from it.

A line `<!-- generated: NAME ARGUMENT -->` in a page is replaced by what the function of that name returns. What needs
torch is imported where it is used, so that pages without it build fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specfrontier.schema import SCHEMA_VERSION, TABLES
from specfrontier.theory import registered_rules

if TYPE_CHECKING:
    from specfrontier.decoding.pair_file import ModelSpec, PairFile

_ROOT = Path(__file__).resolve().parents[2]
MARKER = re.compile(r"^<!-- generated: (?P<name>\w+)(?: (?P<argument>\S+))? -->$", re.MULTILINE)
_PAPER_PROBLEMS = {"gsm8k": 500, "humaneval": 164, "gpqa": 198}
"""Problems of each benchmark in the paper (Table 1)."""

Row = tuple[str, ...]


def schema() -> str:
    """Every table of the store with its columns."""
    parts = [f"Schema version: {SCHEMA_VERSION}."]
    for name, columns in TABLES.items():
        rows = [(f"`{c.name}`", f"`{c.type}`", "yes" if c.nullable else "no", _sentence(c.meaning)) for c in columns]
        parts += [f"## {name}", _table(("Column", "Type", "May be absent", "Meaning"), rows)]
    return "\n\n".join(parts)


def rules() -> str:
    """Every registered acceptance rule: how its spec begins, its class, what it does."""
    rows = [
        (f"`{name}`", f"[`{cls.__name__}`][{cls.__module__}.{cls.__name__}]", _sentence(_summary(cls.__doc__)))
        for name, cls in sorted(registered_rules().items())
    ]
    return _table(("Spec", "Class", "What it does"), rows)


def families() -> str:
    """Every registered drafter family."""
    from specfrontier.decoding.drafters.families import FAMILIES

    rows = [(f"`{name}`", _sentence(_summary(build.__doc__))) for name, build in sorted(FAMILIES.items())]
    return _table(("Family", "What it builds"), rows)


def predictors() -> str:
    """Every registered predictor."""
    from specfrontier.simulate.predictors import registered_predictors

    rows = [
        (f"`{name}`", _sentence(_summary(build.__doc__))) for name, build in sorted(registered_predictors().items())
    ]
    return _table(("Name", "What it assumes"), rows)


def pairs() -> str:
    """The paper's pairs with the settings of their files, and the memory that `check_memory` asks for in bfloat16."""
    import torch

    from specfrontier.decoding.memory import GIB, memory_need

    rows = []
    for pair in _paper_pairs():
        limits = "<br>".join(f"{task}: {limit}" for task, limit in pair.max_new_tokens.items())
        need = memory_need(pair, torch.bfloat16)
        weights, total = (need.verifier + need.drafter) / GIB, need.total / GIB
        models = f"{_model(pair.verifier)}<br>{_model(pair.drafter)}<br>family `{pair.drafter.family}`"
        settings = (f"`{pair.name}`", models, str(pair.block_size), limits)
        rows.append((*settings, f"{weights:.3g}", f"{total:.3g}"))
    header = ("Pair", "Verifier, then drafter", "B", "Token limit", "Weights, GiB", "Total, GiB")
    return _table(header, rows)


def sweeps() -> str:
    """Size of every paper pair's sweep: configurations, generations, and the most tokens that it can emit."""
    rows = []
    for pair in _paper_pairs():
        for task in (task for task in pair.tasks if task in _PAPER_PROBLEMS):
            points, problems = len(pair.grid_for(task).points()), _PAPER_PROBLEMS[task]
            generations = points * problems
            most = generations * pair.token_limit(task)
            rows.append((f"`{pair.name}`", task, str(points), str(problems), f"{generations:,}", f"{most / 1e6:.1f} M"))
    header = ("Pair", "Task", "Configurations", "Problems", "Generations", "Tokens at most")
    return _table(header, rows)


def study(which: str) -> str:
    """A table of a study kept in `docs/data`, such as `smollm2/measurements:smollm2-ar`."""
    from specfrontier.paper_figures.study import study_table

    folder, _, name = which.partition("/")
    kind, _, pair = name.partition(":")
    table = study_table(_ROOT / "docs" / "data" / folder, pair, kind)
    return _table(tuple(table.columns), list(table.itertuples(index=False, name=None)))


def policies() -> str:
    """What `specfrontier schedule` measured on the embedded masked pair."""
    import pandas as pd

    from specfrontier.profiling.commands.schedule import markdown

    return markdown(pd.read_json(_ROOT / "docs" / "data" / "policies" / "schedules.json"))


def api(folder: str) -> str:
    """The reference of every module of a package's folder, from its docstrings."""
    modules = sorted(path for path in (_ROOT / folder).rglob("*.py") if not path.name.startswith("_"))
    names = [".".join(path.relative_to(_ROOT).with_suffix("").parts) for path in modules]
    return "\n\n".join(f"::: specfrontier.{name.removeprefix('specfrontier.')}" for name in names)


def command_line() -> str:
    """Every command with its arguments and options, as the program itself declares them."""
    import typer

    from specfrontier.profiling.cli import app

    root: Any = typer.main.get_command(app)
    return "\n\n".join(part for name, command in _commands(root, ("specfrontier",)) for part in _command(name, command))


GENERATED: dict[str, Callable[..., str]] = {
    f.__name__: f for f in (schema, rules, families, predictors, pairs, sweeps, study, policies, api, command_line)
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs calls this for every page."""

    def generate(match: re.Match[str]) -> str:
        arguments = [match["argument"]] if match["argument"] else []
        return GENERATED[match["name"]](*arguments)

    return MARKER.sub(generate, markdown)


def _commands(command: Any, path: Row) -> Iterable[tuple[Row, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name in inner:
        yield from _commands(inner[name], (*path, name))


def _command(path: Row, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not getattr(p, "hidden", False)]
    usage = " ".join([*path, *(f"[{a.name.upper()}]" if not a.required else a.name.upper() for a in arguments)])
    rows = [(f"`{a.name.upper()}`", _sentence(_summary(a.help)), "") for a in arguments]
    rows += [("<br>".join(f"`{o}`" for o in p.opts), _sentence(_summary(p.help)), _default(p)) for p in options]
    parts = [f"## {' '.join(path[1:])}", f"```sh\n{usage} [OPTIONS]\n```", _help(command.help)]
    return [*parts, _table(("Argument or option", "Meaning", "Default"), rows)] if rows else parts


def _default(parameter: Any) -> str:
    default = parameter.default
    return (
        ""
        if default is None or callable(default) or any(default is x for x in (False, True)) or default in ((), [])
        else f"`{default}`"
    )


def _help(text: str | None) -> str:
    return re.sub(r"\[/?[a-z ]+\]", "", (text or "").replace("\b", "").split("\f")[0].strip())


def _paper_pairs() -> list[PairFile]:
    """Shipped pairs but for those whose weights ship too."""
    from specfrontier.decoding.pair_file import pair_names, read_pair_file

    pairs = [read_pair_file(name) for name in pair_names()]
    return [pair for pair in pairs if not pair.verifier.checkpoint.startswith("embedded:")]


def _table(header: Row, rows: list[Row]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _sentence(text: str) -> str:
    """With a capital, unless it starts with a symbol or an abbreviation, and a full stop."""
    if text[:2].isalpha() and text[:2].islower() and text[:1].isascii():
        text = text[0].upper() + text[1:]
    return text.rstrip(".") + "." if text else ""


def _summary(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n")[0].split())


def _model(model: ModelSpec) -> str:
    sampling = model.sampling
    settings = [f"temperature {sampling.temperature:g}"]
    settings += [f"top-p {sampling.top_p:g}"] if sampling.top_p is not None else []
    settings += [f"top-k {sampling.top_k}"] if sampling.top_k is not None else []
    return f"`{model.checkpoint}`, {', '.join(settings)}"
