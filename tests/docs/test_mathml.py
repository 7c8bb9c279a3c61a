"""Formulas of the documentation become MathML when the site is built, and nothing else does."""

from __future__ import annotations

import pytest
from markdown import Markdown

from docs.hooks.mathml import MathML, to_mathml


def rendered(text: str) -> str:
    return Markdown(extensions=[MathML(), "fenced_code", "tables"]).convert(text)


def test_inline_and_displayed_formulas_become_mathml() -> None:
    page = rendered("Let $x_1$ be.\n$$\\sum_{n=0}^{B} \\alpha^n$$\nThen.")
    assert page.count("<math") == 2
    assert 'display="inline"' in page
    assert 'display="block"' in page
    assert "$" not in page


def test_an_inequality_in_a_subscript_is_not_taken_for_a_tag() -> None:
    page = rendered("given $y_{<k}$ and $a<b>c$ all **bold**")
    assert page.count("<math") == 2
    assert "<strong>bold</strong>" in page


def test_underscores_and_stars_in_a_formula_are_not_emphasis() -> None:
    assert "<em>" not in rendered("$a_b * c_d$ and $e_f * g_h$")


def test_dollars_in_code_stay_dollars() -> None:
    page = rendered("Run `echo $HOME $PATH`.\n\n```sh\nfor f in $A; do echo $f; done\n```\n")
    assert "<math" not in page
    assert "$HOME $PATH" in page
    assert "echo $f" in page


def test_amounts_of_money_are_not_formulas() -> None:
    assert "<math" not in rendered("It costs $ 5 and \\$6.")


@pytest.mark.parametrize(
    ("tex", "character"),
    [(r"\mathbb E", "𝔼"), (r"\mathbb R", "ℝ"), (r"\mathcal V", "𝒱"), (r"\mathcal H", "ℋ"), (r"\mathbf 1", "𝟏")],
)
def test_letter_styles_are_code_points_because_browsers_ignore_the_attribute(tex: str, character: str) -> None:
    assert character in to_mathml(tex, display=False)


def test_a_command_that_cannot_be_rendered_stops_the_build() -> None:
    with pytest.raises(ValueError, match=r"cannot render \\nosuchcommand in the formula"):
        to_mathml(r"\nosuchcommand x", display=False)


@pytest.mark.parametrize("tex", [r"\bigl\{ x \bigr\}", r"p\,\big\Vert\,q", r"\arg\max p", r"\operatorname{expm1}(x)"])
def test_what_the_converter_leaves_over_is_rendered_too(tex: str) -> None:
    assert "\\" not in to_mathml(tex, display=True)


def test_an_equation_number_stands_apart_and_capital_greek_is_upright() -> None:
    page = to_mathml(r"a = \Delta \tag{1}", display=True)
    assert '<mi mathvariant="normal">&#x00394;</mi><mspace width="2em" /><mtext>(1)</mtext>' in page
