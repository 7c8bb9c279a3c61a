"""The final answer of a worked solution, and whether it equals the reference.

`math-verify` decides equality; what it is given is chosen here, because on free text it takes several boxes as one
set, the first of several numbers, a unit as a product of variables, and drops a typographic minus sign.
"""

from __future__ import annotations

import re

LONGEST = 60
"""Characters of an answer, cleaned. Longer ones, and towers of powers, are wrong and could take forever to evaluate."""

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_PHRASE = re.compile(r"(?:####|\banswer\s*(?:is|:)\s*:?)[\s*]*(?=[-−$\\\d.])", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:(?<![\w.)\]])[-−])?\s?\\?\$?\s?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+)(?:/\d+)?"
)
_TEXT = re.compile(r"\\(?:text|textbf|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_UNIT = re.compile(r"(?<![\\A-Za-z])[A-Za-z°][A-Za-z°./ ]*(?:\^\{?[23]\}?)?")
_NOISE = re.compile(r"\\[,;:! ]|\\?[$%]|\*\*|[€£]|~|\{,\}|(?<=\d),(?=\d{3}(?!\d))")
_POWER = re.compile(r"\^(?:\{\d{1,2}\}|\d)(?!\d)")


def final_answer(text: str) -> str | None:
    r"""The answer that a solution ends on, cleaned of currency, units, separators and emphasis; None if there is none.

    The last `\boxed{}` that holds something counts; without one, the number after the last `####` or "answer is";
    without either, the last number. A box that is never closed (the token limit cut it) is no answer.

    >>> final_answer(r"\boxed{18}, or rather \boxed{\$200,000}."), final_answer("So he has 18 dollars.")
    ('200000', '18')
    """
    for box in reversed(list(_BOX.finditer(text))):
        inside = _braced(text, box.end())
        if inside is None or inside.strip():
            return None if inside is None else clean(inside)
    phrases = list(_PHRASE.finditer(text))
    if phrases and (match := _NUMBER.match(text, phrases[-1].end())):
        return clean(match.group())
    numbers = _NUMBER.findall(text)
    return clean(numbers[-1]) if numbers else None


def _braced(text: str, start: int) -> str | None:
    """What stands between `start`, just after an opening brace, and the brace that closes it."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[start:i]
    return None


def clean(answer: str) -> str:
    r"""An answer without what doesn't change its value.

    >>> clean(r"\$1{,}000.50"), clean(r"18\text{ dollars}."), clean(r"x = −5 km/h"), clean(r"\frac{1}{2}")
    ('1000.50', '18', '-5', '\\frac{1}{2}')
    """
    answer = _TEXT.sub(r" \1 ", answer).replace("−", "-").replace("–", "-")
    answer = _UNIT.sub(" ", _NOISE.sub("", answer))
    answer = answer.rpartition("=")[2]
    return re.sub(r"^-\s+(?=[\d.])", "-", answer.strip().rstrip(".").strip())


def equal(answer: str | None, reference: str) -> bool:
    """Whether a cleaned answer has the reference's value, such as `1/2` and `0.50`."""
    if answer is None or not _evaluable(answer):
        return False
    from math_verify import parse, verify  # loads a grammar: only when something is to be compared

    # No timeouts: they use signals, which only a main thread may; what could run long was refused above.
    gold = parse(f"${reference}$", parsing_timeout=None)
    return bool(verify(gold, parse(f"${answer}$", parsing_timeout=None), timeout_seconds=None))


def _evaluable(answer: str) -> bool:
    """Short, one value, and no power but one with an exponent of at most two digits."""
    powers = answer.count("^")
    several = re.search(r"\d\s+[-\d.]|[:;!]|\d,", answer)
    return 0 < len(answer) <= LONGEST and not several and powers <= 1 and len(_POWER.findall(answer)) == powers
