"""What engines report comes out as conditional rates with the bonus apart, or as one clear error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specfrontier.errors import InputError
from specfrontier.simulate.importers import (
    from_aiperf_export,
    from_aiperf_records,
    from_deepspec_table,
    from_llama_cpp_responses,
    from_sglang_responses,
    from_tensorrt_llm_stats,
    from_vllm_counters,
    from_vllm_responses,
)

# 43 rounds of 3 drafted tokens: 39 accept none, 1 accepts one, 3 accept all. The example of vLLM's own page.
VLLM = {
    "mean_acceptance_length": 1.2325581395348837,
    "draft_acceptance_rate": 0.07751937984496124,
    "acceptance_histogram": [39, 1, 0, 3],
    "num_spec_steps": 43,
    "num_accepted_draft_tokens": 10,
    "num_draft_tokens": 129,
    "num_spec_tokens": 3,
}
CONDITIONAL = (4 / 43, 3 / 4, 3 / 3)


def test_vllm_histogram_gives_conditional_rates_without_the_bonus() -> None:
    report = from_vllm_responses([{"metrics": {"speculative_decoding": VLLM}}, {"metrics": None}])
    assert report.acceptance == pytest.approx(CONDITIONAL)
    assert report.tokens_per_round == pytest.approx(VLLM["mean_acceptance_length"])


def test_sparse_and_dense_histograms_agree() -> None:
    sparse = VLLM | {"acceptance_histogram": {"0": 39, "1": 1, "3": 3}, "engine": "vllm"}
    assert from_aiperf_records([sparse]).acceptance == from_vllm_responses([VLLM]).acceptance
    assert from_aiperf_records([{"spec_decode_acceptance": sparse}]).rounds == 43


def test_step_lists_are_exact_when_draft_lengths_vary() -> None:
    steps = VLLM | {
        "acceptance_histogram": [1, 1, 1, 0],
        "num_spec_steps": 3,
        "num_accepted_draft_tokens": 3,
        "num_draft_tokens": 4,
        "mean_acceptance_length": 2.0,
        "per_step_accepted": [0, 1, 2],
        "per_step_drafted": [1, 1, 2],
    }
    # Position 2 was drafted in one round only and accepted there; the histogram alone would say 1 of 2.
    assert from_vllm_responses([steps]).acceptance == pytest.approx((2 / 3, 1.0))


def test_requests_are_pooled_by_counts_not_by_rates() -> None:
    once, twice = from_vllm_responses([VLLM]), from_vllm_responses([VLLM, VLLM])
    assert twice.acceptance == once.acceptance
    assert (twice.rounds, twice.accepted) == (86, 20)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_spec_steps", 44),
        ("num_accepted_draft_tokens", 11),
        ("mean_acceptance_length", 0.23),  # bonus forgotten
        ("num_draft_tokens", 9),  # fewer drafted than accepted
        ("acceptance_histogram", "none"),
        ("acceptance_histogram", [39, 1, 0, -3]),
    ],
)
def test_vllm_records_that_contradict_themselves_are_refused(field: str, value: object) -> None:
    with pytest.raises(InputError, match="vllm"):
        from_vllm_responses([VLLM | {field: value}])


METRICS = """# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
vllm:spec_decode_num_drafts_total{{engine="0"}} {0}
vllm:spec_decode_num_draft_tokens_total{{engine="0"}} {1}
vllm:spec_decode_num_accepted_tokens_total{{engine="0"}} {2}
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="0"}} {3}
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="1"}} {4}
"""


def test_vllm_counters_are_differences_and_survival_becomes_conditional() -> None:
    report = from_vllm_counters(METRICS.format(110, 220, 95, 65, 30), METRICS.format(10, 20, 15, 5, 10))
    assert (report.rounds, report.drafted, report.accepted) == (100, 200, 80)
    assert report.acceptance == pytest.approx((0.6, 20 / 60))


def test_vllm_counters_that_run_backwards_or_rise_along_the_draft_are_refused() -> None:
    with pytest.raises(InputError, match="backwards"):
        from_vllm_counters(METRICS.format(10, 20, 15, 5, 10), METRICS.format(110, 220, 95, 65, 30))
    with pytest.raises(InputError, match="more often"):
        from_vllm_counters(METRICS.format(100, 200, 80, 20, 60))
    with pytest.raises(InputError, match="num_drafts"):
        from_vllm_counters("vllm:num_requests_running 3\n")


@pytest.mark.parametrize(
    "names",
    [
        ("spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_correct_drafts_histogram"),
        ("spec_accepted_drafts", "spec_proposed_drafts", "spec_accept_histogram"),
        ("spec_accept_token_num", "spec_draft_token_num", "spec_accept_histogram"),
    ],
)
def test_sglang_names_of_every_release_are_read(names: tuple[str, str, str]) -> None:
    meta = {"spec_verify_ct": 43, names[0]: 10, names[1]: 129, names[2]: [39, 1, 0, 3], "spec_accept_rate": 10 / 129}
    report = from_sglang_responses([{"text": "", "meta_info": meta}, {"meta_info": {"completion_tokens": 4}}])
    assert report.acceptance == pytest.approx(CONDITIONAL)
    with pytest.raises(InputError, match="accept rate"):
        from_sglang_responses([meta | {"spec_accept_rate": 0.9}])


def test_totals_alone_give_the_rate_of_proposition_1() -> None:
    # 8 steps of 4 drafted tokens accepting 7.5 on average would be impossible; 15 of 32 is α with 1+α+..+α⁴ = 2.875.
    report = from_llama_cpp_responses([{"timings": {"predicted_n": 23, "draft_n": 32, "draft_n_accepted": 15}}])
    (alpha,) = report.acceptance
    assert 1 + sum(alpha**n for n in range(1, 5)) == pytest.approx(23 / 8)


def test_llama_cpp_outputs_shorter_than_their_accepted_tokens_are_refused() -> None:
    with pytest.raises(InputError, match=r"llama\.cpp"):
        from_llama_cpp_responses([{"predicted_n": 9, "draft_n": 12, "draft_n_accepted": 9}])


def test_tensorrt_llm_iterations_are_pooled_and_checked() -> None:
    stats = {"numDraftTokens": 12, "numAcceptedTokens": 6, "numRequestsWithDraftTokens": 4, "acceptanceLength": 2.5}
    report = from_tensorrt_llm_stats([{"specDecodingStats": stats}, {"specDecodingStats": None}, {"iter": 3}])
    assert (report.rounds, report.tokens_per_round) == (4, 2.5)
    with pytest.raises(InputError, match="acceptance length"):
        from_tensorrt_llm_stats([stats | {"acceptanceLength": 1.5}])


DEEPSPEC = """
+---------+--------------+-------------+----------+------------+-------------+---------------+---------------+
| dataset | target_model | draft_model | #propose | accept_len | verify_rate | accept_rate@0 | accept_rate@1 |
+---------+--------------+-------------+----------+------------+-------------+---------------+---------------+
|  gsm8k  |   Qwen3-8B   |    dspark   |  2.00+1  |    2.20    |    0.7333   |     0.8000    |     0.4000    |
+---------+--------------+-------------+----------+------------+-------------+---------------+---------------+
"""


def test_deepspec_survival_becomes_conditional() -> None:
    report = from_deepspec_table(DEEPSPEC)
    assert report.acceptance == pytest.approx((0.8, 0.5))
    assert report.tokens_per_round == pytest.approx(2.2)
    with pytest.raises(InputError, match="humaneval"):
        from_deepspec_table(DEEPSPEC, "humaneval")
    with pytest.raises(InputError, match="contradicts"):
        from_deepspec_table(DEEPSPEC.replace("2.20", "1.20"))


def test_pooled_aiperf_export_needs_the_draft_length() -> None:
    report = from_aiperf_export({"pooled_spec_decode_acceptance_histogram": {"0": 39, "1": 1, "3": 3}}, block_size=3)
    assert report.acceptance == pytest.approx(CONDITIONAL)
    with pytest.raises(InputError, match="pooled"):
        from_aiperf_export({}, block_size=3)


def test_nothing_reported_is_an_error() -> None:
    with pytest.raises(InputError, match="no acceptance record"):
        from_vllm_responses([{"metrics": None}])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "three", [3], True, -1, 1.5])
def test_what_is_no_count_is_refused_in_one_line(value: object) -> None:
    with pytest.raises(InputError, match="count"):
        from_llama_cpp_responses([{"predicted_n": 10, "draft_n": 8, "draft_n_accepted": value}])
    step = {"num_spec_steps": 1, "num_draft_tokens": 3, "num_accepted_draft_tokens": 1, "acceptance_histogram": [0, 1]}
    with pytest.raises(InputError, match="vllm"):
        from_vllm_responses([step | {"per_step_accepted": [value], "per_step_drafted": [3]}])


@pytest.mark.parametrize("value", [float("nan"), "two"])
def test_an_identity_with_what_is_no_number_does_not_hold(value: object) -> None:
    step = {"num_spec_steps": 1, "num_draft_tokens": 3, "num_accepted_draft_tokens": 1, "acceptance_histogram": [0, 1]}
    with pytest.raises(InputError, match="must be a number"):
        from_vllm_responses([step | {"mean_acceptance_length": value}])


@pytest.mark.parametrize(
    "reader",
    [
        from_vllm_responses,
        from_aiperf_records,
        from_sglang_responses,
        from_llama_cpp_responses,
        from_tensorrt_llm_stats,
    ],
)
@pytest.mark.parametrize("record", [None, "text", [1]])
def test_records_that_are_no_objects_are_refused(reader: Callable[[list[object]], object], record: object) -> None:
    with pytest.raises(InputError, match="give parsed JSON objects"):
        reader([record])


@pytest.mark.parametrize("column", ["accept_len", "#propose", "accept_rate@0"])
def test_deepspec_cells_must_be_numbers(column: str) -> None:
    cell = {"accept_len": "2.20", "#propose": "2.00+1", "accept_rate@0": "0.8000"}[column]
    with pytest.raises(InputError, match=f"{column} of the DeepSpec table is 'n/a'"):
        from_deepspec_table(DEEPSPEC.replace(cell, "n/a"))
