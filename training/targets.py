"""What the embedded models were meant to reach and what they do: `python -m training.targets runs`.

Reads the run folders that the commands in `training/README.md` write, and prints the table of that page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from specfrontier.profile import Profile
from specfrontier.profiling.measure import measure
from specfrontier.profiling.run_folder import read_run
from specfrontier.theory import pareto_mask

MOST_POINTS_LOST = 0.05


def percent(row: pd.Series) -> str:
    """Accuracy with its standard error."""
    return f"{100 * row['accuracy']:.1f} ± {100 * row['accuracy_se']:.1f} % (n = {row['n']})"


def accuracies(runs: Path) -> list[tuple[str, str, str]]:
    """Verifier alone, and each drafter alone at each effort."""
    rows = []
    for name in ("masked", "uniform", "ar"):
        table = measure(read_run(runs / f"targets-{name}"))
        for _, row in table.sort_values(["mode", "steps"]).iterrows():
            alone = "verifier" if row["mode"] == "autoregressive" else f"arith-{name} drafter, K = {row['steps']}"
            target = {"verifier": "≥ 90 %", "arith-masked drafter, K = 1": "≤ 40 %"}.get(alone, "")
            if alone.startswith("arith-masked") and target == "":
                target = "≥ 60 % at the best K"
            rows.append((f"{alone}, alone", target, percent(row)))
    return rows


def distances(runs: Path) -> list[tuple[str, str, str]]:
    """d_K and the ratio of a verification to a denoising step."""
    rows = []
    for name in ("masked", "uniform"):
        profile = Profile.load(runs / f"profile-{name}" / "profile.json")
        for which in ("d_visited", "d_block"):
            values = [getattr(e, which) for e in profile.efforts]
            text = ", ".join(f"{v.value:.3f} [{v.low:.3f}, {v.high:.3f}]" for v in values)
            efforts = ", ".join(str(e.steps) for e in profile.efforts)
            rows.append((f"arith-{name}: {which} at K = {efforts}", "strictly decreasing", text))
        assert profile.draft_cost is not None
        verify, step = profile.verify_cost.value, profile.draft_cost.slope.value
        first = next(e.draft_s.value for e in profile.efforts if e.steps == 1)
        rows.append(
            (f"arith-{name}: verify forward over one denoising step (slope of c_d)", "≥ 3", f"{verify / step:.2f}")
        )
        rows.append((f"arith-{name}: verify forward over a one-step draft", "≥ 3", f"{verify / first:.2f}"))
    return rows


def frontier(runs: Path) -> list[tuple[str, str, str]]:
    """Efforts on the measured frontier, and the largest speed-up for five points of accuracy."""
    rows = []
    for name in ("masked", "uniform"):
        if not (runs / f"frontier-{name}").is_dir():
            continue
        table = measure(read_run(runs / f"frontier-{name}"))
        table = table[table["mode"] == "speculative"]
        points = table[["throughput", "accuracy"]].to_numpy(float)
        efforts = sorted({int(k) for k in table["steps"][pareto_mask(points)]})
        rows.append((f"arith-{name}: efforts K on the frontier", "two or more", ", ".join(map(str, efforts))))
        lossless = table[table["rule"] == "lossless"]
        best = lossless.loc[lossless["throughput"].idxmax()]
        close = table[table["accuracy"] >= best["accuracy"] - MOST_POINTS_LOST]
        fast = close.loc[close["throughput"].idxmax()]
        gain = fast["throughput"] / best["throughput"]
        where = (
            f"{gain:.2f} (K = {fast['steps']}, {fast['rule']}, {percent(fast)}, against K = {best['steps']} lossless)"
        )
        rows.append((f"arith-{name}: times the fastest lossless throughput for ≤ 5 points", "≥ 1.5", where))
        same = [
            (group["throughput"].max() / lossless.loc[lossless["steps"] == k, "throughput"].iloc[0], int(k))
            for k, group in close.groupby("steps")
            if (lossless["steps"] == k).any()
        ]
        ratio, k = max(same)
        rows.append((f"arith-{name}: the same, against lossless at the same K", "≥ 1.5", f"{ratio:.2f} (K = {k})"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    print("| what | target | reached |\n|---|---|---|")
    for what, target, reached in accuracies(runs) + distances(runs) + frontier(runs):
        print(f"| {what} | {target} | {reached} |")


if __name__ == "__main__":
    main()
