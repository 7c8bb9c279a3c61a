"""From a model's text to the Python function that it means."""

from __future__ import annotations

import re
import textwrap

_FENCE = re.compile(
    r"^[ \t]*```[ \t]*(?:python|py|python3)?[ \t]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE | re.I
)
STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint", "\n```")
"""Where a bare completion ends (Chen et al., 2021, Section 3.1)."""


def solution(prompt: str, entry_point: str, text: str) -> str:
    """The whole function: from a chat answer that repeats it, or from a bare completion of the prompt.

    Args:
        prompt: imports, helpers, signature and docstring.
        entry_point: the function's name.
        text: what the model said; the block of code that defines the function counts, else the first one.
    """
    blocks = [textwrap.dedent(block) for block in _FENCE.findall(text)]
    whole = [code for code in (*blocks, text) if _defines(entry_point, code)]
    if whole:
        return f"{_before(prompt, entry_point)}\n{whole[0]}"
    if blocks:
        return prompt + textwrap.indent(blocks[0], "    ")
    return prompt + completion(text)


def completion(text: str) -> str:
    """A bare completion up to where the function ends."""
    return text[: min([len(text), *(i for stop in STOPS if (i := text.find(stop)) >= 0)])]


def _defines(name: str, code: str) -> bool:
    return re.search(rf"^(?:async )?def {re.escape(name)}\b", code, re.MULTILINE) is not None


def _before(prompt: str, entry_point: str) -> str:
    """Imports and helpers of the prompt: an answer may rely on them without repeating them."""
    return prompt[: prompt.rindex(f"def {entry_point}")]
