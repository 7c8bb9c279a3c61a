"""`specfrontier price`: what acceptance rules cost on a pair's own distributions."""

from __future__ import annotations

from typing import Annotated

import typer

from specfrontier.profiling.commands.options import (
    CompileOption,
    CountOption,
    DataOption,
    DeviceMapOption,
    DeviceOption,
    DrafterDeviceOption,
    DtypeOption,
    JsonOption,
    LimitOption,
    MaybeOutOption,
    PairArgument,
    SeedOption,
    TaskOption,
    names,
)
from specfrontier.profiling.commands.output import console, number, print_json, print_table, records


def command(
    pair: PairArgument,
    out: MaybeOutOption = None,
    task: TaskOption = None,
    positions: Annotated[int, typer.Option("--positions", help="Visited positions to price, at most.")] = 500,
    steps: Annotated[int, typer.Option("--steps", help="Diffusion effort K of the drafts.")] = 1,
    n: CountOption = None,
    specs: Annotated[str | None, typer.Option("--rules", help="Rules to price; four families by default.")] = None,
    block_size: Annotated[int | None, typer.Option("--block-size", help="B; the pair's own by default.")] = None,
    max_new_tokens: LimitOption = None,
    data: DataOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = None,
    drafter_device: DrafterDeviceOption = None,
    dtype: DtypeOption = None,
    device_map: DeviceMapOption = None,
    compile: CompileOption = False,
    json: JsonOption = False,
) -> None:
    """Price acceptance rules on the laws that lossless decoding visits: acceptance against TV, KL and chi-square.

    The texts are those that `measure` decodes losslessly with the same settings.
    """
    from specfrontier.decoding import read_pair_file
    from specfrontier.decoding.drafters.base import check_count
    from specfrontier.decoding.laws import visited_laws
    from specfrontier.profiling.configuration import Configuration
    from specfrontier.profiling.folders import writable_folder
    from specfrontier.profiling.load_options import LoadOptions
    from specfrontier.profiling.modes import pair_for_task
    from specfrontier.profiling.price import default_specs, price_table
    from specfrontier.profiling.tasks.options import TaskOptions
    from specfrontier.profiling.tasks.registry import load_task
    from specfrontier.simulate.grid import parse_rule

    load = LoadOptions(device, drafter_device, dtype, device_map, compile)
    file = read_pair_file(pair)
    name = task or file.tasks[0]
    chosen = names(specs, "rules") or default_specs()
    for spec in chosen:
        parse_rule(spec)
    check_count("positions", positions)
    decoding = Configuration(
        pair=file.name,
        task=name,
        mode="speculative",
        steps=steps,
        rule="lossless",
        block_size=file.block_size if block_size is None else block_size,
        max_new_tokens=file.token_limit(name) if max_new_tokens is None else max_new_tokens,
        seed=seed,
    )
    if out is not None:
        writable_folder(out)
    found = load_task(name, TaskOptions(data))
    problems = found.problems(n, seed)
    laws = visited_laws(
        pair_for_task(load.load(pair), name),
        [found.prompt(problem) for problem in problems],
        decoding.settings(seed),
        seeds=[decoding.problem_seed(problem.identifier) for problem in problems],
        most=positions,
    )
    table = price_table(laws, chosen)
    if out is not None:
        path = out / "price.csv"
        table.to_csv(path, index=False)
    if json:
        print_json({"positions": len(laws.p), "prompts": int(laws.prompt.max()) + 1, "rows": records(table)})
        return
    print_table(
        f"Price of a rule: {len(laws.p)} visited positions of {int(laws.prompt.max()) + 1} prompts",
        ("rule", "acceptance", "bound", "TV", "KL", "chi2", "Hellinger"),
        (
            (row["rule"], *(number(row[c]) for c in ("acceptance_rate", "bound", "tv", "kl", "chi2", "hellinger")))
            for row in table.to_dict("records")
        ),
    )
    if out is not None:
        console().print(str(path))
