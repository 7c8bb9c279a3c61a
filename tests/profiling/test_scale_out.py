"""A sweep on Ray: two local workers, one of which is killed in the middle; and what they are given."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.scale_out import SweepJob, sweep_on_ray
from specfrontier.profiling.store import Store
from specfrontier.profiling.tasks.options import TaskOptions

ray = pytest.importorskip("ray")

GRID = SweepGrid((1, 2), (), ("lossless", "linear:0.5"), (8,), 24, modes=("speculative",))


def _working(claims: Path) -> list[int]:
    """Processes that hold a claim's lock file open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            files = [os.readlink(entry) for entry in (process / "fd").iterdir()]
        except OSError:
            continue
        if any(name.startswith(str(claims)) and name.endswith(".lock") for name in files):
            found.append(int(process.name))
    return found


def _kill_one(store: Store, killed: list[int]) -> None:
    """Wait until results come in, then kill a worker that is in the middle of a problem."""
    while not killed:
        time.sleep(0.02)
        if any((store.folder / "parts").glob("*/*.parquet")):
            workers = [pid for pid in _working(store.folder / "claims") if pid != os.getpid()]
            if workers:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(workers[0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds workers by /proc")
def test_a_killed_worker_is_replaced_and_no_problem_is_lost_or_repeated(tmp_path: Path) -> None:
    store, killed = Store(tmp_path / "run"), list[int]()
    configurations = tuple(GRID.configurations("arith-masked", "arith"))
    job = SweepJob("arith-masked", "arith", 12, 0, configurations, store.folder)
    killer = threading.Thread(target=_kill_one, args=(store, killed), daemon=True)
    killer.start()
    result = sweep_on_ray(job, workers=2)
    killer.join(timeout=5)
    problems = store.tables().problems
    assert killed
    assert not result.failed
    assert len(problems) == 12 * len(configurations)
    assert not problems.duplicated(["config", "problem"]).any()
    assert set(store.tables().configurations["status"]) == {"done"}


def test_workers_are_given_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").touch()
    named = SweepJob("arith-masked", "gsm8k", 1, 0, (), Path("run"), source=TaskOptions(Path("rows.jsonl")))
    assert named.resolved() == replace(named, folder=tmp_path / "run", source=TaskOptions(tmp_path / "rows.jsonl"))
    assert replace(named, pair="mine.toml").resolved().pair == str(tmp_path / "mine.toml")
    assert replace(named, source=TaskOptions()).resolved().source == TaskOptions()
