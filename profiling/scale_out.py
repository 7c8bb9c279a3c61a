"""The same sweep on many devices, by Ray: one worker a GPU, one store, workers that die are replaced.

A worker loads its pair once and then runs `sweep` on the shared store, whose claims keep two workers off one problem
and whose parts make a dead worker's finished problems count. So there is no queue to lose and no result to send:
workers come back with counts alone. Needs the extra `ray`, and a folder that every worker sees.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specfrontier.errors import InputError, first_line
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.load_options import LoadOptions
from specfrontier.profiling.ranges import check_integer
from specfrontier.profiling.sweep import SweepResult
from specfrontier.profiling.tasks.options import TaskOptions

MOST_RESTARTS = 5
PROBE_S = 3.0
"""A port that takes longer to answer is not there; Ray itself would try for minutes."""
DEATHS = ("WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "OutOfMemoryError")
"""Of `ray.exceptions`: a worker is gone, and its share may still be done by another. The last is Ray's own kill."""


@dataclass(frozen=True)
class SweepJob:
    """What a worker needs to do its share; plain values, so that it can be sent.

    Attributes:
        pair: a shipped pair's name, or the path of a pair file that the worker sees.
        task: name of the task.
        source: where its problems come from, and what scoring may run.
        n, seed: of its problems, see `Task.problems`.
        configurations: of the sweep.
        folder: of the run, on a file system that every worker sees.
        options: of `sweep` (`trace`, `retry_failed`).
        load: how each worker loads the pair.
    """

    pair: str
    task: str
    n: int | None
    seed: int
    configurations: tuple[Configuration, ...]
    folder: Path
    options: dict[str, Any] = field(default_factory=dict)
    source: TaskOptions = TaskOptions()  # noqa: RUF009  (frozen)
    load: LoadOptions = LoadOptions()  # noqa: RUF009  (frozen)

    def resolved(self) -> SweepJob:
        """The same with absolute paths, for workers that run in another folder."""
        data, pair = self.source.data, Path(self.pair)
        return replace(
            self,
            pair=str(pair.resolve()) if pair.is_file() else self.pair,
            folder=self.folder.resolve(),
            source=replace(self.source, data=None if data is None else data.resolve()),
        )


def run_share(job: SweepJob) -> SweepResult:
    """Do whatever part of the sweep nobody else has: what a worker runs, and a process without Ray could too."""
    from specfrontier.profiling.store import Store
    from specfrontier.profiling.sweep import sweep
    from specfrontier.profiling.tasks.registry import load_task

    task = load_task(job.task, job.source)
    problems = task.problems(job.n, job.seed)
    return sweep(job.load.load(job.pair), task, problems, job.configurations, Store(job.folder), **job.options)


def sweep_on_ray(
    job: SweepJob, *, address: str | None = None, workers: int | None = None, most_restarts: int = MOST_RESTARTS
) -> SweepResult:
    """Run a sweep on a Ray cluster, or on this machine.

    Args:
        job: the sweep.
        address: of a running cluster; None starts Ray on this machine.
        workers: how many, >= 1; None is one a GPU, or one a processor where there is none.
        most_restarts: workers that may die before the sweep gives up.

    Raises:
        InputError: if there is no such number of workers, Ray is not installed or cannot be reached, or too many
            workers die.
    """
    check_cluster(address, workers)
    ray = _connect(address)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    count = workers or gpus or int(ray.cluster_resources().get("CPU", 1))
    # Claims decide who does what; Ray's own retries would repeat a share behind our count of the deaths.
    share = ray.remote(num_gpus=1 if gpus else 0, num_cpus=1, max_retries=0)(run_share)
    try:
        return _collect(ray, share, job, count, most_restarts)
    finally:
        if address is None:
            ray.shutdown()


def check_cluster(address: str | None, workers: int | None) -> None:
    """Raise InputError, within seconds, if there is no such number of workers or nothing listens at the address.

    Only HOST:PORT, with `ray://` or without, can be asked; whether there is what `auto` means, Ray knows at once.
    """
    if workers is not None:
        check_integer(workers, "workers")
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or "://" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PROBE_S).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot reach Ray at {address}: {reason.lower()}; check --ray-address") from error


def _connect(address: str | None) -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError("Ray is not installed; install it with `pip install 'specfrontier[ray]'`") from error
    try:
        if not ray.is_initialized():
            ray.init(
                address=address or "local", log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR
            )
    except (Exception, SystemExit) as error:  # it ends the process where something listens that is no Ray
        reason = "it does not answer as Ray does" if isinstance(error, SystemExit) else first_line(error)
        if address is None:
            raise InputError(f"cannot start Ray on this machine: {reason}; run without --ray") from error
        raise InputError(f"cannot reach Ray at {address}: {reason}; check --ray-address") from error
    return ray


def _collect(ray: Any, share: Any, job: SweepJob, count: int, most_restarts: int) -> SweepResult:
    """Wait for every worker, replacing those that die."""
    running = [share.remote(job) for _ in range(count)]
    results: list[SweepResult] = []
    deaths, died = 0, tuple(getattr(ray.exceptions, name) for name in DEATHS)
    while running:
        finished, running = ray.wait(running, num_returns=1)
        try:
            results.append(ray.get(finished[0]))
        except died as error:
            deaths += 1
            if deaths > most_restarts:
                raise InputError(
                    f"{deaths} workers died ({type(error).__name__}); what they finished is kept in {job.folder}: look "
                    "at the workers' memory, then give the same command again"
                ) from error
            running.append(share.remote(job))
        except ray.exceptions.RayTaskError as error:
            raise InputError(f"a worker failed: {first_line(error.cause)}") from error
        except ray.exceptions.RayError as error:
            raise InputError(f"Ray gave up ({first_line(error)}); what was finished is kept in {job.folder}") from error
    return _together(results)


def _together(results: Sequence[SweepResult]) -> SweepResult:
    failed = {label: error for result in results for label, error in result.failed.items()}
    return SweepResult(
        measured=sum(result.measured for result in results),
        reused=min(result.reused for result in results),
        failed=failed,
        stopped=any(result.stopped for result in results),
    )
