"""The packages stand in folders of their own names; the reference wants them under `specfrontier`, as imports do."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
TREE = _ROOT / "build" / "types" / "specfrontier"


def on_startup(**_: Any) -> None:
    """MkDocs calls this first: make a tree of links (the one that `make lint` makes for the type checker)."""
    TREE.mkdir(parents=True, exist_ok=True)
    folders = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    inner = [_ROOT / folder for name, folder in folders.items() if name.count(".") == 1]
    for target in [*inner, *(_ROOT / "specfrontier").glob("*.py")]:
        link = TREE / target.name
        if not link.is_symlink():
            link.symlink_to(target)
