"""The one exception that means: what the user gave cannot be used, and here is what to change."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input. Its message is one line that names the value, what is allowed and the remedy."""
