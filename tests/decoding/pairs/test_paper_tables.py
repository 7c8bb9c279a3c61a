"""The shipped pairs state what the paper's Tables 2 to 5 state."""

from __future__ import annotations

import pytest

from specfrontier.decoding.pair_file import PairFile, pair_names, read_pair_file
from specfrontier.theory.rules import rule_from_spec

QWEN3 = ("s-sahoo/uno-qwen3-8B", 1.0, 0.95, 50)

#: Tables 2 and 3: checkpoint, temperature, top-p, top-k of verifier and drafter.
MODELS = {
    "dream-qwen2.5-32b": (
        ("Qwen/Qwen2.5-32B-Instruct", 0.7, 0.8, 20),
        ("Dream-org/Dream-v0-Instruct-7B", 0.2, 0.95, None),
    ),
    "diffusiongemma-gemma4-31b": (
        ("google/gemma-4-31B-it", 1.0, 0.95, 64),
        ("google/diffusiongemma-26B-A4B-it", 0.4, 0.95, None),
    ),
    "sdar-8b-qwen3-8b": (QWEN3, ("JetLM/SDAR-8B-Chat-b16", 0.6, 0.95, 20)),
    "sdar-1.7b-qwen3-8b": (QWEN3, ("JetLM/SDAR-1.7B-Chat-b16", 0.6, 0.95, 20)),
    "uno-qwen3-8b": (QWEN3, ("s-sahoo/uno-qwen3-8B", 1.0, 0.95, 50)),
    "dflash-qwen3-8b": (QWEN3, ("z-lab/Qwen3-8B-DFlash-b16", 0, None, None)),
    "dspark-qwen3-8b": (QWEN3, ("deepseek-ai/dspark_qwen3_8b_block7", 1.0, None, None)),
}

#: Table 4: task, K, tau, block size, token limit.
EFFORTS = [
    ("dream-qwen2.5-32b", "gsm8k", (1, 2, 3, 4), (), 512, 512),
    ("dream-qwen2.5-32b", "humaneval", (1, 2, 3, 4), (), 512, 512),
    ("diffusiongemma-gemma4-31b", "gpqa", (1, 2, 4, 8), (), 256, 2048),
    *(
        (pair, task, K, tau, block, 512)
        for task in ("gsm8k", "humaneval")
        for pair, K, tau, block in (
            ("sdar-8b-qwen3-8b", (1,), (0.3, 0.5, 0.7, 0.9), 16),
            ("sdar-1.7b-qwen3-8b", (1,), (0.3, 0.5, 0.7, 0.9), 16),
            ("uno-qwen3-8b", (1,), (), 16),
            ("dflash-qwen3-8b", (1,), (), 16),
            ("dspark-qwen3-8b", (1,), (), 7),
        )
    ),
]


def up_to(last: int, *extra: float) -> list[float]:
    """Table 5's "0, 0.25, 0.5, 1, ..., last"."""
    return [0, 0.25, 0.5, *range(1, last + 1), *extra]


#: Table 5, and the text below it: Cactus budgets and linear leniencies by K.
TENTHS = [i / 10 for i in range(11)]
BUDGETS = {
    ("dream-qwen2.5-32b", "gsm8k"): {1: up_to(8), 2: up_to(11), 3: up_to(13), 4: up_to(15)},
    ("diffusiongemma-gemma4-31b", "gpqa"): {
        1: up_to(5),
        2: up_to(6),
        4: up_to(8, 10),
        8: [1, 3, 5, 7, 10, 15],
    },
    ("dream-qwen2.5-32b", "humaneval"): {1: up_to(6), 2: up_to(12), 3: up_to(13), 4: up_to(15)},
    ("diffusiongemma-gemma4-31b", "humaneval"): {
        1: up_to(8),
        2: up_to(12),
        4: up_to(16),
        6: up_to(15),
        10: [0.25, 0.5, *range(1, 16), 20],
    },
}
LINEAR = {
    ("dream-qwen2.5-32b", "gsm8k"): (1, 2, 3, 4),
    ("dream-qwen2.5-32b", "humaneval"): (1, 2, 3),
    ("diffusiongemma-gemma4-31b", "gpqa"): (1, 2, 4, 8),
    ("diffusiongemma-gemma4-31b", "humaneval"): (1, 2, 4, 6, 10),
}


def leniencies(pair: PairFile, task: str, steps: int, name: str) -> list[float]:
    """Values of one rule's leniency swept at K; the lossless rule is the value 0 of either."""
    rules = [rule_from_spec(spec) for spec in pair.grid_for(task).rules_at(steps)]
    field = {"linear": "lam", "cactus": "delta"}[name]
    values = [float(getattr(r, field, r.spec.split(":")[-1])) for r in rules if r.name == name]
    return [0.0] * any(r.name == "lossless" for r in rules) + values


@pytest.mark.parametrize("name", MODELS)
def test_checkpoints_and_sampling_are_those_of_tables_2_and_3(name: str) -> None:
    pair = read_pair_file(name)
    stated = [
        (m.checkpoint, m.sampling.temperature, m.sampling.top_p, m.sampling.top_k)
        for m in (pair.verifier, pair.drafter)
    ]
    assert tuple(stated) == MODELS[name]


def test_diffusion_gemma_anneals_from_0_8_to_0_4() -> None:
    drafter = read_pair_file("diffusiongemma-gemma4-31b").drafter
    assert (drafter.options["temperature_first"], drafter.sampling.temperature) == (0.8, 0.4)


def test_dspark_keeps_its_native_threshold_of_zero() -> None:
    assert read_pair_file("dspark-qwen3-8b").drafter.options["confidence_threshold"] == 0


@pytest.mark.parametrize(("name", "task", "steps", "threshold", "block", "limit"), EFFORTS)
def test_efforts_blocks_and_limits_are_those_of_table_4(
    name: str, task: str, steps: tuple[int, ...], threshold: tuple[float, ...], block: int, limit: int
) -> None:
    pair = read_pair_file(name)
    grid = pair.grid_for(task)
    assert task in pair.tasks
    assert (grid.steps, grid.threshold, pair.block_size, pair.token_limit(task)) == (
        steps,
        threshold,
        block,
        limit,
    )


@pytest.mark.parametrize(("name", "task"), BUDGETS)
def test_cactus_budgets_are_those_of_table_5(name: str, task: str) -> None:
    pair = read_pair_file(name)
    for steps, budgets in BUDGETS[name, task].items():
        swept = leniencies(pair, task, steps, "cactus")
        # The lossless run of a K whose budgets start above 0 belongs to its linear sweep.
        assert [v for v in swept if v > 0 or 0 in budgets] == budgets
    assert set(pair.grid_for(task).steps) == set(BUDGETS[name, task])


@pytest.mark.parametrize(("name", "task"), LINEAR)
def test_linear_leniencies_are_tenths_at_the_stated_efforts(name: str, task: str) -> None:
    pair = read_pair_file(name)
    for steps in pair.grid_for(task).steps:
        expected = TENTHS if steps in LINEAR[name, task] else [0.0]
        assert leniencies(pair, task, steps, "linear") == expected


@pytest.mark.parametrize("name", [n for n in MODELS if MODELS[n][0] == QWEN3])
def test_qwen3_pairs_sweep_six_linear_leniencies(name: str) -> None:
    assert leniencies(read_pair_file(name), "gsm8k", 1, "linear") == [0, 0.2, 0.4, 0.6, 0.8, 1]


@pytest.mark.parametrize("name", MODELS)
def test_the_boxed_instruction_is_put_before_gsm8k_except_for_dream(name: str) -> None:
    prompt = read_pair_file(name).prompt
    assert prompt.chat_template
    assert ("\\boxed{}" in prompt.instruction.get("gsm8k", "")) == (name != "dream-qwen2.5-32b")


def test_the_block_size_ablation_is_that_of_figure_9() -> None:
    grid = read_pair_file("dream-qwen2.5-32b").grid["gsm8k-blocks"]
    assert (grid.block_sizes, grid.steps) == ((32, 64, 128), (1, 2, 3, 4))


@pytest.mark.parametrize("name", pair_names())
def test_every_grid_of_every_shipped_pair_is_made_of_known_rules_and_efforts(name: str) -> None:
    for grid in read_pair_file(name).grid.values():
        for _, spec in grid.points():
            assert rule_from_spec(spec).spec
