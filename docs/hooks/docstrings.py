"""Docstrings as Markdown: roles of reStructuredText become code, and `f(x)(y)` after brackets stays text."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":(?:func|class|meth|mod|data|attr):`~?([^`]+)`")


class Docstrings(Extension):
    """Griffe extension, applied to every object before its docstring is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            text = _ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = text.replace("](", "]\\(")
