"""A sweep on Ray: two local workers, one of which is killed in the middle; and what they are given."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specfrontier.errors import InputError
from specfrontier.profiling import scale_out
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.scale_out import SweepJob, sweep_on_ray
from specfrontier.profiling.store import Store
from specfrontier.profiling.sweep import SweepResult
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


class FakeCluster:
    """Ray with shares that end as they are told to: by an exception, or with a result."""

    def __init__(self, *endings: Any) -> None:
        self.endings, self.exceptions = list(endings), ray.exceptions
        self.given: list[SweepJob] = []

    def remote(self, job: SweepJob) -> int:
        self.given.append(job)
        return len(self.given) - 1

    def wait(self, running: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        return running[:num_returns], running[num_returns:]

    def get(self, number: int) -> SweepResult:
        if isinstance(self.endings[number], Exception):
            raise self.endings[number]
        return self.endings[number]

    def collect(self, workers: int, most_restarts: int) -> SweepResult:
        job = SweepJob("arith-masked", "arith", 1, 0, (), Path("run"))
        return scale_out._collect(self, SimpleNamespace(remote=self.remote), job, workers, most_restarts)


DONE = SweepResult(3, 1, {})
DEATHS = [
    ray.exceptions.WorkerCrashedError(),
    ray.exceptions.NodeDiedError("node gone"),
    ray.exceptions.LocalRayletDiedError(),
    ray.exceptions.OutOfMemoryError("Task was killed due to the node running low on memory."),
]


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: type(death).__name__)
def test_a_dead_worker_is_replaced_however_it_died(death: Exception) -> None:
    cluster = FakeCluster(death, DONE, DONE)
    assert cluster.collect(workers=2, most_restarts=1).measured == 6
    assert len(cluster.given) == 3
    again = FakeCluster(death, death)
    with pytest.raises(InputError, match=rf"2 workers died \({type(death).__name__}\).*same command again"):
        again.collect(workers=1, most_restarts=1)


def test_whatever_else_ray_says_is_one_line() -> None:
    for error in (ray.exceptions.OutOfDiskError("disk full\nmore"), ray.exceptions.RaySystemError("broken\nmore")):
        with pytest.raises(InputError, match="Ray gave up") as caught:
            FakeCluster(error).collect(workers=1, most_restarts=5)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("workers", [0, -1])
def test_a_number_of_workers_is_checked_before_ray_starts(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_out, "_connect", lambda _: pytest.fail("Ray was started"))
    job = SweepJob("arith-masked", "arith", 1, 0, (), Path("run"))
    with pytest.raises(InputError, match=f"workers is {workers}; give an integer >= 1"):
        sweep_on_ray(job, workers=workers)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "127.0.0.1:99999"])
def test_an_address_where_nothing_listens_is_said_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself tries for minutes."""
    monkeypatch.setattr(scale_out, "_connect", lambda _: pytest.fail("Ray was asked"))
    job = SweepJob("arith-masked", "arith", 1, 0, (), Path("run"))
    with pytest.raises(InputError) as caught:
        sweep_on_ray(job, address=address)
    assert str(caught.value).startswith(f"cannot reach Ray at {address}: ")


def test_an_address_that_rays_client_cannot_use_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(**_: object) -> None:
        raise SystemExit(15)

    monkeypatch.setattr(ray, "init", gives_up)
    with pytest.raises(InputError, match="cannot reach Ray at auto: it does not answer as Ray does"):
        scale_out._connect("auto")


def test_workers_are_given_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").touch()
    named = SweepJob("arith-masked", "gsm8k", 1, 0, (), Path("run"), source=TaskOptions(Path("rows.jsonl")))
    assert named.resolved() == replace(named, folder=tmp_path / "run", source=TaskOptions(tmp_path / "rows.jsonl"))
    assert replace(named, pair="mine.toml").resolved().pair == str(tmp_path / "mine.toml")
    assert replace(named, source=TaskOptions()).resolved().source == TaskOptions()
