"""A profile recovers the distances and costs that synthetic rounds were made with."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from specfrontier.decoding import Pair
from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.profiling import costs, hardware
from specfrontier.profiling.divergence import divergence
from specfrontier.profiling.profiler import ProfileSettings, build_profile, profile_pair
from specfrontier.profiling.run_folder import Tables
from specfrontier.profiling.store import Store
from specfrontier.profiling.sweep import sweep
from specfrontier.schema import CONFIGURATIONS

SETTINGS = ProfileSettings(steps=(1, 2, 4), thresholds=(), block_size=4, max_new_tokens=8)
DISTANCE = {1: 0.4, 2: 0.3, 4: 0.2}


def _tables() -> Tables:
    """30 prompts of 5 rounds: c_d = 2 ms + 3 ms K with 1 % noise and one long pause, c_v = 7 ms, host 0.5 ms."""
    generator = np.random.default_rng(0)
    configurations, problems, rounds = [], [], []
    for c in SETTINGS.configurations("p", "t"):
        configurations.append({column.name: c.row().get(column.name) for column in CONFIGURATIONS})
        for i in range(30):
            row = {"config": c.key, "problem": f"{i}", "prompt_tokens": 10, "output_tokens": 20, "prefill_s": 0.02}
            problems.append(row | {"decode_s": 20 * 0.008})
            for k in range(5 if c.mode == "speculative" else 0):
                assert c.steps is not None
                pause = 10.0 if (i, k) == (3, 2) else 0.0
                rounds.append(
                    {"config": c.key, "problem": f"{i}", "requested": 4, "verified": 4, "accepted": 2, "emitted": 3}
                    | {"forwards": c.steps, "verify_s": 0.007, "accept_s": 0.0005}
                    | {"draft_s": (0.002 + 0.003 * c.steps) * generator.normal(1, 0.01) + pause}
                    | {"tv": np.full(4, DISTANCE[c.steps]), "acceptance": np.full(4, 1 - DISTANCE[c.steps])}
                )
    return Tables(pd.DataFrame(configurations), pd.DataFrame(problems), pd.DataFrame(rounds))


@pytest.fixture(scope="module")
def profile() -> Profile:
    return build_profile(_tables(), SETTINGS.configurations("p", "t"), [], SETTINGS, {})


def test_anchors_are_recorded_beside_lossless_rounds_and_do_not_move_the_profile(profile: Profile) -> None:
    settings = replace(SETTINGS, anchors=("linear:0.4", "linear:0.8"))
    configurations = settings.configurations("p", "t")
    rules = [c.rule for c in configurations if c.mode == "speculative"]
    assert sorted(rules) == ["linear:0.4"] * 3 + ["linear:0.8"] * 3 + ["lossless"] * 3
    assert build_profile(_tables(), configurations, [], settings, {}) == profile


def test_distances_are_those_of_the_rounds(profile: Profile) -> None:
    assert [e.steps for e in profile.efforts] == [1, 2, 4]
    assert [e.d_visited.value for e in profile.efforts] == pytest.approx([0.4, 0.3, 0.2])
    assert [e.acceptance_rb.value for e in profile.efforts] == pytest.approx([0.6, 0.7, 0.8])
    assert all(e.acceptance.value == pytest.approx(2 / 3) for e in profile.efforts)
    assert all(len(e.tv_by_position) == 3 for e in profile.efforts)


def test_rounds_without_a_trace_move_no_distance_and_no_acceptance() -> None:
    """Ten prompts of thirty were not traced, and kept four tokens a round where the others kept two."""
    rounds = _tables().rounds
    rounds = rounds[rounds["config"] == rounds["config"].iloc[0]].reset_index(drop=True)
    untraced = rounds["problem"].astype(int) < 10
    mixed = rounds.assign(accepted=np.where(untraced, 4, 2), tv=rounds["tv"].where(~untraced, None))
    mixed["acceptance"] = rounds["acceptance"].where(~untraced, None)
    found = divergence(mixed)
    assert found == divergence(rounds[~untraced])
    assert found.acceptance.value == pytest.approx(2 / 3)
    assert {estimate.n for estimate in (found.visited, found.block, found.acceptance, found.tokens_per_round)} == {20}
    nothing = divergence(mixed[untraced])
    assert nothing.acceptance.n == 0
    assert math.isnan(nothing.acceptance.value)


@pytest.mark.parametrize(("rule", "anchors"), [("lossless", ()), ("linear:0.5", ("linear:0.5",))])
def test_problems_without_traces_are_refused(
    masked_pair: Pair, task: Any, tmp_path: Path, rule: str, anchors: tuple[str, ...]
) -> None:
    settings = ProfileSettings((1,), (), 4, 8, anchors=anchors)
    configurations = settings.configurations(masked_pair.name, task.name)
    store = Store(tmp_path / "run")
    sweep(masked_pair, task, task.problems(3), [c for c in configurations if c.rule == rule], store, trace=False)
    with pytest.raises(InputError, match=r"holds 3 problems .* without traces.*another --out.*without --no-trace"):
        profile_pair(masked_pair, task, task.problems(4), settings, store)
    assert len(store.tables().problems) == 3  # it is said before anything is run


def test_the_draft_cost_line_is_found_in_spite_of_a_pause(profile: Profile) -> None:
    fit = profile.draft_cost
    assert fit is not None
    # 90 medians with 1 % noise: the slope is known to about 0.5 %.
    assert fit.slope.value == pytest.approx(0.003, rel=0.02)
    assert fit.intercept.value == pytest.approx(0.002, rel=0.05)
    assert fit.slope.low < 0.003 < fit.slope.high
    assert fit.r_squared > 0.99


def test_verify_host_and_autoregressive_costs(profile: Profile) -> None:
    assert profile.verify_cost.value == pytest.approx(0.007)
    assert profile.host_s.value == pytest.approx(0.0005)
    assert profile.autoregressive_s.value == pytest.approx(0.008)
    assert profile.prefill_s.value == pytest.approx(0.02)


def test_a_line_through_two_points_claims_no_certainty() -> None:
    fit = costs.fit_line([1, 2], [3.0, 5.0])
    assert fit is not None
    assert (fit.intercept.value, fit.slope.value) == pytest.approx((1, 2))
    assert math.isnan(fit.slope.low)
    assert costs.fit_line([1, 1], [3.0, 5.0]) is None


def test_a_profile_of_real_models_is_complete_and_survives_saving(masked_pair: Pair, task: Any, tmp_path: Path) -> None:
    settings = ProfileSettings((1, 2), (), 4, 8, verify_block_sizes=(2,), loop=costs.Loop(1, 3))
    found = profile_pair(masked_pair, task, task.problems(4), settings, Store(tmp_path / "run"))
    found.save(tmp_path / "profile.json")
    assert Profile.load(tmp_path / "profile.json").efforts == found.efforts
    assert {v.block_size for v in found.verify_costs} == {0, 1, 2, 4}
    assert all(v.seconds.n == 3 and v.seconds.value > 0 for v in found.verify_costs)
    assert all(0 < e.d_visited.value < 1 for e in found.efforts)
    # d over visited positions is the lossless rejection rate.
    assert [e.acceptance_rb.value for e in found.efforts] == pytest.approx(
        [1 - e.d_visited.value for e in found.efforts], abs=1e-5
    )
    assert all(0 < e.host_share < 1 for e in found.efforts)
    assert found.host_share == pytest.approx(sum(e.host_share for e in found.efforts) / 2)
    forwards = found.provenance["device"]["forwards"]
    assert {"verify B=4 context=3", "draft K=1", "draft K=2"} <= {use["name"] for use in forwards}
    assert all(0 < use["matrix_share"] < 1 for use in forwards)


@pytest.mark.parametrize("context", [5, 60])
def test_forward_flops_are_those_of_its_matrix_products_and_of_its_attention(masked_pair: Pair, context: int) -> None:
    rates, fed = hardware.DeviceRates(1e9, 1e9), 4
    use = hardware.verifier_use(masked_pair, rates, block_size=fed - 1, context=context, seconds=1.0)
    # q, k, v, o: 4 x 16 x 16; gate, up, down: 3 x 16 x 32; head: 16 x 24; two operations a weight and token.
    linear = 2 * fed * (4 * 16 * 16 + 3 * 16 * 32 + 16 * 24)
    # Scores and mixing, 4 B H Tq Tk D: one text, two heads of 8, masked entries computed like the others.
    assert use.flops == linear + 4 * 1 * 2 * fed * (context + fed) * 8


def test_attention_is_counted_with_and_without_a_mask() -> None:
    """Whichever of torch's ways is taken: the count is that of both products over all keys."""
    q, k = torch.ones(3, 2, 5, 8), torch.ones(3, 2, 7, 8)
    for mask in (None, torch.ones(5, 7, dtype=torch.bool)):
        with torch.inference_mode(), hardware.count_flops() as counter:
            torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=mask)
        assert counter.get_total_flops() == 4 * 3 * 2 * 5 * 7 * 8


def test_embedding_tables_are_not_read_whole_unless_tied() -> None:
    network = torch.nn.Module()
    network.embed = torch.nn.Embedding(10, 4)
    network.lm_head = torch.nn.Linear(4, 10, bias=False)
    assert hardware.weight_bytes(network) == 40 * 4
    network.lm_head.weight = network.embed.weight
    assert hardware.weight_bytes(network) == 40 * 4
