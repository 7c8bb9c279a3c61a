"""`specfrontier pairs`: what can be measured out of the box."""

from __future__ import annotations

from specfrontier.profiling.commands.options import JsonOption
from specfrontier.profiling.commands.output import print_json, print_table


def command(json: JsonOption = False) -> None:
    """List the shipped pairs, and say which fit into the memory that is free here."""
    from specfrontier.decoding.memory import GIB, memory_check
    from specfrontier.decoding.pair_file import pair_names, read_pair_file

    files = [read_pair_file(name) for name in pair_names()]
    checks = {f.name: memory_check(f) for f in files}
    if json:
        memory = {
            name: {"device": c.device, "need_bytes": c.need.total, "free_bytes": c.free, "fits": c.fits}
            for name, c in checks.items()
        }
        print_json({"pairs": files, "memory": memory})
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
            f"{checks[f.name].need.total / GIB:.1f} GiB",
            "yes" if checks[f.name].fits else "no",
        )
        for f in files
    ]
    columns = ("name", "verifier", "drafter", "family", "B", "tasks", "parameters", "memory", "fits here")
    print_table("Pairs", columns, rows)
