"""The public face of the theory: light to import, complete, and documented."""

import inspect
import subprocess
import sys

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


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="attribute Liniar"):
        _ = theory.Liniar


@pytest.mark.parametrize("name", sorted(theory.registered_rules()))
def test_every_rules_docstring_says_what_its_law_is(name: str) -> None:
    text = inspect.getdoc(theory.registered_rules()[name]) or ""
    for word in ("Output law", "Deviation", "Acceptance rate"):
        assert word in text, f"{name}'s docstring does not mention: {word}"
