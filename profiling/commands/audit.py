"""`specfrontier audit`: whether multi-step drafts were verified exactly."""

from __future__ import annotations

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import JsonOption, MaybeOutOption, RunArgument
from specfrontier.profiling.commands.output import console, effort, number, percent, print_json, print_table, records


def command(run: RunArgument, out: MaybeOutOption = None, json: JsonOption = False) -> None:
    """Audit the drafts in RUN: violations of the order condition, and what exact verification costs.

    Measure with `--verification paper,exact` to have both sides.
    """
    from specfrontier.profiling.audit import audit_table
    from specfrontier.profiling.folders import writable_folder
    from specfrontier.profiling.run_folder import read_run

    tables = read_run(run)
    table = audit_table(tables.configurations, tables.rounds)
    if table.empty:
        raise InputError(f"no traced rounds in {run}; measure without --no-trace")
    if out is not None:
        path = writable_folder(out) / "audit.csv"
        table.to_csv(path, index=False)
    if json:
        print_json({"rows": records(table)})
        return
    header = ("configuration", "verification", "rounds", "exact blocks", "first violation", "exact positions")
    print_table(
        "Exactness audit",
        (*header, "reached one", "tokens/round"),
        (
            (
                f"{effort(row['steps'], row['threshold'])} B={row['block_size']} {row['rule']}",
                row["verification"],
                row["rounds"],
                percent(row["exact_blocks"], None),
                number(row["first_violation"]),
                percent(row["exact_positions"], None),
                percent(row["past_violation"], None),
                number(row["tokens_per_round"]),
            )
            for row in table.to_dict("records")
        ),
    )
    if out is not None:
        console().print(str(path))
