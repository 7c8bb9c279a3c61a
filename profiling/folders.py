"""Output folders: checked before any work is done."""

from __future__ import annotations

import tempfile
from pathlib import Path

from specfrontier.errors import InputError


def writable_folder(path: Path) -> Path:
    """Create `path` if need be and make sure that it can be written.

    Raises:
        InputError: if it is a file, cannot be created or cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except FileExistsError as error:
        raise InputError(f"{path} is a file; give a folder to write to") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot write to {path} ({reason.lower()}); give a folder that can be written") from error
    return path
