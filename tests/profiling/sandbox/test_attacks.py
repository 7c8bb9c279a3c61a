"""Hostile programs stay inside. Every attack is bounded and aims at decoys, so that it is harmless if it succeeds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from specfrontier.profiling.sandbox import Bubblewrap, Isolation, Limits, Namespaces, run_program
from specfrontier.profiling.sandbox.probe import probe

SMALL = Limits(wall_s=20, cpu_s=5, memory_mib=192, processes=8, file_mib=2, output_kib=64)


@pytest.fixture(scope="module", params=[Bubblewrap(), Namespaces()], ids=lambda isolation: isolation.name)
def isolation(request: pytest.FixtureRequest) -> Isolation:
    finding = probe(request.param)
    if finding.fault is not None:
        pytest.skip(f"{finding.isolation.name} doesn't hold on this machine: {finding.fault}")
    return request.param


@pytest.fixture
def decoy(tmp_path: Path) -> Path:
    """A folder that anyone may write in, so that only the isolation protects it."""
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o777)
    keep = tmp_path / "keep.txt"
    keep.write_text("precious")
    keep.chmod(0o666)
    return tmp_path


def test_an_ordinary_program_passes_and_its_output_is_kept(isolation: Isolation) -> None:
    outcome = run_program("import math, json, collections\nprint(math.factorial(5))", isolation, SMALL)
    assert (outcome.status, outcome.output) == ("passed", "120\n")


@pytest.mark.parametrize(
    "source", ["assert False", "1/0", "def f(:", "import sys; sys.exit(0)", "import os; os._exit(0)"]
)
def test_a_program_that_raises_or_exits_early_fails(isolation: Isolation, source: str) -> None:
    assert run_program(source, isolation, SMALL).status == "failed"


def test_endless_loop_is_stopped_by_processor_time(isolation: Isolation) -> None:
    outcome = run_program("while True: pass", isolation, Limits(wall_s=60, cpu_s=1))
    assert outcome.status == "failed"
    assert outcome.wall_s < 50


def test_sleeping_forever_is_stopped_by_wall_time(isolation: Isolation) -> None:
    outcome = run_program("import time\ntime.sleep(30)", isolation, Limits(wall_s=3))
    assert outcome.status == "timeout"
    assert outcome.wall_s < 20


def test_memory_bomb_hits_the_limit(isolation: Isolation) -> None:
    bomb = "kept = []\nfor i in range(64):\n    kept.append(bytearray(8 << 20))\n    print(i, flush=True)"
    outcome = run_program(bomb, isolation, SMALL)
    assert outcome.status == "failed"
    allocated = [int(line) for line in outcome.output.splitlines() if line.isdigit()]
    assert len(allocated) * 8 <= SMALL.memory_mib
    assert "MemoryError" in outcome.output


def test_fork_bomb_is_capped_and_leaves_no_process_behind(isolation: Isolation) -> None:
    name = f"bomb{os.getpid()}"
    bomb = f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"{name}", 0, 0, 0)
print("armed", flush=True)
for _ in range(6):  # at most 2 ** 6 processes
    try:
        os.fork()
        print("forked", flush=True)
    except OSError:
        pass
time.sleep(1)
if os.getpid() > 3: time.sleep(60)
"""
    outcome = run_program(bomb, isolation, SMALL)
    assert "armed" in outcome.output
    # Each fork prints twice, once on either side.
    assert outcome.output.count("forked") <= 2 * SMALL.processes * 6
    assert outcome.wall_s < 50
    # The kernel tears a process namespace down after its first process was killed, not at that moment.
    deadline = time.monotonic() + 20
    while any(_comm(p) == name for p in Path("/proc").glob("[0-9]*/comm")):
        assert time.monotonic() < deadline, "processes of the bomb are still alive"
        time.sleep(0.05)


def _comm(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def test_processes_at_one_time_stay_under_the_limit(isolation: Isolation) -> None:
    source = """
import os, time
alive = 0
for _ in range(32):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        time.sleep(5)
        os._exit(0)
    alive += 1
print(alive)
"""
    outcome = run_program(source, isolation, SMALL)
    assert outcome.passed
    assert 1 <= int(outcome.output) < SMALL.processes


def test_files_outside_cannot_be_deleted_changed_or_made(isolation: Isolation, decoy: Path) -> None:
    source = f"""
import os, shutil
for attack in (
    lambda: os.remove({str(decoy / "keep.txt")!r}),
    lambda: open({str(decoy / "keep.txt")!r}, "w").write("gone"),
    lambda: open({str(decoy / "new.txt")!r}, "w").write("made"),
    lambda: shutil.rmtree({str(decoy)!r}),
):
    try:
        attack()
        print("succeeded")
    except OSError:
        pass
"""
    outcome = run_program(source, isolation, SMALL)
    assert outcome.passed
    assert "succeeded" not in outcome.output
    assert [path.name for path in decoy.iterdir()] == ["keep.txt"]
    assert (decoy / "keep.txt").read_text() == "precious"


def test_the_private_folder_can_be_written_up_to_its_limit(isolation: Isolation) -> None:
    source = f"""
with open("note", "w") as file: file.write("mine")
print(open("note").read())
try:
    for i in range({2 * SMALL.file_mib}):
        with open(f"fill{{i}}", "wb") as file: file.write(bytes(1 << 20))
    print("overfilled")
except OSError:
    print("full")
"""
    outcome = run_program(source, isolation, SMALL)
    assert (outcome.status, outcome.output) == ("passed", "mine\nfull\n")


def test_no_socket_reaches_this_machine(isolation: Isolation, decoy: Path) -> None:
    with (
        socket.socket() as stream,
        socket.socket(type=socket.SOCK_DGRAM) as datagram,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        name = f"\0specfrontier-{os.getpid()}-{isolation.name}"
        for listener, address in (
            (stream, ("127.0.0.1", 0)),
            (datagram, ("127.0.0.1", 0)),
            (local, str(decoy / "s")),
            (abstract, name),
        ):
            listener.bind(address)
            listener.setblocking(False)
            if listener is not datagram:
                listener.listen()
        source = f"""
import socket
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {stream.getsockname()[1]})),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", {datagram.getsockname()[1]})),
    (socket.AF_UNIX, socket.SOCK_STREAM, {str(decoy / "s")!r}),
    (socket.AF_UNIX, socket.SOCK_STREAM, {name!r}),
):
    try:
        s = socket.socket(family, kind)
        s.settimeout(2)
        s.connect(address)
        s.send(b"out")  # a datagram may seem to leave: it goes to the sandbox's own loopback
    except OSError:
        pass
"""
        outcome = run_program(source, isolation, SMALL)
        assert outcome.passed
        for listener in (stream, local, abstract):
            with pytest.raises(BlockingIOError):
                listener.accept()
        with pytest.raises(BlockingIOError):
            datagram.recv(8)


def test_huge_output_is_cut_and_stopped(isolation: Isolation) -> None:
    flood = "import sys\nfor _ in range(4096): sys.stdout.write('x' * 16384)"  # 64 MiB if nothing stops it
    outcome = run_program(flood, isolation, SMALL)
    assert outcome.status == "output"
    assert len(outcome.output) <= SMALL.output_kib << 10


def test_environment_secrets_cannot_be_read(isolation: Isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECOY_TOKEN", "not-to-be-seen")
    source = f"""
import glob, os
print(dict(os.environ))
for path in ["/proc/{os.getpid()}/environ", *glob.glob("/proc/[0-9]*/environ")]:
    try:
        print(open(path).read())
    except OSError:
        pass
"""
    outcome = run_program(source, isolation, SMALL)
    assert outcome.passed
    assert "HOME" in outcome.output
    assert "DECOY_TOKEN" not in outcome.output
    assert "not-to-be-seen" not in outcome.output


def test_parent_survives_being_killed(isolation: Isolation) -> None:
    """The runner is a process of its own here: if the attack succeeds, it is only that one which dies."""
    attack = """
import os, signal
for victim in (os.getppid(), {runner}):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(victim, number)
        except OSError:
            pass
"""
    driver = f"""
import os
from specfrontier.profiling.sandbox import {type(isolation).__name__}, run_program
outcome = run_program({attack!r}.format(runner=os.getpid()), {type(isolation).__name__}())
print("alive", outcome.status)
"""
    done = subprocess.run([sys.executable, "-c", driver], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["alive"]), done.stderr


def test_a_program_has_no_privilege(isolation: Isolation) -> None:
    outcome = run_program("import os\nos.chroot('/box')", isolation, SMALL)
    assert outcome.status == "failed"
    assert "PermissionError" in outcome.output
