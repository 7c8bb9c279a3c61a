"""What the pages say about commands, code and tables is true of the code."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from docs.hooks import generated, nav
from specfrontier.profiling.cli import app
from specfrontier.schema import TABLES
from specfrontier.theory import registered_rules

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
#: Pages whose Python blocks need nothing but the package; they are run in order.
RUNNABLE = (
    "getting-started.md",
    "how-to/add-a-rule.md",
    "how-to/add-a-drafter.md",
    "how-to/add-a-task.md",
    "how-to/add-a-predictor.md",
    "how-to/read-engine-statistics.md",
)


def blocks(page: Path, language: str) -> list[str]:
    return [m["code"] for m in FENCE.finditer(page.read_text(encoding="utf-8")) if m["language"] == language]


def commands() -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(DOCS)), line.partition("  #")[0].strip())
        for page in PAGES
        for code in blocks(page, "sh")
        for line in code.replace("\\\n", " ").splitlines()
        if line.startswith(("specfrontier ", "make "))
    ]


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_on_a_page_exists_with_its_options(page: str, line: str) -> None:
    program, name, *arguments = shlex.split(line)
    if program == "make":
        assert re.search(rf"^{name}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return
    root = typer.main.get_command(app)
    assert isinstance(root, click.Group) or hasattr(root, "commands")
    assert name in root.commands, f"{page}: no command {name}"
    root.commands[name].make_context(name, arguments)  # raises on an unknown option or a missing argument


def test_the_schema_page_holds_every_table_and_column() -> None:
    page = generated.schema()
    for table, columns in TABLES.items():
        section = page.split(f"## {table}\n")[1].split("\n## ")[0]
        for column in columns:
            assert f"| `{column.name}` | `{column.type}` |" in section


def test_the_rules_table_holds_every_registered_rule() -> None:
    page = generated.rules()
    for name, rule in registered_rules().items():
        assert f"| `{name}` | [`{rule.__name__}`]" in page


def test_every_marker_on_a_page_names_a_generator() -> None:
    marked = [page for page in PAGES if "<!-- generated:" in page.read_text(encoding="utf-8")]
    assert marked
    for page in marked:
        text = page.read_text(encoding="utf-8")
        names = [match["name"] for match in generated.MARKER.finditer(text)]
        assert len(names) == text.count("<!-- generated:"), f"{page.name} has a marker that no one reads"
        assert set(names) <= set(generated.GENERATED)


def test_a_star_in_the_navigation_stands_for_the_pages_that_nothing_else_names() -> None:
    free = ["limits.md", "theory/clip.md", "theory/rules.md"]
    expanded = nav.expanded([{"Theorems": ["theory/frontier.md", "theory/*.md"]}, "*.md"], free)
    assert expanded == [{"Theorems": ["theory/frontier.md", "theory/clip.md", "theory/rules.md"]}, "limits.md"]


def test_files_that_pages_name_exist() -> None:
    named = [
        (page, name)
        for page in PAGES
        for name in re.findall(
            r"`((?:tests|theory|decoding|profiling|simulate|docs)/[\da-z_./-]+\.(?:py|md|toml))`",
            page.read_text(encoding="utf-8"),
        )
    ]
    assert named
    for page, name in named:
        assert (ROOT / name).exists(), f"{page.name} names {name}"
    notebooks = {name for page in PAGES for name in re.findall(r"`(\d_\w+\.ipynb)`", page.read_text(encoding="utf-8"))}
    assert notebooks == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}


@pytest.mark.slow
def test_the_python_of_the_pages_runs() -> None:
    code = "\n\n".join(block for page in RUNNABLE for block in blocks(DOCS / page, "python"))
    checks = """
from specfrontier.profiling.tasks import load_task
from specfrontier.theory import rule_from_spec
assert abs(Linear(0.5).acceptance_rate(p, q) - 0.8) < 1e-12
assert abs(tv_distance(p, q) - 0.4) < 1e-12
law = rule_from_spec("geometric:0.3").output_law(p, q)
assert abs(law.sum() - 1) < 1e-12
assert [load_task("capitals").score(x, "It is Paris.") for x in load_task("capitals").problems(2)] == [True, False]
draft = UniformNoise(7).draft(DraftRequest(torch.tensor([1]), 5, Effort(1), torch.Generator().manual_seed(0)))
assert draft.tokens.shape == (5,)
assert abs(report.tokens_per_round - 2.4) < 1e-12
assert report.acceptance == (7 / 10, 4 / 7, 3 / 4)
assert report.predictor() == predictor
"""
    command = [sys.executable, "-c", code + checks]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
