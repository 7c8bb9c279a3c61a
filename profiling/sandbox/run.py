"""Run one program under an isolation and limits, and say how it ended."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import IO, Literal

from specfrontier.profiling.sandbox.isolation import Isolation, interpreter
from specfrontier.profiling.sandbox.limits import Limits

Status = Literal["passed", "failed", "timeout", "output"]
_GUARD = (resources.files("specfrontier.profiling.sandbox") / "guard.py").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Outcome:
    """How a program ended.

    Attributes:
        status: `passed` ran to its end; `failed` raised, exited early or was killed by a limit; `timeout` and
            `output` were stopped for wall time or for saying too much.
        output: what it wrote, at most the limit, undecodable bytes replaced.
        wall_s: seconds it took.
    """

    status: Status
    output: str
    wall_s: float

    @property
    def passed(self) -> bool:
        return self.status == "passed"


def run_program(source: str, isolation: Isolation, limits: Limits | None = None) -> Outcome:
    """Run Python source to its end or to a limit. Never raises for anything that the program does.

    Args:
        source: the program; only the standard library can be imported.
        isolation: from `find_isolation`.
        limits: defaults if None.
    """
    limits = limits or Limits()
    report = secrets.token_hex(16)
    allowed: dict[str, int | None] = dict(asdict(limits))
    if not isolation.contains:
        allowed["processes"] = None  # outside a namespace it would count every process of the user
    job = json.dumps({"source": source, "report": report, "limits": allowed}).encode()
    python = [str(interpreter()), "-S", "-s", "-P", "-B", "-c", _GUARD]
    start = time.monotonic()
    with _scratch() as scratch, _started(isolation.wrap(python, scratch, limits)) as process:
        _feed(process, job)
        stop, output = _collect(process, limits, start)
    text = output.decode(errors="replace")
    passed = stop is None and process.returncode == 0 and report in text
    return Outcome(stop or ("passed" if passed else "failed"), text.replace(report, ""), time.monotonic() - start)


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="specfrontier-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, in a session of its own, which is killed whole on the way out."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        cwd="/",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _kill(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the session and reap its leader. The leader is not yet reaped, so its number can't be another's."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _feed(process: subprocess.Popen[bytes], job: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(job)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it died at once; its exit status tells


def _collect(process: subprocess.Popen[bytes], limits: Limits, start: float) -> tuple[Status | None, bytes]:
    """Read until the output ends or a limit is met: why it was stopped (None: by itself), and the output."""
    assert process.stdout is not None
    output = bytearray()
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        while True:
            left = start + limits.wall_s - time.monotonic()
            if left <= 0 or not selector.select(left):
                return "timeout", bytes(output)
            chunk = _read(process.stdout, (limits.output_kib << 10) + 1 - len(output))
            if not chunk:
                break
            output += chunk
            if len(output) > limits.output_kib << 10:
                return "output", bytes(output[:-1])
    try:
        process.wait(max(start + limits.wall_s - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return "timeout", bytes(output)
    return None, bytes(output)


def _read(pipe: IO[bytes], most: int) -> bytes:
    return os.read(pipe.fileno(), most)
