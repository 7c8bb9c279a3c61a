"""A sweep survives anything: killed, out of disk, out of memory, shared, grown."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from specfrontier.decoding import Generation, Pair, Round
from specfrontier.errors import InputError
from specfrontier.profiling import sweep as sweep_module
from specfrontier.profiling.claims import Claims
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.grid import SweepGrid
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


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import conftest
from specfrontier.decoding import Generation, Round
from specfrontier.profiling import sweep as sweep_module
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.store import Store
import time, os

record = Round(0, 3, 4, 4, 4, 3, 4, 1, 0.01, 0.02, 0.001)
def run(pair, prompt, configuration, seed, trace=True):
    if configuration.max_new_tokens == 8:
        with open({log!r}, "a") as log:
            log.write(configuration.label + "|" + prompt + "\\n")
        time.sleep(0.02)
    return Generation("w1", (5, 6, 7, 8), 3, False, 0.0, 0.03, (record,))
sweep_module.run_configuration = run
sweep_module.check_configuration = lambda pair, configuration: None
sweep_module.pair_for_task = lambda pair, task: pair
task = conftest.ToyTask()
grid = SweepGrid((1, 2), (), ("lossless", "linear:0.5"), (4,), 8, modes=("speculative",))
store = Store(Path({folder!r}))
print("ready", flush=True)
result = sweep_module.sweep(None, task, task.problems({n}), grid.configurations("toy", "toy"), store)
print(result.measured, result.reused)
"""


def child(tmp_path: Path, n: int) -> subprocess.Popen[str]:
    code = CHILD.format(tests=str(Path(__file__).parent), log=str(tmp_path / "log"), folder=str(tmp_path / "run"), n=n)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_after_sigkill_a_sweep_resumes_without_loss_or_repetition(tmp_path: Path) -> None:
    n, log = 25, tmp_path / "log"
    process = child(tmp_path, n)
    while not log.exists() or len(log.read_text().splitlines()) < 20:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    stored = len(Store(tmp_path / "run").tables().problems)
    # Whatever had been measured was stored, but for the one that was running.
    assert len(log.read_text().splitlines()) - stored in (0, 1)
    output, _ = child(tmp_path, n).communicate(timeout=300)
    measured, reused = map(int, output.splitlines()[-1].split())
    assert (reused, measured) == (stored, 4 * n - stored)
    repeated = [line for line, times in Counter(log.read_text().splitlines()).items() if times > 1]
    assert len(repeated) <= 1
    tables = Store(tmp_path / "run").tables()
    assert len(tables.problems) == 4 * n
    assert not tables.problems.duplicated(["config", "problem"]).any()


def test_two_processes_share_a_store_without_repeating_a_problem(tmp_path: Path) -> None:
    n = 20
    first, second = child(tmp_path, n), child(tmp_path, n)
    outputs = [process.communicate(timeout=300)[0] for process in (first, second)]
    measured = [int(output.splitlines()[-1].split()[0]) for output in outputs]
    assert sum(measured) == 4 * n
    assert max(Counter((tmp_path / "log").read_text().splitlines()).values()) == 1
    assert len(Store(tmp_path / "run").tables().problems) == 4 * n
    assert {p.suffix for p in (tmp_path / "run" / "claims").iterdir()} <= {".lock"}


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
