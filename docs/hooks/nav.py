"""Globs in the navigation: `theory/*.md` stands for the pages there that no other entry names, by file name."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Any

Nav = list[Any]


def on_config(config: Any) -> Any:
    """MkDocs calls this once, before it reads the navigation."""
    folder = Path(config.docs_dir)
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md"))
    named = set(_leaves(config.nav))
    config.nav = expanded(config.nav, [page for page in pages if page not in named])
    return config


def _leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    entries = nav.values() if isinstance(nav, dict) else nav
    return [leaf for entry in entries for leaf in _leaves(entry)]


def expanded(nav: Nav, free: list[str]) -> Nav:
    entries: Nav = []
    for entry in nav:
        if isinstance(entry, str) and "*" in entry:
            entries += [page for page in free if page.count("/") == entry.count("/") and fnmatch(page, entry)]
        elif isinstance(entry, dict):
            entries.append({name: expanded(e, free) if isinstance(e, list) else e for name, e in entry.items()})
        else:
            entries.append(entry)
    return entries
