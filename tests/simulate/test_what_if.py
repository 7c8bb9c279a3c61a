"""The roofline has the two limits that it is made of, and its costs run through a prediction."""

from __future__ import annotations

import numpy as np
import pytest
from toy_cases import Case

from specfrontier.errors import InputError
from specfrontier.simulate import Costs, Effort, Grid, predict
from specfrontier.simulate.costs import VerifySurface
from specfrontier.simulate.what_if import DEVICES, Device, ModelShape, forward_seconds, roofline_costs

DEVICE = Device("unit", bandwidth=1e9, matrix_rate=1e12, launch_s=1e-4)
MODEL = ModelShape(parameters=1e6, bytes_per_parameter=2)


def test_small_forwards_are_bound_by_bytes_and_large_ones_by_operations() -> None:
    assert forward_seconds(DEVICE, MODEL, 1, 0) == pytest.approx(1e-4 + 2e6 / 1e9)
    assert forward_seconds(DEVICE, MODEL, 64, 0) == forward_seconds(DEVICE, MODEL, 1, 0)
    assert forward_seconds(DEVICE, MODEL, 1e5, 0) == pytest.approx(1e-4 + 2 * 1e6 * 1e5 / 1e12)


def test_a_batch_shares_the_weights_but_not_the_cache() -> None:
    model = ModelShape(parameters=1e6, cache_bytes_per_token=100)
    one, eight = (float(forward_seconds(DEVICE, model, 1, 999, batch)) for batch in (1, 8))
    assert one < eight < 8 * one
    assert eight - one == pytest.approx(7 * 100 * 1000 / 1e9)


def test_experts_are_read_but_not_all_multiplied() -> None:
    sparse = ModelShape(parameters=1e6, active_parameters=1e5)
    assert forward_seconds(DEVICE, sparse, 1, 0) == forward_seconds(DEVICE, MODEL, 1, 0)
    assert forward_seconds(DEVICE, sparse, 1e5, 0) < forward_seconds(DEVICE, MODEL, 1e5, 0)


def test_swapped_costs_change_speed_and_nothing_else(hard: Case) -> None:
    study = hard.study
    grid = Grid.product(steps=(1,), rules=("lossless", "linear:0.5"), block_sizes=(8, 16))
    costs = roofline_costs(
        DEVICE, MODEL, MODEL, {Effort(1): 1.0}, block_size=16, contexts=(0, 64), prompt_tokens=12.0, batch=4
    )
    here = predict(study.profile, study.rounds, grid, "replay", configurations=study.configurations, replicates=0)
    there = predict(
        study.profile, study.rounds, grid, "replay", configurations=study.configurations, costs=costs, replicates=0
    )
    for name in ("tokens_per_round", "acceptance", "agreement"):
        np.testing.assert_array_equal(here[name], there[name])
    assert not np.allclose(here["throughput"], there["throughput"])
    own = Costs.from_profile(study.profile)
    again = predict(
        study.profile, study.rounds, grid, "replay", configurations=study.configurations, costs=own, replicates=0
    )
    np.testing.assert_array_equal(here["throughput"], again["throughput"])


def test_a_faster_device_is_faster_at_every_point(hard: Case) -> None:
    grid = Grid.product(steps=(1,), rules=("lossless",), block_sizes=(4, 16))
    speeds = []
    for name in ("a100-80gb", "h200"):
        costs = roofline_costs(
            DEVICES[name], ModelShape(32e9), ModelShape(7e9), {Effort(1): 1.0}, block_size=16, contexts=(100, 500),
            prompt_tokens=100.0,
        )  # fmt: skip
        speeds.append(predict(hard.study.profile, None, grid, "position-dependent", costs=costs)["throughput"])
    assert (speeds[1] > speeds[0]).all()


def test_the_verify_surface_interpolates_between_nodes_and_holds_beyond_them() -> None:
    surface = VerifySurface(np.array([1.0, 9.0]), np.array([0.0, 100.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert surface([1, 5, 9, 99], [0, 50, 100, 999]).tolist() == [1.0, 2.5, 4.0, 4.0]
    assert VerifySurface.constant(0.5)([1, 2], 7).tolist() == [0.5, 0.5]


BIG_BATCH = 64


def costs_at(block_size: int, **options: object) -> Costs:
    settings = {"contexts": (0, 100), "prompt_tokens": 12.0, "batch": BIG_BATCH, "drafter_rereads": False, **options}
    return roofline_costs(DEVICE, MODEL, MODEL, {Effort(2): 2.0}, block_size=block_size, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("rereads", [False, True])
def test_a_draft_costs_its_forwards_at_every_block_size(rereads: bool) -> None:
    """Free positions while bytes bind, then operations in proportion: the longest is not the price of all."""
    sizes = np.array([1, 4, 8, 32, 256])
    found = costs_at(256, drafter_rereads=rereads).draft_of(Effort(2))(sizes)
    one = forward_seconds(DEVICE, MODEL, sizes + 50 if rereads else sizes, 0 if rereads else 50, BIG_BATCH)
    np.testing.assert_allclose(found, 2 * one, rtol=1e-12)
    if not rereads:
        assert found[1] == found[0]
        assert found[4] > 5 * found[3] > 5 * found[0]


def test_what_a_block_costs_does_not_depend_on_the_longest_asked_for() -> None:
    short, long = costs_at(32), costs_at(256)
    for block_size in (1, 15, 16, 17, 32):
        assert short.draft_of(Effort(2))(block_size) == pytest.approx(long.draft_of(Effort(2))(block_size), rel=1e-12)
        assert short.verify(block_size, 50) == pytest.approx(long.verify(block_size, 50), rel=1e-12)


def test_a_draft_of_more_or_fewer_forwards_costs_as_many() -> None:
    draft = costs_at(32).draft_of(Effort(2))
    np.testing.assert_allclose(draft([8, 32, 8], [1, 3, 0]), [draft(8) / 2, draft(32) * 1.5, 0.0], rtol=1e-12)
    free = roofline_costs(DEVICE, MODEL, MODEL, {Effort(1): 0.0}, block_size=8, contexts=(0,), prompt_tokens=1.0)
    assert float(free.draft_of(Effort(1))(8)) == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contexts": (64, 0, 64)}, "contexts of the verify surface are .* give ascending ones, each once"),
        ({"prompt_tokens": float("nan")}, "prompt_tokens is nan"),
        ({"prompt_tokens": -1.0}, "prompt_tokens is -1.0"),
        ({"host_s": -1e-3}, "host_s is -0.001"),
        ({"host_s": float("nan")}, "host_s is nan"),
        ({"batch": float("nan")}, "batch is nan"),
    ],
)
def test_what_is_no_amount_is_no_cost(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        costs_at(8, **options)


@pytest.mark.parametrize("count", [float("nan"), -1.0, float("inf")])
def test_forwards_are_counted(count: float) -> None:
    with pytest.raises(InputError, match="forwards of K=2 is"):
        roofline_costs(DEVICE, MODEL, MODEL, {Effort(2): count}, block_size=8, contexts=(0,), prompt_tokens=1.0)


@pytest.mark.parametrize("name", ["cache_bytes_per_token", "attention_width", "active_parameters"])
@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_a_model_has_no_negative_or_unknown_parts(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}"):
        ModelShape(1e6, **{name: value})


def test_impossible_machines_are_refused() -> None:
    with pytest.raises(InputError, match="bandwidth"):
        Device("none", 0.0, 1.0)
    with pytest.raises(InputError, match="share of matrix_rate"):
        DEVICE.at_efficiency(1.0, 1.5)
    with pytest.raises(InputError, match="batch"):
        roofline_costs(DEVICE, MODEL, MODEL, {}, block_size=8, contexts=(0,), prompt_tokens=1.0, batch=0)


def test_what_is_no_number_is_no_machine_or_model() -> None:
    nan = float("nan")
    with pytest.raises(InputError, match="matrix_rate of none is nan"):
        Device("none", 1.0, nan)
    with pytest.raises(InputError, match="launch_s of none is nan"):
        Device("none", 1.0, 1.0, nan)
    with pytest.raises(InputError, match="parameters"):
        ModelShape(nan)
    for block_size, context in ((0, 1.0), (8, nan), (8, -1.0)):
        with pytest.raises(InputError, match="give B >= 1 and contexts >= 0"):
            roofline_costs(DEVICE, MODEL, MODEL, {}, block_size=block_size, contexts=(context,), prompt_tokens=1.0)
