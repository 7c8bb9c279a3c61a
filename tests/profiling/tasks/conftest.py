"""Where the real data sets are, if they are here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder that SPECFRONTIER_DATA names, or `shared/data` beside the repository."""
    folder = Path(os.environ.get("SPECFRONTIER_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(
            f"no data sets at {folder}; set SPECFRONTIER_DATA to a folder with gsm8k_test.jsonl, HumanEval.jsonl.gz"
        )
    return folder
