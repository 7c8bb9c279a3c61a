"""Where problems come from: a local file, or the Hugging Face hub."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from specfrontier.errors import InputError, first_line
from specfrontier.profiling.tasks.base import TaskProblem, check_count

Row = dict[str, Any]
ENCODING = "utf-8-sig"
"""UTF-8, with or without the mark at the beginning that spreadsheets write."""


def local_rows(data: Path, file_name: str, columns: tuple[str, ...]) -> list[Row]:
    """Rows of a `.jsonl`, `.jsonl.gz` or `.csv` file.

    Args:
        data: the file, or a folder that holds `file_name`.
        file_name: the public file's own name.
        columns: what every row must have.

    Raises:
        InputError: if there is no such file, or it can't be read (names the row and what is wrong).
    """
    path = data / file_name if data.is_dir() else data
    if not path.is_file():
        raise InputError(f"no data file at {path}; give a .jsonl, .jsonl.gz or .csv file, or a folder with {file_name}")
    try:
        rows = list(_csv_rows(path) if path.suffix == ".csv" else _json_rows(path))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise InputError(f"{path} can't be read ({error}); give a whole, valid file") from error
    return check_columns(rows, columns, str(path))


def _csv_rows(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding=ENCODING) as lines:
        yield from csv.DictReader(lines, strict=True)


def _json_rows(path: Path) -> Iterator[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding=ENCODING) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _json_row(path, number, line)


def _json_row(path: Path, number: int, line: str) -> Row:
    try:
        return dict(json.loads(line))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {number}, is no JSON object ({error}); give a whole, valid file") from error


def hub_rows(repository: str, config: str | None, split: str, columns: tuple[str, ...]) -> list[Row]:
    """Rows of a data set on the Hugging Face hub, through `datasets` (extra `data`).

    Raises:
        InputError: if `datasets` is not installed, or the hub can't be reached or refuses (a gated data set).
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise InputError(
            "the hub's data sets need `pip install specfrontier[data]`; or give a file by --data"
        ) from error
    try:
        rows = [dict(row) for row in load_dataset(repository, config, split=split)]
    except Exception as error:  # the hub, the network and the cache each raise their own
        raise InputError(
            f"can't load {repository} from the hub ({first_line(error)}); if it is gated, log in by "
            "`hf auth login`; or give a file by --data"
        ) from error
    return check_columns(rows, columns, repository)


def check_columns(rows: Iterable[Row], columns: tuple[str, ...], origin: str) -> list[Row]:
    """The rows, if there are any and each has text in every one of `columns`.

    Raises:
        InputError: if not; it names the row and the column.
    """
    rows = list(rows)
    if not rows:
        raise InputError(f"{origin} has no rows; give a file with the columns {', '.join(columns)}")
    for number, row in enumerate(rows, 1):
        missing = [c for c in columns if not isinstance(row.get(c), str) or not row[c]]
        if missing:
            raise InputError(f"{origin}, row {number}, has no {missing[0]!r}; each needs {', '.join(columns)}")
    return rows


def digest_identifier(task: str, question: str) -> str:
    """A name that depends on the question alone: the same from the hub, from a file, and in any order."""
    return f"{task}/{hashlib.sha256(question.encode()).hexdigest()[:12]}"


def subset(problems: list[TaskProblem], n: int, seed: int, task: str) -> list[TaskProblem]:
    """The first `n` of the order that `seed` gives; subsets of one seed are nested.

    Raises:
        InputError: if n is below 1 or above the number of problems.
    """
    check_count(n, len(problems), task)
    order = sorted(problems, key=lambda problem: problem.identifier)  # so that the file's order doesn't matter
    Random(f"{task}-{seed}").shuffle(order)
    return order[:n]
