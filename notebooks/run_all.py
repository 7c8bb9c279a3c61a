"""Execute every notebook from top to bottom; the first error ends it with exit code 1.

    python -m notebooks.run_all              all of them, in order
    python -m notebooks.run_all 2 5          those whose names begin with these numbers
    python -m notebooks.run_all --out site   and keep executed copies there

The notebooks themselves are never written to: they are kept without outputs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).resolve().parent
TIMEOUT_S = 600  # of one cell: a hang, not a budget


def notebook_paths(numbers: Sequence[str] = ()) -> list[Path]:
    """Notebooks in order of their numbers; only those with the given ones, if any.

    Raises:
        ValueError: if no notebook has a given number.
    """
    found = {path.name.split("_")[0]: path for path in sorted(FOLDER.glob("*.ipynb"))}
    unknown = [number for number in numbers if number not in found]
    if unknown:
        raise ValueError(f"no notebook {unknown[0]}; choose among {', '.join(found)}")
    return [found[number] for number in numbers] if numbers else list(found.values())


def execute(path: Path) -> nbformat.NotebookNode:
    """The notebook with outputs, run in a fresh kernel in its own folder; CellExecutionError if a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    return notebook


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen notebooks; returns the exit code."""
    parser = argparse.ArgumentParser(description="Execute the notebooks.")
    parser.add_argument("numbers", nargs="*", help="numbers of the notebooks; all if none is given")
    parser.add_argument("--out", type=Path, help="folder for executed copies")
    options = parser.parse_args(arguments)
    for path in notebook_paths(options.numbers):
        began = time.monotonic()
        try:
            notebook = execute(path)
        except CellExecutionError as error:
            print(f"{path.name} failed:\n{error}", file=sys.stderr)
            return 1
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, options.out / path.name)
        print(f"{path.name}: {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
