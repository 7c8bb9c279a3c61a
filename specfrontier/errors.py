"""The one exception that means: what the user gave cannot be used, and here is what to change; and its wording."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input. Its message is one line that names the value, what is allowed and the remedy."""


def first_line(error: object) -> str:
    """What another library's exception says, in one line; its kind if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
