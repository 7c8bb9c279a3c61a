"""TeX to MathML while the site is built: formulas need neither a script nor the network when a page is read."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

#: Code spans come first, so that a dollar sign in code stays one.
_SPANS = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|\$\$(?P<block>.+?)\$\$"
    r"|(?<![\\$])\$(?=\S)(?P<inline>(?:\\.|[^$\\])+?)(?<=\S)\$",
    re.DOTALL,
)
#: After Python-Markdown has set fenced code aside (25), before it looks for HTML tags (20): `y_{<k}` is not a tag.
_PRIORITY = 22

# Browsers style single letters by their own code points only; the converter writes attributes.
_VARIANT = re.compile(r'<(m[in]) mathvariant="(double-struck|script|bold)">(\w)</\1>')
_VARIANT_NAMES = {"double-struck": "DOUBLE-STRUCK", "script": "SCRIPT", "bold": "BOLD"}
_FUNCTION = re.compile(r"<mi>(arg|log|exp|sinh|cosh|tanh|sin|cos|det|dim)</mi>(?=(<mo stretchy=\"false\">&#x00028;)?)")
_LEFT_OVER = {  # delimiters after \big, and what the converter takes for an identifier
    ">\\{<": ">{<",
    ">\\}<": ">}<",
    ">\\|<": ">&#x02016;<",
    ">\\Vert<": ">&#x02016;<",
    ">\\vert<": ">|<",
    "<mi>\\arg</mi>": "<mi>arg</mi>",
    "<mi>&#x0007E;</mi>": "<mo>&#x0223C;</mo>",
}
_TAG = re.compile(r"\\tag\{([^}]*)\}")
_CAPITAL_GREEK = re.compile(r"<mi>(&#x003(?:9[1-9A-F]|A[0-9]);)</mi>")  # upright, as TeX has them
_OPERATOR_NAME = re.compile(r"\\operatorname\{(\w*\d\w*)\}")


def to_mathml(tex: str, *, display: bool) -> str:
    """MathML of a formula; ValueError if it holds a command that the converter does not know."""
    source = _OPERATOR_NAME.sub(r"\\text{\1}", " ".join(tex.split()))
    source = _TAG.sub(r"\\qquad\\text{(\1)}", source)
    mathml = str(convert(source, display="block" if display else "inline"))
    for left, right in _LEFT_OVER.items():
        mathml = mathml.replace(left, right)
    mathml = _CAPITAL_GREEK.sub(r'<mi mathvariant="normal">\1</mi>', mathml)
    mathml = _VARIANT.sub(_styled, mathml)
    mathml = _FUNCTION.sub(_spaced, mathml)
    if "\\" in mathml:
        unknown = re.findall(r"\\[A-Za-z]*", mathml)[0]
        raise ValueError(f"cannot render {unknown} in the formula {tex.strip()!r}")
    return mathml


def _styled(match: re.Match[str]) -> str:
    tag, variant, letter = match.groups()
    name = unicodedata.name(letter).replace("LATIN ", "").replace(" LETTER", "")
    style = _VARIANT_NAMES[variant]
    try:
        styled = unicodedata.lookup(f"MATHEMATICAL {style} {name}")
    except KeyError:  # letters that Unicode had before the others, such as DOUBLE-STRUCK CAPITAL R
        styled = unicodedata.lookup(f"{style} {name}")
    return f"<{tag}>{styled}</{tag}>"


def _spaced(match: re.Match[str]) -> str:
    """TeX puts a thin space between a function's name and an argument without brackets."""
    space = "0" if match[2] else "0.167em"
    return f'<mo lspace="0.1em" rspace="{space}" stretchy="false">{match[1]}</mo>'


class _Formulas(Preprocessor):
    """Replaces every formula of a page by a placeholder for its MathML."""

    def run(self, lines: list[str]) -> list[str]:
        return _SPANS.sub(self._stash, "\n".join(lines)).split("\n")

    def _stash(self, match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        tex = match["block"] or match["inline"]
        return str(self.md.htmlStash.store(to_mathml(tex, display=match["block"] is not None)))


class MathML(Extension):
    """Markdown extension: $inline$ and $$displayed$$ formulas become MathML."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Python-Markdown's name)
        md.preprocessors.register(_Formulas(md), "mathml", _PRIORITY)


def on_config(config: Any) -> Any:
    """MkDocs calls this once; the extension joins those of mkdocs.yml."""
    config.markdown_extensions.append(MathML())
    return config
