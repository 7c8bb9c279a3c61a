"""`specfrontier generate`: one output, and what it cost."""

from __future__ import annotations

from typing import Annotated

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import (
    CompileOption,
    DeviceMapOption,
    DeviceOption,
    DrafterDeviceOption,
    DtypeOption,
    JsonOption,
    LimitOption,
    PairArgument,
    SeedOption,
    TaskOption,
    linear,
)
from specfrontier.profiling.commands.output import console, print_json


def command(
    pair: PairArgument,
    prompt: Annotated[str, typer.Argument(help="Prompt; the pair's own format is put around it.")],
    steps: Annotated[int | None, typer.Option("--steps", help="Diffusion effort K >= 1 (1 by default).")] = None,
    threshold: Annotated[float | None, typer.Option("--threshold", help="tau in (0, 1] in place of K.")] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Acceptance rule, such as cactus:1.")] = None,
    lam: Annotated[float | None, typer.Option("--lam", help="Leniency of the linear rule, in [0, 1].")] = None,
    block_size: Annotated[int | None, typer.Option("--block-size", help="B >= 1; the pair's by default.")] = None,
    max_new_tokens: LimitOption = None,
    verification: Annotated[str, typer.Option("--verification", help="paper or exact.")] = "paper",
    task: TaskOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = None,
    drafter_device: DrafterDeviceOption = None,
    dtype: DtypeOption = None,
    device_map: DeviceMapOption = None,
    compile: CompileOption = False,
    json: JsonOption = False,
) -> None:
    """Generate from a prompt by Algorithm 1."""
    if rule is not None and lam is not None:
        raise InputError("both --rule and --lam are given; give one of them")
    spec = linear(lam) if lam is not None else rule or "lossless"

    from specfrontier.decoding import read_pair_file
    from specfrontier.profiling.configuration import Configuration
    from specfrontier.profiling.load_options import LoadOptions
    from specfrontier.profiling.modes import pair_for_task

    load = LoadOptions(device, drafter_device, dtype, device_map, compile)
    file = read_pair_file(pair)
    configuration = Configuration(
        pair=file.name,
        task=task or file.tasks[0],
        mode="speculative",
        max_new_tokens=file.token_limit(task) if max_new_tokens is None else max_new_tokens,
        steps=1 if steps is None and threshold is None else steps,
        threshold=threshold,
        rule=spec,
        block_size=file.block_size if block_size is None else block_size,
        verification=verification,  # type: ignore[arg-type]
        seed=seed,
    )
    if not prompt.strip():
        raise InputError("the prompt is empty; give some text")
    loaded = pair_for_task(load.load(pair), configuration.task)
    generation = loaded.run(prompt, configuration.settings(seed))
    if json:
        print_json({"configuration": configuration, "generation": generation, "throughput": generation.throughput})
        return
    out = console()
    out.print(generation.text, markup=False)
    rounds = len(generation.rounds)
    out.print(
        f"{len(generation.tokens)} tokens in {rounds} rounds, {generation.throughput:.1f} tokens/s, "
        f"{len(generation.tokens) / rounds:.2f} tokens a round ({configuration.label})",
        style="dim",
    )
