"""Notebooks are kept without outputs, are numbered without gaps, and run from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from notebooks.run_all import FOLDER, execute, notebook_paths

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def test_there_are_eight_in_order() -> None:
    assert [path.name.split("_")[0] for path in notebook_paths()] == [str(i) for i in range(1, 9)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = read(path)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook["metadata"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_its_number_and_title(path: Path) -> None:
    first = read(path)["cells"][0]
    assert first["cell_type"] == "markdown"
    assert "".join(first["source"]).startswith(f"# {path.name[0]} · ")


def test_an_unknown_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no notebook 9; choose among 1, 2"):
        notebook_paths(["9"])


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path) -> None:
    executed = execute(path)
    assert all(cell["execution_count"] for cell in executed["cells"] if cell["cell_type"] == "code")
