"""HTML by construction: every string is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: object) -> Html:
    """One element; strings among the children, and all attributes, are escaped.

    An attribute's trailing underscore is dropped and inner ones become hyphens (`class_`, `data_config`); None leaves
    an attribute out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[object]) -> Html:
    """Children side by side, strings escaped."""
    return Html("".join(c if isinstance(c, Html) else escape(str(c)) for c in children))


def table(header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str = "") -> Html:
    """A table that scrolls sideways where the page is narrow; cells after the first are set flush right."""
    head = element("tr", *(element("th", cell, scope="col") for cell in header))
    body = (
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    )
    name = [element("caption", caption)] if caption else []
    return element("div", element("table", *name, element("thead", head), element("tbody", *body)), class_="scroll")
