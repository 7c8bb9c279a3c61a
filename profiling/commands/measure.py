"""`specfrontier measure`: run a grid of configurations end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specfrontier.profiling.commands.options import (
    BlockSizesOption,
    CodeOption,
    CompileOption,
    CountOption,
    DataOption,
    DeviceMapOption,
    DeviceOption,
    DrafterDeviceOption,
    DtypeOption,
    JsonOption,
    LeniencyOption,
    LimitOption,
    OutOption,
    PairArgument,
    RulesOption,
    StepsOption,
    TaskOption,
    ThresholdsOption,
    UnisolatedOption,
    integers,
    names,
    rules,
    seeds,
    thresholds,
)
from specfrontier.profiling.commands.output import (
    console,
    effort,
    number,
    percent,
    plain,
    print_json,
    print_table,
    records,
)

if TYPE_CHECKING:
    import pandas as pd

    from specfrontier.decoding import PairFile
    from specfrontier.profiling.grid import SweepGrid
    from specfrontier.profiling.scale_out import SweepJob
    from specfrontier.profiling.store import Store
    from specfrontier.profiling.sweep import SweepResult


def command(
    pair: PairArgument,
    out: OutOption,
    task: TaskOption = None,
    n: CountOption = None,
    steps: StepsOption = None,
    taus: ThresholdsOption = None,
    specs: RulesOption = None,
    lam: LeniencyOption = None,
    block_sizes: BlockSizesOption = None,
    seed_list: Annotated[
        str | None,
        typer.Option(
            "--seeds", help="Independent repetitions, such as 0,1,2 (0 by default); the first orders the problems too."
        ),
    ] = None,
    verifications: Annotated[str | None, typer.Option("--verification", help="paper, exact or both.")] = None,
    modes: Annotated[
        str | None, typer.Option("--modes", help="Of speculative,autoregressive,drafter,assisted.")
    ] = None,
    max_new_tokens: LimitOption = None,
    grid_file: Annotated[Path | None, typer.Option("--grid", help="TOML file of the grid; flags win.")] = None,
    data: DataOption = None,
    allow_code_execution: CodeOption = False,
    allow_unisolated: UnisolatedOption = False,
    trace: Annotated[bool, typer.Option(help="Record the laws of every position, outside the clock.")] = True,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed configurations again.")] = False,
    device: DeviceOption = None,
    drafter_device: DrafterDeviceOption = None,
    dtype: DtypeOption = None,
    device_map: DeviceMapOption = None,
    compile: CompileOption = False,
    ray: Annotated[bool, typer.Option("--ray", help="Run on Ray on this machine, one worker a GPU.")] = False,
    ray_address: Annotated[str | None, typer.Option("--ray-address", help="Run on this Ray cluster.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Ray workers, instead of one a GPU.")] = None,
    json: JsonOption = False,
) -> None:
    """Measure a grid: every effort, rule, block size and seed, and the baselines beside them.

    Every finished problem is stored at once: interrupted, give the same command again. Several processes may share one
    --out.
    """
    flags: dict[str, Any] = {
        "steps": integers(steps, "steps (K)"),
        "thresholds": thresholds(taus),
        "rules": rules(specs, lam),
        "block_sizes": integers(block_sizes, "block_size (B)"),
        "seeds": seeds(seed_list),
        "verifications": names(verifications, "verification"),
        "modes": names(modes, "modes"),
        "max_new_tokens": max_new_tokens,
    }

    from specfrontier.decoding import read_pair_file
    from specfrontier.profiling.grid import default_grid, read_overrides, with_overrides
    from specfrontier.profiling.load_options import LoadOptions
    from specfrontier.profiling.results import write_measurements
    from specfrontier.profiling.scale_out import SweepJob
    from specfrontier.profiling.tasks.options import TaskOptions

    file = read_pair_file(pair)
    task = task or file.tasks[0]
    grid = default_grid(file, task)
    if grid_file is not None:
        grid = with_overrides(grid, read_overrides(grid_file))
    grid = with_overrides(grid, flags)
    job = SweepJob(
        pair=pair,
        task=task,
        n=n,
        seed=grid.seeds[0],
        configurations=tuple(grid.configurations(file.name, task)),
        folder=out,
        options={"trace": trace, "retry_failed": retry_failed},
        source=TaskOptions(data, allow_code_execution, allow_unisolated),
        load=LoadOptions(device, drafter_device, dtype, device_map, compile),
    )
    if ray or ray_address is not None or workers is not None:
        store, done = _on_ray(job, file, grid, ray_address, workers)
    else:
        store, done = _here(job, grid)
    table = write_measurements(store)
    status = [store.status(key) for key in table["config"]]
    if json:
        rows = records(table.assign(status=status))
        print_json({"measured": done.measured, "reused": done.reused, "failed": done.failed, "rows": rows})
    else:
        show(table, [each == "failed" for each in status])
        for label, error in done.failed.items():
            console().print(f"failed: {label}: {error}", markup=False)
    if done.failed and not done.measured + done.reused:
        raise typer.Exit(1)  # a script must see that there is nothing to read


def _here(job: SweepJob, grid: SweepGrid) -> tuple[Store, SweepResult]:
    """Sweep in this process."""
    from specfrontier.profiling.job import open_job
    from specfrontier.profiling.sweep import sweep

    found = open_job(
        job.pair,
        job.task,
        job.folder,
        n=job.n,
        source=job.source,
        load=job.load,
        seed=job.seed,
        settings={"grid": plain(grid)},
    )
    return found.store, sweep(found.pair, found.task, found.problems, job.configurations, found.store, **job.options)


def _on_ray(
    job: SweepJob, file: PairFile, grid: SweepGrid, address: str | None, workers: int | None
) -> tuple[Store, SweepResult]:
    """Sweep on Ray, once the task's problems are known to be at hand."""
    from specfrontier.profiling.job import open_store
    from specfrontier.profiling.scale_out import check_cluster, sweep_on_ray
    from specfrontier.profiling.tasks.registry import load_task

    check_cluster(address, workers)
    load_task(job.task, job.source).problems(job.n, job.seed)
    stated = {"task": job.task, "n": job.n, "load": asdict(job.load), "grid": plain(grid)}
    store = open_store(file, job.folder, seed=job.seed, settings=stated)
    return store, sweep_on_ray(job.resolved(), address=address, workers=workers)


def show(table: pd.DataFrame, failed: Sequence[bool] | None = None) -> None:
    """Print measurements for people, the fastest last; what a configuration measured before it failed is marked."""
    import pandas as pd

    marks = ["" if not each else " (failed)" for each in failed or [False] * len(table)]
    apart = _told_apart_by(table)
    print_table(
        "Measured",
        ("configuration", "n", "accuracy %", "tokens/s", "latency s", "tokens/round", "acceptance", "agreement"),
        (
            (
                ", ".join([name(row), *(f"{w} {row[c]}" for c, w in apart if not pd.isna(row[c]))]) + row["mark"],
                row["n"],
                percent(row["accuracy"], row["accuracy_se"]),
                f"{number(row['throughput'], 4)} ± {number(row['throughput_se'], 2)}",
                number(row["latency"]),
                number(row["tokens_per_round"]),
                number(row["acceptance"]),
                number(row["agreement"]),
            )
            for row in table.assign(mark=marks).sort_values("throughput").to_dict("records")
        ),
    )


def _told_apart_by(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Settings beside effort, rule and block size that differ within the table, and what they are called."""
    words = {"pair": "pair", "task": "task", "verification": "verification", "max_new_tokens": "limit", "seed": "seed"}
    return [(column, word) for column, word in words.items() if table[column].dropna().nunique() > 1]


def name(row: dict[str, Any]) -> str:
    """A configuration's row as a label."""
    if row["mode"] == "autoregressive":
        return "verifier alone"
    label = f"{effort(row['steps'], row['threshold'])} B={row['block_size']}"
    if row["mode"] == "drafter":
        return f"drafter alone {label}"
    prefix = "assisted " if row["mode"] == "assisted" else ""
    return f"{prefix}{label} {row['rule']}"
