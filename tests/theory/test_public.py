"""The public face of the theory: light to import, complete, and documented."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import specfrontier.theory as theory

HEAVY = ("torch", "pandas", "matplotlib", "scipy", "sympy", "moocore")


def test_importing_the_theory_and_its_rules_loads_nothing_heavy() -> None:
    code = (
        "import sys, specfrontier.theory as t; t.Linear(0.3), t.Cactus(1.0), t.clip_target, t.token_kl; "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


@pytest.mark.parametrize("name", theory.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(theory, name)
    assert name in dir(theory)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value), f"{name} has no docstring"


def test_the_table_and_the_block_for_type_checkers_agree() -> None:
    tree = ast.parse(Path(theory.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    listed = {
        (entry.module, alias.name)
        for entry in ast.walk(guarded)
        if isinstance(entry, ast.ImportFrom)
        for alias in entry.names
    }
    table = {(f"specfrontier.theory.{module}", name) for module, names in theory._PUBLIC.items() for name in names}
    assert listed == table
    assert list(theory._PUBLIC) == sorted(theory._PUBLIC)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Liniar'"):
        _ = theory.Liniar


@pytest.mark.parametrize("name", sorted(theory.registered_rules()))
def test_every_rules_docstring_says_what_its_law_is(name: str) -> None:
    text = inspect.getdoc(theory.registered_rules()[name]) or ""
    for word in ("Output law", "Deviation", "Acceptance rate"):
        assert word in text, f"{name}'s docstring does not mention: {word}"
