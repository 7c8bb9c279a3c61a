"""Prediction against measurement on the embedded pairs: `python -m benchmarks.demo_study`.

Takes three quarters of an hour on an idle machine. Runs the main job on each pair and writes its scores to
`docs/data/demo`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.studies import give, write_scores

TABLES = Path("docs/data/demo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", default="arith-masked,arith-uniform,arith-ar")
    parser.add_argument("--minutes", type=float, default=12.0, help="of each pair's recording")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    arguments = parser.parse_args()
    for pair in arguments.pairs.split(","):
        run = arguments.runs / f"demo-{pair}"
        give(f"specfrontier demo --pair {pair} --minutes {arguments.minutes:g} --out {run}")
        write_scores(run, TABLES, pair)


if __name__ == "__main__":
    main()
