"""A sweep survives anything: killed, out of disk, out of memory, shared, grown."""

from __future__ import annotations

import io
import os
import resource
import signal
import time
import weakref
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from rich.console import Console

from specfrontier.decoding import Generation, Pair, Round
from specfrontier.errors import InputError
from specfrontier.profiling import policies, sweep as sweep_module
from specfrontier.profiling.claims import Claims
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.failures import Failure
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.job import Job
from specfrontier.profiling.measure import measure
from specfrontier.profiling.profiler import ProfileSettings, profile_pair
from specfrontier.profiling.progress import RemainingTime, SweepProgress
from specfrontier.profiling.store import Store
from specfrontier.profiling.sweep import MOST_ATTEMPTS, sweep

GRID = SweepGrid(
    steps=(1, 2),
    thresholds=(),
    rules=("lossless", "linear:0.5"),
    block_sizes=(4,),
    max_new_tokens=8,
    modes=("speculative", "autoregressive"),
)


def fake_generation(tokens: int = 4) -> Generation:
    record = Round(0, 3, 4, 4, 4, 3, tokens, 1, 0.01, 0.02, 0.001)
    return Generation("w1 w2", tuple(range(4, 4 + tokens)), 3, False, 0.005, record.seconds, (record,))


Run = Callable[[Pair, str, Configuration, int, bool], Generation]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Replace the models by a constant; note every measured (configuration, prompt), warm-ups left out."""
    made: list[tuple[str, str]] = []

    def run(pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool = True) -> Generation:
        if configuration.max_new_tokens == GRID.max_new_tokens:
            made.append((configuration.label, prompt))
        return fake_generation()

    monkeypatch.setattr(sweep_module, "run_configuration", run)
    return made


@pytest.fixture
def configurations(masked_pair: Pair) -> list[Configuration]:
    return GRID.configurations(masked_pair.name, "toy")


def test_configurations_take_turns_on_each_problem(
    masked_pair: Pair, task: Any, configurations: list[Configuration], calls: list, tmp_path: Path
) -> None:
    problems = task.problems(3)
    result = sweep(masked_pair, task, problems, configurations, Store(tmp_path))
    assert result.measured == len(calls) == 15
    assert [prompt for _, prompt in calls] == [p.question for p in problems for _ in configurations]


def test_a_second_call_repeats_nothing_and_a_larger_n_grows_the_run(
    masked_pair: Pair, task: Any, configurations: list[Configuration], calls: list, tmp_path: Path
) -> None:
    sweep(masked_pair, task, task.problems(2), configurations, Store(tmp_path))
    again = sweep(masked_pair, task, task.problems(2), configurations, Store(tmp_path))
    assert (again.measured, again.reused) == (0, 10)
    grown = sweep(masked_pair, task, task.problems(4), configurations, Store(tmp_path))
    assert (grown.measured, grown.reused) == (10, 10)
    assert max(Counter(calls).values()) == 1
    assert set(Store(tmp_path).tables().configurations["status"]) == {"done"}


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory. Tried to allocate\nmore")])
def test_a_failing_configuration_is_recorded_and_skipped(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    good = sweep_module.run_configuration

    def run(pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool = True) -> Generation:
        if configuration.steps == 2 and configuration.rule == "lossless":
            raise error
        return good(pair, prompt, configuration, seed, trace)

    monkeypatch.setattr(sweep_module, "run_configuration", run)
    result = sweep(masked_pair, task, task.problems(3), configurations, Store(tmp_path))
    assert list(result.failed) == ["K=2 lossless B=4"]
    assert "\n" not in result.failed["K=2 lossless B=4"]
    assert result.measured == 12
    table = Store(tmp_path).tables().configurations.set_index("status")
    assert table.loc["failed", "error"].startswith(type(error).__name__)
    # It stays skipped, until it is asked for again.
    monkeypatch.setattr(sweep_module, "run_configuration", good)
    assert sweep(masked_pair, task, task.problems(3), configurations, Store(tmp_path)).measured == 0
    retried = sweep(masked_pair, task, task.problems(3), configurations, Store(tmp_path), retry_failed=True)
    assert (retried.measured, retried.failed) == (3, {})


def _fails_at(label: str, error: Callable[[], Exception]) -> Run:
    """`run_configuration` as it is now, but for one configuration."""
    good = sweep_module.run_configuration

    def run(pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool = True) -> Generation:
        if configuration.label == label:
            raise error()
        return good(pair, prompt, configuration, seed, trace)

    return run


KERNEL_ERRORS = [RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be")]
if hasattr(torch, "AcceleratorError"):
    KERNEL_ERRORS.append(torch.AcceleratorError("device-side assert triggered"))


@pytest.mark.parametrize("error", KERNEL_ERRORS, ids=lambda error: type(error).__name__)
def test_a_failed_kernel_costs_one_configuration_and_ends_the_sweep(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    """Its error stays with the process: whatever is tried next would fail too, and through no fault of its own."""
    with monkeypatch.context() as patch:
        patch.setattr(sweep_module, "run_configuration", _fails_at("K=2 lossless B=4", lambda: error))
        with pytest.raises(InputError, match=r"the GPU failed at K=2 lossless B=4.*same command again") as caught:
            sweep(masked_pair, task, task.problems(3), configurations, Store(tmp_path))
    assert len(str(caught.value).splitlines()) == 1
    status = Store(tmp_path).tables().configurations["status"]
    assert sorted(status) == ["failed", *["running"] * (len(configurations) - 1)]
    rest = sweep(masked_pair, task, task.problems(3), configurations, Store(tmp_path))
    assert list(rest.failed) == ["K=2 lossless B=4"]
    assert rest.measured + rest.reused == 3 * (len(configurations) - 1)


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "shape mismatch",
    ],
)
def test_an_error_that_the_gpu_survives_is_told_from_a_failed_kernel(words: str) -> None:
    assert not Failure.of(RuntimeError(words)).device_lost
    assert Failure.of(RuntimeError("CUDA error: unspecified launch failure")).device_lost


def test_what_a_failed_forward_held_is_free_before_the_gpus_cache_is_emptied(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, held, alive = sweep_module.run_configuration, list[weakref.ref[torch.Tensor]](), list[bool]()

    def run(pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool = True) -> Generation:
        if configuration.steps == 2 and configuration.rule == "lossless":
            activations = torch.zeros(8)
            held.append(weakref.ref(activations))
            raise MemoryError("out of memory")
        return good(pair, prompt, configuration, seed, trace)

    monkeypatch.setattr(sweep_module, "run_configuration", run)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: alive.append(held[0]() is not None))
    sweep(masked_pair, task, task.problems(1), configurations, Store(tmp_path))
    assert alive == [False]


def test_a_profile_measures_again_what_failed_in_an_earlier_session(
    masked_pair: Pair, task: Any, tmp_path: Path
) -> None:
    settings = ProfileSettings(steps=(1,), thresholds=(), block_size=4, max_new_tokens=8)
    store = Store(tmp_path)
    configurations = settings.configurations(masked_pair.name, task.name)
    store.declare(configurations)
    store.mark_failed(configurations[-1].key, "RuntimeError: out of memory")
    profile = profile_pair(masked_pair, task, task.problems(2), settings, store)
    assert [effort.steps for effort in profile.efforts] == [1]
    assert store.status(configurations[-1].key) == "done"


def test_policies_measure_again_what_failed_in_an_earlier_session(
    masked_pair: Pair, task: Any, configurations: list[Configuration], calls: list, tmp_path: Path
) -> None:
    store, problems = Store(tmp_path), task.problems(1)
    store.declare(configurations)
    store.mark_failed(configurations[0].key, "RuntimeError: out of memory")
    policies._measure(Job(masked_pair, task, problems, store), masked_pair, problems, configurations)
    assert store.status(configurations[0].key) == "done"


def test_a_task_that_refuses_to_score_ends_the_sweep(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> bool:
        raise InputError("scoring runs generated code; give --allow-code-execution")

    monkeypatch.setattr(task, "score", refuse)
    with pytest.raises(InputError, match="allow-code-execution"):
        sweep(masked_pair, task, task.problems(2), configurations, Store(tmp_path))
    assert len(calls) == 1


def test_no_configuration_comes_first_on_every_problem(
    masked_pair: Pair, task: Any, configurations: list[Configuration], tmp_path: Path
) -> None:
    """What a machine does after a pause falls on all alike; a problem has the same order at every resumption."""
    orders = []
    for run in ("a", "b"):
        order: list[tuple[str, str]] = []
        sweep(
            masked_pair, task, task.problems(8), configurations, Store(tmp_path / run),
            on_problem=lambda c, record, order=order: order.append((record.problem["problem"], c.key)),
        )  # fmt: skip
        orders.append(order)
    assert orders[0] == orders[1]
    size = len(configurations)
    first = {key for _, key in orders[0][::size]}
    assert len(first) > 1
    assert {key for _, key in orders[0][:size]} == {c.key for c in configurations}


def test_a_text_that_cannot_be_scored_costs_one_configuration(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would come back at every resumption: a problem's seed is always the same."""
    scored: list[str] = []

    def score(problem: Any, _: str) -> bool:
        scored.append(problem.identifier)
        if len(scored) == 1:
            raise RecursionError("too deep")
        return True

    monkeypatch.setattr(task, "score", score)
    result = sweep(masked_pair, task, task.problems(2), configurations, Store(tmp_path))
    assert list(result.failed.values()) == ["scoring toy-0: RecursionError: too deep"]
    assert result.measured == 2 * (len(configurations) - 1)


def test_running_out_of_memory_after_generation_fails_one_configuration(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The verifier's pass over the whole text needs more memory than any round of it."""
    asked = [0]

    def likelihood(*_: object) -> float:
        asked[0] += 1
        if asked[0] == 1:
            raise MemoryError("out of memory")
        return -1.0

    monkeypatch.setattr(Pair, "log_likelihood", likelihood)
    result = sweep(masked_pair, task, task.problems(1), configurations, Store(tmp_path))
    assert list(result.failed.values()) == ["MemoryError: out of memory"]
    assert result.measured == len(configurations) - 1


def test_an_effort_that_the_drafter_has_not_fails_alone(masked_pair: Pair, task: Any, tmp_path: Path) -> None:
    grid = SweepGrid((1,), (0.5,), ("lossless",), (4,), 8, modes=("speculative",))
    configurations = grid.configurations(masked_pair.name, "toy")
    result = sweep(masked_pair, task, task.problems(1), configurations, Store(tmp_path))
    assert list(result.failed) == ["tau=0.5 lossless B=4"]
    assert result.measured == 1


def test_a_full_disk_ends_the_sweep_in_one_line_and_loses_nothing(
    masked_pair: Pair,
    task: Any,
    configurations: list[Configuration],
    calls: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, write, left = Store(tmp_path), pq.write_table, [7]

    def fills_up(*args: Any, **kwargs: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        write(*args, **kwargs)

    monkeypatch.setattr(pq, "write_table", fills_up)
    with pytest.raises(InputError, match=r"no space left on device.*kept.*same command again"):
        sweep(masked_pair, task, task.problems(3), configurations, store)
    monkeypatch.setattr(pq, "write_table", write)
    assert len(store.tables().problems) == 7
    assert "failed" not in set(store.tables().configurations["status"])
    result = sweep(masked_pair, task, task.problems(3), configurations, Store(tmp_path))
    assert (result.measured, result.reused) == (8, 7)


def test_work_that_kills_its_process_each_time_is_given_up(
    masked_pair: Pair, task: Any, configurations: list[Configuration], calls: list, tmp_path: Path
) -> None:
    store, problem = Store(tmp_path), task.problems(1)[0]
    store.declare(configurations)
    name = f"{configurations[0].key}-{sweep_module.digest(problem.identifier)}"
    for _ in range(MOST_ATTEMPTS):
        store.claims.begin(name)
    result = sweep(masked_pair, task, [problem], configurations, store)
    assert list(result.failed) == ["verifier alone"]
    assert "out of memory?" in result.failed["verifier alone"]
    assert result.measured == len(configurations) - 1


def test_a_claim_is_exclusive_and_ends_with_its_block(tmp_path: Path) -> None:
    first, second = Claims(tmp_path), Claims(tmp_path)
    with first.claim("x") as mine, second.claim("x") as theirs:
        assert mine
        assert not theirs
    with second.claim("x") as theirs:
        assert theirs


def _work(task: Any, tmp_path: Path, n: int, result: str) -> None:
    """A process's share of a sweep; models are replaced by a constant, and every measurement is logged."""
    log = tmp_path / "log"

    def run(pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool = True) -> Generation:
        if configuration.max_new_tokens == GRID.max_new_tokens:
            with log.open("a") as file:
                file.write(f"{configuration.label}|{prompt}\n")
            time.sleep(0.02)
        return fake_generation()

    sweep_module.run_configuration = run
    sweep_module.check_configuration = lambda pair, configuration: None
    sweep_module.pair_for_task = lambda pair, task: pair
    configurations = GRID.configurations("toy", "toy")
    store = Store(tmp_path / "run")
    done = sweep(None, task, task.problems(n), configurations, store, trace=False)  # type: ignore[arg-type]
    (tmp_path / result).write_text(f"{done.measured} {done.reused}")


def _start(task: Any, tmp_path: Path, n: int, result: str) -> BaseProcess:
    """A forked process, so that nothing has to be imported again."""
    process = get_context("fork").Process(target=_work, args=(task, tmp_path, n, result), daemon=True)
    process.start()
    return process


def _work_on_little_disk(task: Any, tmp_path: Path, n: int, result: str) -> None:
    """As `_work`, where no file may grow beyond a size that the notes fit in and a part does not."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))
    try:
        _work(task, tmp_path, n, "none")
    except InputError as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        (tmp_path / result).write_text(str(error))


def _counts(tmp_path: Path, result: str) -> tuple[int, int]:
    measured, reused = (tmp_path / result).read_text().split()
    return int(measured), int(reused)


def _measured(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def test_after_sigkill_a_sweep_resumes_without_loss_or_repetition(task: Any, tmp_path: Path) -> None:
    n, cells = 12, len(GRID.configurations("toy", "toy"))
    process = _start(task, tmp_path, n, "first")
    while len(_measured(tmp_path)) < 20:
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    stored = len(Store(tmp_path / "run").tables().problems)
    # Whatever had been measured was stored, but for the one that was running.
    assert len(_measured(tmp_path)) - stored in (0, 1)
    _start(task, tmp_path, n, "second").join()
    assert _counts(tmp_path, "second") == (cells * n - stored, stored)
    assert sum(times - 1 for times in Counter(_measured(tmp_path)).values()) <= 1
    tables = Store(tmp_path / "run").tables()
    assert len(tables.problems) == cells * n
    assert not tables.problems.duplicated(["config", "problem"]).any()


def test_a_file_that_the_kernel_refuses_to_grow_ends_the_sweep_in_one_line(task: Any, tmp_path: Path) -> None:
    """The real thing, not a patched writer: then the same sweep with room loses and repeats nothing."""
    process = get_context("fork").Process(target=_work_on_little_disk, args=(task, tmp_path, 2, "error"))
    process.start()
    process.join()
    message = (tmp_path / "error").read_text()
    assert "file too large" in message
    assert "same command again" in message
    assert len(message.splitlines()) == 1
    assert not list((tmp_path / "run").rglob("*.tmp"))
    _start(task, tmp_path, 2, "second").join()
    cells = len(GRID.configurations("toy", "toy"))
    assert _counts(tmp_path, "second") == (2 * cells, 0)


def test_two_processes_share_a_store_without_repeating_a_problem(task: Any, tmp_path: Path) -> None:
    n, cells = 10, len(GRID.configurations("toy", "toy"))
    processes = [_start(task, tmp_path, n, result) for result in ("first", "second")]
    for process in processes:
        process.join()
    shares = [_counts(tmp_path, result)[0] for result in ("first", "second")]
    assert sum(shares) == cells * n
    assert min(shares) > 0
    assert max(Counter(_measured(tmp_path)).values()) == 1
    assert len(Store(tmp_path / "run").tables().problems) == cells * n
    assert not list((tmp_path / "run" / "claims").iterdir())


def test_a_dead_process_leaves_no_claim_behind(task: Any, tmp_path: Path) -> None:
    process = _start(task, tmp_path, 1000, "first")
    while not _measured(tmp_path):
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    claims = Claims(tmp_path / "run" / "claims")
    names = [path.stem for path in claims.folder.glob("*.lock")]
    for name in names:
        with claims.claim(name) as claimed:
            assert claimed


def test_remaining_time_knows_that_configurations_differ() -> None:
    remaining = RemainingTime(["fast"] * 3 + ["slow"] * 3)
    assert remaining.seconds() is None
    remaining.done("fast", 1.0)
    assert remaining.seconds() == pytest.approx(5 * 1.0)
    remaining.done("slow", 10.0)
    assert remaining.seconds() == pytest.approx(2 * 1.0 + 2 * 10.0)
    remaining.drop("slow", 2)
    assert remaining.seconds() == pytest.approx(2 * 1.0)


def test_progress_is_silent_unless_it_is_a_terminal() -> None:
    for terminal in (False, True):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal)
        with SweepProgress(["a", "a"], console) as progress:
            progress.done("a", "K=1", 1.0)
        assert bool(stream.getvalue()) is terminal


def test_a_schedule_of_rules_is_swept_and_stored_under_its_spec(masked_pair: Pair, task: Any, tmp_path: Path) -> None:
    """Full leniency at positions 1 to 3: every full block of four keeps at least those."""
    grid = SweepGrid((2,), (), ("linear:1@1-3/lossless",), (4,), 9, modes=("speculative", "assisted"))
    (configuration,) = grid.configurations(masked_pair.name, "toy")
    store = Store(tmp_path)
    assert not sweep(masked_pair, task, task.problems(3), [configuration], store).failed
    assert configuration.rule == "linear:1.0@1-3/lossless"
    tables = store.tables()
    assert set(tables.configurations["rule"]) == {configuration.rule}
    assert (tables.rounds["accepted"] >= tables.rounds["verified"].clip(upper=3)).all()
    (measured,) = measure(tables).to_dict("records")
    assert measured["rule"] == configuration.rule
