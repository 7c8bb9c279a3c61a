"""`specfrontier pairs`: what can be measured out of the box."""

from __future__ import annotations

from specfrontier.profiling.commands.options import JsonOption
from specfrontier.profiling.commands.output import print_json, print_table


def command(json: JsonOption = False) -> None:
    """List the shipped pairs."""
    from specfrontier.decoding.pair_file import pair_names, read_pair_file

    files = [read_pair_file(name) for name in pair_names()]
    if json:
        print_json({"pairs": files})
        return
    rows = [
        (
            f.name,
            f.verifier.checkpoint,
            f.drafter.checkpoint,
            f.drafter.family,
            f.block_size,
            ", ".join(f.tasks),
            f"{sum(f.parameters):.3g} B",
        )
        for f in files
    ]
    print_table("Pairs", ("name", "verifier", "drafter", "family", "B", "tasks", "parameters"), rows)
