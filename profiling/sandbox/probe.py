"""Which isolation works on this machine. Each is attacked before it is trusted."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specfrontier.errors import InputError
from specfrontier.profiling.sandbox.isolation import Bubblewrap, Isolation, Namespaces, Unisolated
from specfrontier.profiling.sandbox.limits import Limits
from specfrontier.profiling.sandbox.run import run_program

CANDIDATES: tuple[Isolation, ...] = (Bubblewrap(), Namespaces())
_LIMITS = Limits(wall_s=30, memory_mib=256, processes=8, file_mib=2)

_ATTACK = """
import os, socket, time
escapes = []

def attempt(what, function):
    try:
        function()
    except (OSError, MemoryError):
        return
    escapes.append(what)

def overfill():
    for i in range(4):
        with open(f"fill{{i}}", "wb") as file:
            file.write(bytes(1 << 20))

def multiply():
    children = []
    try:
        for _ in range(12):
            pid = os.fork()
            if pid == 0:
                time.sleep(5)
                os._exit(0)
            children.append(pid)
    finally:
        for pid in children:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

with open("allowed", "w") as file:
    file.write("a program may write here")
attempt("reads the user's files", lambda: os.listdir({decoy!r}))
attempt("writes outside its folder", lambda: open({decoy!r} + "/written", "w"))
attempt("writes to the system", lambda: open("/usr/written-by-a-probe", "w"))
attempt("reaches the network", lambda: socket.create_connection(("127.0.0.1", {port}), 2))
attempt("sees its parent", lambda: os.kill({parent}, 0))
attempt("fills its folder beyond the limit", overfill)
attempt("allocates beyond the limit", lambda: bytearray(300 << 20))
attempt("forks beyond the limit", multiply)
if escapes:
    raise SystemExit("it " + ", ".join(escapes))
"""


@dataclass(frozen=True)
class Finding:
    """An isolation and why it can't be used; None if it can."""

    isolation: Isolation
    fault: str | None


def probe(isolation: Isolation) -> Finding:
    """Run a program that tries to get out; an isolation that lets it, or that doesn't run, is at fault."""
    if shutil.which(isolation.program) is None:
        return Finding(isolation, f"{isolation.program} is not installed")
    with tempfile.TemporaryDirectory(prefix="specfrontier-decoy-") as decoy, socket.socket() as listener:
        Path(decoy).chmod(0o777)  # so that it is the isolation that keeps a program out, not the folder's mode
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        attack = _ATTACK.format(decoy=decoy, port=listener.getsockname()[1], parent=os.getpid())
        outcome = run_program(attack, isolation, _LIMITS)
    if outcome.passed:
        return Finding(isolation, None)
    words = outcome.output.strip().splitlines() or [outcome.status]
    return Finding(isolation, words[-1][:200])


@cache
def _findings() -> tuple[Finding, ...]:
    """Findings up to the first isolation that holds; cached, as a probe takes a second."""
    findings = []
    for candidate in CANDIDATES:
        findings.append(probe(candidate))
        if findings[-1].fault is None:
            break
    return tuple(findings)


def find_isolation(allow_unisolated: bool = False) -> Isolation:
    """The strongest isolation that holds here.

    Args:
        allow_unisolated: where none holds, run programs all the same, with limits and an empty environment only.

    Raises:
        InputError: where none holds and that was not allowed; it says what failed.
    """
    findings = _findings()
    if findings and findings[-1].fault is None:
        return findings[-1].isolation
    if allow_unisolated:
        return Unisolated()
    faults = "; ".join(f"{finding.isolation.name}: {finding.fault}" for finding in findings)
    raise InputError(
        f"generated code can't be isolated here ({faults}); install bubblewrap >= 0.8 and allow user namespaces, run "
        "in a throw-away machine with --allow-unisolated (allow_unisolated=True), or leave code execution off"
    )
