"""Policies measured in the decoder: made on one half of the problems, judged on the other, against fixed rivals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from specfrontier.errors import InputError
from specfrontier.profiling.cli import app
from specfrontier.profiling.commands.schedule import markdown
from specfrontier.profiling.job import Job
from specfrontier.profiling.policies import MeasuredPolicies, PolicySettings, measure_policies
from specfrontier.profiling.policy_table import policy_table
from specfrontier.profiling.store import Store

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = PolicySettings(
    steps=(1, 2), leniencies=(0.3,), clips=(4.0,), thresholds=(0.2, 0.6), block_size=4, max_new_tokens=12
)


def job(pair: Any, task: Any, folder: Path, n: int = 12) -> Job:
    return Job(pair, task, task.problems(n), Store(folder))


@pytest.fixture(scope="session")
def measured(masked_pair: Any, task: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, MeasuredPolicies]:
    here = job(masked_pair, task, tmp_path_factory.mktemp("policies"))
    return here, measure_policies(here, SETTINGS, say=lambda _: None)


def test_schedules_are_made_on_one_half_and_run_on_the_other(measured: tuple[Job, MeasuredPolicies]) -> None:
    here, found = measured
    assert not set(found.fit) & set(found.judged)
    problems = here.store.tables().problems
    for uniform, configuration in (*found.tv, *found.kl):
        assert uniform in ("linear:0.3", "clip:4.0")
        ran = problems.loc[problems["config"] == configuration.key, "problem"]
        assert set(ran) == set(found.judged)
    assert {c.steps for _, c in found.tv} == {1, 2}


def test_a_threshold_chooses_k_by_round_from_confidence(measured: tuple[Job, MeasuredPolicies]) -> None:
    """A pair whose order knows no confidence is measured with one that does, under another name."""
    here, found = measured
    assert {c.pair for c in found.confidence} == {"toy-masked by confidence"}
    assert here.pair.engine.drafter.unmasking.order == "entropy"  # the pair itself is left alone
    rounds = here.store.tables().rounds
    forwards = rounds.loc[rounds["config"].isin([c.key for c in found.confidence]), "forwards"]
    assert forwards.nunique() > 1


def test_every_policy_is_judged_with_an_interval(measured: tuple[Job, MeasuredPolicies]) -> None:
    here, found = measured
    table = policy_table(found, here.store.tables())
    assert set(table["kind"]) == {"leniency by position", "K by round", "router"}
    assert (table["gain_low"] <= table["gain_high"]).all()
    assert np.isfinite(table[["speed", "rival_speed", "deviation", "gain"]].to_numpy(dtype=float)).all()
    assert set(table["problems"]) == {6}
    by_round = table[table["unit"] == "tokens/round"]
    assert set(by_round["kind"]) == {"leniency by position"}
    for row in by_round.to_dict("records"):  # rounds cost the same at one K only
        assert all(row["policy"].split(",")[0] in name for name in row["rival"].split(", "))


def test_tables_read_as_markdown(measured: tuple[Job, MeasuredPolicies]) -> None:
    here, found = measured
    table = policy_table(found, here.store.tables())
    lines = [line for line in markdown(table).splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert len(lines) == len(table) + 2 * table["kind"].nunique()


def test_full_leniency_is_always_among_the_rivals_and_never_a_policy(measured: tuple[Job, MeasuredPolicies]) -> None:
    """Rivals deviate no more than policies, and less where the table says that all of them do."""
    here, found = measured
    assert {c.steps for c in found.fixed if c.rule == "linear:1.0"} == {1, 2}
    assert "linear:1.0" not in {uniform for uniform, _ in (*found.tv, *found.kl)}
    assert "linear:1.0" not in {c.rule for c in found.confidence}
    assert replace(SETTINGS, leniencies=(0.3, 1.0)).rival_rules.count("linear:1.0") == 1
    table = policy_table(found, here.store.tables())
    more = table["deviation"] - table["rival_deviation"]
    assert (more >= -1e-9).all()
    assert (more[table["outdone"]] > 0).all()


def test_the_table_says_where_a_policy_is_not_compared_at_equal_deviation(
    measured: tuple[Job, MeasuredPolicies],
) -> None:
    here, found = measured
    table = policy_table(found, here.store.tables()).head(2).assign(rival_deviation=0.052, outdone=[True, False])
    unequal, equal = markdown(table).splitlines()[-2:]
    assert "0.052 TV (not equal: the policy deviates more than every rival)" in unequal
    assert "| 0.052 TV |" in equal


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--clips", "inf"], "clip (b) is inf; give numbers above 1 and finite"),
        (["--clips", "2,nan"], "clip (b) is nan; give numbers above 1 and finite"),
        (["--clips", "1e999"], "clip (b) is inf; give numbers above 1 and finite"),
        (["--lam", "nan"], "lambda is nan; give numbers above 0 and at most 1"),
        (["--lam", "inf"], "lambda is inf; give numbers above 0 and at most 1"),
    ],
)
def test_numbers_that_are_not_finite_are_refused_in_one_line(options: list[str], words: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["schedule", "arith-masked", "--out", str(tmp_path / "run"), *options])
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_what_the_page_reads_from_its_table_is_in_the_table() -> None:
    table = pd.read_json(ROOT / "docs" / "data" / "policies" / "schedules.json")
    page = " ".join((ROOT / "docs" / "simulate.md").read_text(encoding="utf-8").split("## Policies")[1].split())
    loss, per_round = -100 * table["gain"], table["unit"] == "tokens/round"
    linear = (table["kind"] == "leniency by position") & (table["measure"] == "TV")
    clips = (table["kind"] == "leniency by position") & (table["measure"] == "KL")
    router, slow = table["kind"] == "router", table["gain_high"] < 0
    same = router & (table["gain"].abs() < 1e-9)

    def between(low: float, high: float, digits: int = 0) -> str:
        return f"{low:.{digits}f} to {high:.{digits}f} %"

    fewer, slower = loss[linear & per_round], loss[linear & ~per_round]
    assert f"linear schedules have {between(fewer.min(), fewer.max())} fewer tokens a round" in page
    assert f"{between(slower.min(), slower.max())} fewer tokens a second than the best of any K" in page
    assert slow[linear].all()
    assert not table.loc[linear, "rival"].str.contains(r"linear:0\.\d").any()
    more = -loss[clips & per_round]
    assert f"Clips by position have {between(more.min(), more.max(), 1)} more tokens a round" in page
    assert not slow[clips & per_round].any()
    assert f"at K = 4 loses {loss[clips & ~per_round].max():.0f} %" in page
    by_round = loss[table["kind"] == "K by round"]
    assert f"*K by round*: {between(by_round.min(), by_round.max())} fewer tokens a second" in page
    assert f"*router*: {same.sum()} of {router.sum()} are as fast" in page
    assert set(table.loc[same, "rival"]) == {"K=1 clip:32.0"}
    lost = router & slow
    assert f"{lost.sum()}, all by prompt length, lose {between(loss[lost].min(), loss[lost].max())}" in page
    assert table.loc[lost, "policy"].str.startswith("by prompt length").all()
    assert (router & ~same & ~slow).sum() == 2
    assert not (table["gain_low"] > 0).any()
    assert not table["outdone"].any()
    assert np.allclose(table["deviation"], table["rival_deviation"], atol=1e-9)


def test_a_drafter_without_thresholds_is_measured_without_them(ar_pair: Any, task: Any, tmp_path: Path) -> None:
    said: list[str] = []
    only = PolicySettings((1,), (0.3,), (4.0,), (0.5,), block_size=4, max_new_tokens=12)
    found = measure_policies(job(ar_pair, task, tmp_path), only, say=said.append)
    assert found.confidence == ()
    assert any("takes no threshold" in line for line in said)


def test_too_few_problems_are_refused(masked_pair: Any, task: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 8 problems"):
        measure_policies(job(masked_pair, task, tmp_path, n=4), SETTINGS)
