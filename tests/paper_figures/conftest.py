"""A small synthetic run: every table of the schema, made from a seed by the throughput model plus noise."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from specfrontier.paper_figures.run import RunSource
from specfrontier.profile import EffortProfile, Estimate, LineFit, Profile, VerifyCost
from specfrontier.theory import expected_tokens, linear_acceptance_rate, verifier_agreement

DISTANCES = {1: 0.50, 2: 0.38, 4: 0.26, 8: 0.20}
LENIENCIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DRAFT_A, DRAFT_B, VERIFY = 0.6e-3, 0.9e-3, 6.0e-3  # seconds
BLOCK, LIMIT, PROBLEMS = 32, 64, 40
TOKENS = 48.0


def estimate(value: float, spread: float = 0.04) -> Estimate:
    return Estimate(value, value * (1 - spread), value * (1 + spread), PROBLEMS)


def setting(pair: str, task: str, mode: str, **more: object) -> dict[str, object]:
    row = {
        "config": "-".join(str(v) for v in (pair, task, mode, *more.values())),
        "pair": pair, "task": task, "mode": mode, "steps": None, "threshold": None, "rule": None,
        "block_size": None, "max_new_tokens": LIMIT, "verification": None, "seed": 0, "status": "done", "error": None,
    }  # fmt: skip
    return row | more


def settings_of(pair: str, task: str, blocks: tuple[int, ...], families: tuple[str, ...]) -> list[dict[str, object]]:
    rows = [setting(pair, task, "autoregressive")]
    rows += [setting(pair, task, "drafter", steps=k, block_size=BLOCK) for k in DISTANCES]
    for block in blocks:
        for k in DISTANCES:
            rules = ["lossless"] + [
                f"{f}:{lam * (5 if f == 'cactus' else 1)}" for f in families for lam in LENIENCIES[1:]
            ]
            rows += [
                setting(pair, task, "speculative", steps=k, rule=rule, block_size=block, verification="paper")
                for rule in rules
            ]
    return rows


def measured(row: dict[str, object], rng: np.random.Generator) -> dict[str, object]:
    k, block = int(row["steps"] or 1), int(row["block_size"] or 1)
    family, _, value = str(row["rule"]).partition(":")
    lam = float(value or 0) / (5 if family == "cactus" else 1) if row["mode"] == "speculative" else 1.0
    d = DISTANCES[k] * (1.15 if "uniform" in str(row["pair"]) else 1.0)
    alpha, agreement = float(linear_acceptance_rate(d, lam)), float(verifier_agreement(d, lam))
    cost = DRAFT_A + DRAFT_B * k + VERIFY
    tokens = float(expected_tokens(alpha, min(block, 24)))
    if row["mode"] == "autoregressive":
        tokens, cost, agreement = 1.0, VERIFY, 1.0
    accuracy = 0.93 - 1.35 * (1 - agreement) ** 1.6 + rng.normal(0, 0.008)
    accuracy = float(np.clip(accuracy, 0.05, 0.99))
    throughput = tokens / cost * (1 + rng.normal(0, 0.01))
    values = {
        "accuracy": (accuracy, np.sqrt(accuracy * (1 - accuracy) / 500)),
        "throughput": (throughput, 0.02 * throughput),
        "latency": (TOKENS / throughput + 0.004, 0.02 * TOKENS / throughput),
        "tokens_per_round": (tokens, 0.03 * tokens),
        "acceptance": (alpha, 0.01), "acceptance_rb": (alpha, 0.006),
        "agreement": (agreement, 0.006), "kl": (3.0 * (1 - agreement), 0.1),
        "log_likelihood": (-0.8 - (1 - agreement), 0.05),
    }  # fmt: skip
    kept = ("config", "pair", "task", "mode", "steps", "threshold", "rule", "block_size", "verification")
    kept += ("max_new_tokens", "seed")
    out: dict[str, object] = {name: row[name] for name in kept} | {"n": PROBLEMS}
    for name, (value_, se) in values.items():
        out |= {name: value_, f"{name}_se": se, f"{name}_low": value_ - 1.96 * se, f"{name}_high": value_ + 1.96 * se}
    return out


def predicted(measurements: pd.DataFrame) -> pd.DataFrame:
    rows = measurements[(measurements["mode"] == "speculative") & measurements["rule"].str.match("lossless|linear")]
    columns = ["pair", "task", "max_new_tokens", "steps", "threshold", "rule", "block_size"]
    out = rows[columns].assign(predictor="equation7", fitted=False)
    rows = rows.assign(deviation=TOKENS * (1 - rows["agreement"]), overshoot=TOKENS * (1 - rows["agreement"]) ** 2)
    for name in (
        "throughput",
        "latency",
        "tokens_per_round",
        "acceptance",
        "agreement",
        "accuracy",
        "deviation",
        "overshoot",
    ):
        out[name] = rows[name] * 1.05 if name in ("throughput", "tokens_per_round") else rows[name]
        out[f"{name}_low"], out[f"{name}_high"] = out[name] * 0.96, out[name] * 1.04
    return out[["predictor", *[c for c in out if c != "predictor"]]].reset_index(drop=True)


def rounds_of(configurations: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rounds and problems whose token counts agree with each other."""
    rounds, problems = [], []
    for row in configurations[configurations["mode"] == "speculative"].to_dict("records"):
        for number in range(3):
            emitted = [int(rng.integers(1, 7)) for _ in range(6)]
            accepted = [e - 1 for e in emitted]
            for i, (e, a) in enumerate(zip(emitted, accepted, strict=True)):
                k = int(row["steps"])
                rounds.append({
                    "config": row["config"], "problem": f"p{number}", "round": i, "context": 20 + sum(emitted[:i]),
                    "requested": row["block_size"], "drafted": row["block_size"], "verified": row["block_size"],
                    "accepted": a, "emitted": e, "forwards": k,
                    "draft_s": (DRAFT_A + DRAFT_B * k) * (1 + abs(rng.normal(0, 0.04))),
                    "verify_s": VERIFY * (1 + abs(rng.normal(0, 0.05))), "accept_s": 1e-4,
                    "tv": None, "p_y": None, "q_y": None, "acceptance": None, "deviation": None, "kl": None,
                    "steps": None,
                })  # fmt: skip
            words = " ".join(f"word{j}" for j in range(sum(emitted) - 1))
            problems.append({
                "config": row["config"], "problem": f"p{number}", "prompt_tokens": 20, "output_tokens": sum(emitted),
                "rounds": len(emitted), "accepted": sum(accepted), "visited": sum(emitted), "finished": True,
                "correct": bool(number % 2), "agreement": 0.9, "kl": 0.2, "log_likelihood": -5.0,
                "prefill_s": 0.01, "decode_s": 0.2,
                "text": f"<b>{words}</b> & \"quoted\"" if number == 0 else words,
            })  # fmt: skip
    return pd.DataFrame(rounds), pd.DataFrame(problems)


def profile_of(pair: str) -> Profile:
    efforts = tuple(
        EffortProfile(
            k, None, estimate(d), estimate(d * 1.1), estimate(1 - d), estimate(1 - d),
            tuple(float(x) for x in np.linspace(d, min(1, d * 1.5), 8)), estimate(1 / d), float(k),
            estimate(DRAFT_A + DRAFT_B * k),
        )
        for k, d in DISTANCES.items()
    )  # fmt: skip
    return Profile(
        pair, "arith", BLOCK, LIMIT, efforts, LineFit(estimate(DRAFT_A), estimate(DRAFT_B), 0.998), estimate(VERIFY),
        tuple(VerifyCost(b, 32, estimate(VERIFY * (0.7 + b / 100))) for b in (8, 16, 32)), None, estimate(2e-4), 0.02,
        estimate(4e-3), estimate(VERIFY), 40.0, TOKENS, {"seed": 0, "machine": "synthetic"},
    )  # fmt: skip


def make_run(
    pairs: tuple[str, ...] = ("toy-masked",),
    tasks: tuple[str, ...] = ("arith",),
    blocks: tuple[int, ...] = (BLOCK,),
    families: tuple[str, ...] = ("linear",),
    seed: int = 7,
) -> RunSource:
    rng = np.random.default_rng(seed)
    rows = [row for pair in pairs for task in tasks for row in settings_of(pair, task, blocks, families)]
    configurations = pd.DataFrame(rows)
    measurements = pd.DataFrame([measured(row, rng) for row in rows])
    rounds, problems = rounds_of(configurations, rng)
    return RunSource(
        name="synthetic",
        configurations=configurations,
        problems=problems,
        rounds=rounds,
        measurements=measurements,
        predictions=predicted(measurements),
        profiles=tuple(profile_of(pair) for pair in pairs),
    )


@pytest.fixture(scope="session")
def run() -> RunSource:
    return make_run()


@pytest.fixture(scope="session")
def wide_run() -> RunSource:
    """Two pairs, two tasks, two block sizes, two families of rules."""
    return make_run(("toy-masked", "toy-uniform"), ("arith", "code"), (8, BLOCK), ("cactus", "linear"))


@pytest.fixture(scope="session")
def words():
    """A tokenizer of words, as the synthetic outputs are made."""
    return lambda text: re.findall(r"\s*\S+", text)
