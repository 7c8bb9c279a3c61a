"""The study of SmolLM2 on an ordinary machine: `python -m benchmarks.smollm2_study --data gsm8k_test.jsonl`.

Nothing but commands that anyone can give, in order; an interrupted study goes on where it was. The tables that the
documentation shows are written to `docs/data/smollm2`.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pandas as pd

from benchmarks.studies import give, write_scores

TABLES = Path("docs/data/smollm2")
TOKENS = 64
LENIENCIES = "lossless,linear:0.3,linear:0.6,linear:1"
ASSISTED = "lossless,linear:0.2,linear:0.4,linear:0.6,linear:0.8"
"""Rules that assisted generation has too."""


def commands(pair: str, n: int, runs: Path, data: Path) -> list[str]:
    """The commands of one pair's part of the study."""
    run = runs / f"smollm2-{pair}"
    common = f"smollm2-{pair} --data {data} --n {n} --max-new-tokens {TOKENS} --out {run}"
    if pair == "ar":
        return [
            f"specfrontier measure {common} --modes autoregressive,assisted,speculative --rules {ASSISTED}"
            " --block-sizes 4",
            f"specfrontier profile {common} --block-size 4",
            *_predictions(run, ASSISTED, "1", "4"),
            f"specfrontier price smollm2-ar --data {data} --max-new-tokens {TOKENS} --out {run}",
        ]
    if pair == "dflash":
        return [
            f"specfrontier measure {common} --modes autoregressive,speculative --rules {LENIENCIES} --block-sizes 4"
        ]
    return [
        f"specfrontier measure {common} --modes autoregressive,speculative --steps 1,2,4 --rules {LENIENCIES}"
        " --block-sizes 4",
        f"specfrontier measure {common} --modes speculative --steps 1,2,4 --rules lossless --block-sizes 16"
        " --verification paper,exact",
        f"specfrontier measure {common} --modes speculative --thresholds 0.5,0.9 --rules lossless --block-sizes 16",
        f"specfrontier profile {common} --block-size 4 --steps 1,2,4",
        *_predictions(run, LENIENCIES, "1,2,4", "4"),
        f"specfrontier audit {run} --out {run}",
    ]


def _predictions(run: Path, rules: str, steps: str, block_sizes: str) -> list[str]:
    return [
        f"specfrontier predict {run} --rules {rules} --steps {steps} --block-sizes {block_sizes}"
        f" --predictor closed-form,replay --out {run}",
        f"specfrontier compare {run} --out {run}",
    ]


def collect(runs: Path) -> None:
    """Copy what the documentation shows, as CSV."""
    TABLES.mkdir(parents=True, exist_ok=True)
    for run in sorted(runs.glob("smollm2-*")):
        for name in ("measurements", "predictions"):
            if (run / f"{name}.parquet").exists():
                pd.read_parquet(run / f"{name}.parquet").to_csv(TABLES / f"{run.name}-{name}.csv", index=False)
        if (run / "comparison.json").exists():
            write_scores(run, TABLES, run.name)
        for path in run.glob("*.csv"):
            shutil.copy(path, TABLES / f"{run.name}-{path.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="gsm8k_test.jsonl")
    parser.add_argument("--n", type=int, default=8, help="problems")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--pairs", default="ar,block,dflash")
    arguments = parser.parse_args()
    for pair in arguments.pairs.split(","):
        for command in commands(pair, arguments.n, arguments.runs, arguments.data):
            give(command)
    collect(arguments.runs)


if __name__ == "__main__":
    main()
