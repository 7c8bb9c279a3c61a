"""Who works on what: claims on units of work that two processes, or machines, may share.

A claim is a lock that the operating system drops when its holder dies, however it dies, so that no claim is ever stale.
What remains of a holder that died is a count of its attempts: work that kills its process every time (the kernel's
out-of-memory killer leaves no exception behind) is recognised by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


class Claims:
    """Claims by name, in a folder that all processes see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    @contextmanager
    def claim(self, name: str) -> Iterator[bool]:
        """Try to claim `name` for the length of the block; yields whether it was got.

        The caller must look again, inside the block, whether the work is still to be done.
        """
        lock = FileLock(self.folder / f"{name}.lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def begin(self, name: str) -> None:
        """Count an attempt (the caller holds the claim)."""
        path = self._attempts(name)
        path.write_text(str(self.attempts(name) + 1), encoding="utf-8")

    def attempts(self, name: str) -> int:
        """Attempts that began and never ended: each of their processes died."""
        try:
            return int(self._attempts(name).read_text(encoding="utf-8") or 0)
        except (FileNotFoundError, ValueError):
            return 0

    def end(self, name: str) -> None:
        """The work is done, or has failed in a way that was recorded."""
        self._attempts(name).unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        """Remove the lock file of finished work.

        Safe although another process may hold the file open: whoever claims looks again whether the work is done.
        """
        (self.folder / f"{name}.lock").unlink(missing_ok=True)

    def _attempts(self, name: str) -> Path:
        return self.folder / f"{name}.attempts"
