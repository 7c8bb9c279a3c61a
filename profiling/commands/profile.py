"""`specfrontier profile`: d_K, c_d(K) and c_v of a pair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import (
    AnchorsOption,
    CodeOption,
    CompileOption,
    DataOption,
    DeviceMapOption,
    DeviceOption,
    DrafterDeviceOption,
    DtypeOption,
    JsonOption,
    LimitOption,
    OutOption,
    PairArgument,
    SeedOption,
    StepsOption,
    TaskOption,
    ThresholdsOption,
    UnisolatedOption,
    integers,
    names,
    thresholds,
)
from specfrontier.profiling.commands.output import console, milliseconds, number, print_json, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from specfrontier.profile import Estimate, LineFit, Profile
    from specfrontier.profiling.load_options import LoadOptions
    from specfrontier.profiling.profiler import ProfileSettings


def command(
    pair: PairArgument,
    out: OutOption,
    task: TaskOption = None,
    n: Annotated[int, typer.Option("--n", help="Prompts; the paper calibrates on 50.")] = 50,
    steps: StepsOption = None,
    taus: ThresholdsOption = None,
    block_size: Annotated[int | None, typer.Option("--block-size", help="B; the pair's own by default.")] = None,
    max_new_tokens: LimitOption = None,
    anchors: AnchorsOption = None,
    seed: SeedOption = 0,
    data: DataOption = None,
    allow_code_execution: CodeOption = False,
    allow_unisolated: UnisolatedOption = False,
    device: DeviceOption = None,
    drafter_device: DrafterDeviceOption = None,
    dtype: DtypeOption = None,
    device_map: DeviceMapOption = None,
    compile: CompileOption = False,
    random_weights: Annotated[
        bool,
        typer.Option("--random-weights", help="Costs only, at the pair's true size, without a download: no d_K."),
    ] = False,
    prompt_tokens: Annotated[
        int, typer.Option("--prompt-tokens", help="Length of the random prompts of --random-weights.")
    ] = 128,
    json: JsonOption = False,
) -> None:
    """Profile a pair: distances, costs and overheads, with their uncertainty.

    Writes profile.json and the run's tables to --out; given again, it goes on where it was. With --random-weights it
    writes a profile.json that is marked so, and that nothing can be predicted from.
    """
    if random_weights:
        _refuse(
            {
                "--data": data is not None,
                "--allow-code-execution": allow_code_execution,
                "--allow-unisolated": allow_unisolated,
                "--thresholds": bool(taus),
            }
        )
    efforts = {"steps": integers(steps, "steps (K)"), "thresholds": thresholds(taus)}

    from specfrontier.decoding import read_pair_file
    from specfrontier.profiling.grid import default_grid, with_overrides
    from specfrontier.profiling.job import open_job
    from specfrontier.profiling.load_options import LoadOptions
    from specfrontier.profiling.profiler import ProfileSettings, profile_pair
    from specfrontier.profiling.results import write_measurements
    from specfrontier.profiling.tasks.options import TaskOptions

    load = LoadOptions(device, drafter_device, dtype, device_map, compile)
    source = TaskOptions(data, allow_code_execution, allow_unisolated)
    file = read_pair_file(pair)
    task = task or file.tasks[0]
    grid = with_overrides(default_grid(file, task), efforts)
    settings = ProfileSettings(
        steps=grid.steps,
        thresholds=grid.thresholds,
        block_size=file.block_size if block_size is None else block_size,
        max_new_tokens=grid.max_new_tokens if max_new_tokens is None else max_new_tokens,
        verify_block_sizes=file.grid_for(task).block_sizes,
        seed=seed,
        anchors=names(anchors, "anchors") or (),
    )
    settings.configurations(file.name, task)  # a setting out of range is said before the models are loaded
    if random_weights:
        profile = _costs(pair, task, settings, out, n, prompt_tokens, load)
    else:
        job = open_job(
            pair,
            task,
            out,
            n=n,
            source=source,
            load=load,
            seed=seed,
        )
        profile = profile_pair(job.pair, job.task, job.problems, settings, job.store)
        write_measurements(job.store)
    profile.save(out / "profile.json")
    if json:
        print_json(profile)
    else:
        show(profile)


def _refuse(given: dict[str, bool]) -> None:
    for option in (name for name, is_given in given.items() if is_given):
        raise InputError(f"--random-weights measures costs, not d_K, accuracy or text; leave out {option}")


def _costs(
    name: str, task: str, settings: ProfileSettings, out: Path, n: int, prompt_tokens: int, load: LoadOptions
) -> Profile:
    """The profile of a pair of random weights, for a folder that holds nothing of a pair with its own."""
    from specfrontier.profile import Profile
    from specfrontier.profiling.cost_profile import profile_costs
    from specfrontier.profiling.folders import writable_folder

    earlier = out / "profile.json"
    if (out / "configurations").exists() or (earlier.exists() and not Profile.load(earlier).random_weights):
        raise InputError(f"{out} holds results of a pair with its own weights; give --random-weights another folder")
    writable_folder(out)
    pair = load.load(name, random_weights=True)
    return profile_costs(pair, task, replace(settings, thresholds=()), repeats=n, prompt_tokens=prompt_tokens)


def show(profile: Profile) -> None:
    """Print a profile for people."""
    from specfrontier.profiling.commands.output import effort

    print_table(
        f"{profile.pair} on {profile.task}, B={profile.block_size}",
        ("effort", "d_K visited", "d_K block", "acceptance", "tokens/round", "draft ms"),
        (
            (
                effort(e.steps, e.threshold),
                _interval(e.d_visited),
                number(e.d_block.value),
                number(e.acceptance.value),
                number(e.tokens_per_round.value),
                milliseconds(e.draft_s.value),
            )
            for e in profile.efforts
        ),
    )
    out = console()
    if profile.draft_cost is not None:
        out.print(f"draft   c_d(K) = {_line(profile.draft_cost)}")
    out.print(
        f"verify  c_v = {milliseconds(profile.verify_cost.value)} ms "
        f"[{milliseconds(profile.verify_cost.low)}, {milliseconds(profile.verify_cost.high)}]"
    )
    out.print(
        f"host    {number(100 * profile.host_share)} % of a round is no model's forward; "
        f"deciding takes {milliseconds(profile.host_s.value)} ms of it; "
        f"verifier alone {milliseconds(profile.autoregressive_s.value)} ms a token"
    )
    if profile.random_weights:
        out.print("random weights: costs only, no d_K")


def _interval(estimate: Estimate) -> str:
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def _line(fit: LineFit) -> str:
    a, b = milliseconds(fit.intercept.value), milliseconds(fit.slope.value)
    return f"{a} + {b} K ms (R² = {fit.r_squared:.3f})"
