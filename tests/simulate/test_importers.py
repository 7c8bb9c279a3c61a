"""What engines report comes out as conditional rates with the bonus apart, or as one clear error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specfrontier.errors import InputError
from specfrontier.simulate.importers import (
    AcceptanceReport,
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


# Steps that accept 0 of 1, 1 of 1 and 2 of 2 drafted tokens.
VARYING = {
    "acceptance_histogram": [1, 1, 1, 0],
    "acceptance_histogram_by_draft_length": {"1": [1, 1], "2": [0, 0, 1]},
    "num_spec_steps": 3,
    "num_accepted_draft_tokens": 3,
    "num_draft_tokens": 4,
    "num_spec_tokens": 3,
}


def test_vllm_histograms_by_draft_length_are_exact_when_draft_lengths_vary() -> None:
    # Two of three rounds keep position 1; only the last drafts position 2, and keeps it.
    assert from_vllm_responses([VARYING]).acceptance == pytest.approx((2 / 3, 1.0))
    # A step whose drafts a grammar discarded is a step, but reaches no position.
    discarded = {"acceptance_histogram": [2, 1, 1, 0], "num_spec_steps": 4}
    lengths = VARYING["acceptance_histogram_by_draft_length"] | {"0": [1]}
    report = from_vllm_responses([VARYING | discarded | {"acceptance_histogram_by_draft_length": lengths}])
    assert report.acceptance == pytest.approx((2 / 3, 1.0))
    assert report.tokens_per_round == 1 + 3 / 4
    fixed = from_vllm_responses([VLLM | {"acceptance_histogram_by_draft_length": {"3": [39, 1, 0, 3]}}])
    assert fixed == from_vllm_responses([VLLM])


@pytest.mark.parametrize(
    ("lengths", "complaint"),
    [
        ({"1": [1, 1]}, "steps listed are 2"),
        ({"1": [1, 1], "3": [0, 0, 1]}, "drafted tokens listed are 5"),
        ({"1": [0, 2], "2": [0, 1]}, "accepted position 1, as listed, are 3 but .* are 2"),
        ({"1": [1, 1, 1]}, "accepted 2 of 1"),
        ({"1": [1, -1], "2": [0, 0, 1]}, "by draft length"),
        ({"one": [1, 1]}, "by draft length"),
        ([[1, 1]], "by draft length"),
    ],
)
def test_vllm_histograms_by_draft_length_must_add_up_to_the_plain_one(lengths: object, complaint: str) -> None:
    with pytest.raises(InputError, match=f"vllm.*{complaint}"):
        from_vllm_responses([VARYING | {"acceptance_histogram_by_draft_length": lengths}])


def test_step_lists_must_agree_with_the_histogram_bin_by_bin() -> None:
    # As many steps and as many accepted and drafted tokens as VARYING has, in other steps: 1 + 1 + 1 and not 0 + 1 + 2.
    with pytest.raises(InputError, match=r"accepted position 1, as listed, are 3 but .* are 2"):
        from_vllm_responses([VARYING | {"per_step_accepted": [1, 1, 1], "per_step_drafted": [1, 1, 2]}])


NOTHING = {
    "mean_acceptance_length": 1.0,
    "draft_acceptance_rate": 0.0,
    "acceptance_histogram": [0, 0, 0, 0],
    "acceptance_histogram_by_draft_length": {},
    "num_spec_steps": 0,
    "num_accepted_draft_tokens": 0,
    "num_draft_tokens": 0,
    "num_spec_tokens": 3,
}


@pytest.mark.parametrize("reader", [from_vllm_responses, from_aiperf_records])
@pytest.mark.parametrize("histogram", [[0, 0, 0, 0], {}])
def test_requests_that_drafted_nothing_are_passed_over(
    reader: Callable[[list[object]], AcceptanceReport], histogram: object
) -> None:
    nothing = NOTHING | {"acceptance_histogram": histogram}
    assert reader([nothing, VLLM, nothing]) == reader([VLLM])
    with pytest.raises(InputError, match="no acceptance record"):
        reader([nothing, nothing])
    with pytest.raises(InputError, match="contradicts itself"):
        reader([VLLM, nothing | {"acceptance_histogram": [2, 0, 0, 0]}])


def test_steps_whose_drafts_were_all_discarded_count_as_steps_unless_there_are_no_others() -> None:
    discarded = NOTHING | {"num_spec_steps": 2, "acceptance_histogram": [2, 0, 0, 0]}
    discarded |= {"acceptance_histogram_by_draft_length": {"0": [2]}}
    report = from_vllm_responses([VLLM, discarded])
    assert (report.rounds, report.acceptance) == (45, pytest.approx(CONDITIONAL))
    with pytest.raises(InputError, match="drafted no token"):
        from_vllm_responses([discarded])


def test_drafts_of_varying_length_of_which_none_was_accepted_have_a_first_position() -> None:
    rejected = {"acceptance_histogram": [4, 0], "num_spec_steps": 4, "num_accepted_draft_tokens": 0}
    assert from_vllm_responses([rejected | {"num_draft_tokens": 6}]).acceptance == (0.0,)


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


# Trees of 7 nodes and depth 2, which SGLang counts as 7 proposed tokens: 100 steps accept none, 80 one, 120 both.
TREE = {
    "spec_verify_ct": 300,
    "spec_num_correct_drafts": 320,
    "spec_num_proposed_drafts": 2100,
    "spec_accept_rate": 320 / 2100,
    "spec_correct_drafts_histogram": [100, 80, 120],
}


def test_sglang_trees_end_at_their_depth() -> None:
    report = from_sglang_responses([TREE], depth=2)
    assert report.acceptance == pytest.approx((200 / 300, 120 / 200))
    assert report.draft_length == 2
    totals = {name: value for name, value in TREE.items() if name != "spec_correct_drafts_histogram"}
    (alpha,) = from_sglang_responses([totals], depth=2).acceptance
    assert alpha + alpha**2 == pytest.approx(320 / 300)
    with pytest.raises(InputError, match="drafts at most 1"):
        from_sglang_responses([TREE], depth=1)
    with pytest.raises(InputError, match="depth is 0"):
        from_sglang_responses([TREE], depth=0)


def test_sglang_trees_are_refused_where_they_are_seen() -> None:
    with pytest.raises(InputError, match="accepted 2 draft tokens in 120 steps and never more, of 7 proposed"):
        from_sglang_responses([TREE])
    # Who knows that they are chains says so, and the 0 of 120 then is a rate.
    chains = from_sglang_responses([TREE], depth=7)
    assert chains.acceptance == pytest.approx((200 / 300, 120 / 200, 0.0))
    # 3 steps that got to position 4 are no evidence: a chain may miss thrice.
    few = {"spec_verify_ct": 43, "spec_num_correct_drafts": 10, "spec_num_proposed_drafts": 43 * 5}
    report = from_sglang_responses([few | {"spec_correct_drafts_histogram": [39, 1, 0, 3]}])
    assert report.acceptance == pytest.approx((*CONDITIONAL, 0.0))
    # Nor are drafts of which nothing was ever accepted.
    none = {"spec_verify_ct": 200, "spec_num_correct_drafts": 0, "spec_num_proposed_drafts": 600}
    assert from_sglang_responses([none | {"spec_correct_drafts_histogram": [200]}]).acceptance == (0.0,)


@pytest.mark.parametrize(
    ("visited", "kept", "rates"),
    [
        # The last position has its 100 visits: as reported.
        ((400, 200, 100), (200, 100, 90), (0.5, 0.5, 0.9)),
        # From the end, 99 and then 99 + 200 visits: position 2 on are one, with 99 + 90 of 299 kept.
        ((400, 200, 99), (200, 99, 90), (0.5, 189 / 299)),
        # 50 visits in all, 10 kept: one rate.
        ((43, 4, 3), (4, 3, 3), (0.2,)),
        # A position that no round reached adds nothing.
        ((400, 100, 0), (100, 0, 0), (0.25, 0.0)),
    ],
)
def test_the_rate_beyond_the_last_position_rests_on_enough_visits(
    visited: tuple[int, ...], kept: tuple[int, ...], rates: tuple[float, ...]
) -> None:
    report = AcceptanceReport("engine", visited[0], sum(visited), sum(kept), visited, kept)
    assert report.predictor().acceptance == pytest.approx(rates)


def test_three_lucky_rounds_do_not_make_long_drafts_pay() -> None:
    (alpha,) = from_vllm_responses([VLLM]).predictor().acceptance or ()
    assert 1 / (1 - alpha) == pytest.approx(1.25)  # 1 + 0.2 + 0.2² + ..., where 3 of 3 for ever would give no end


def test_totals_alone_predict_one_rate_everywhere() -> None:
    report = AcceptanceReport("engine", rounds=10, drafted=10, accepted=4)
    assert report.predictor().acceptance == pytest.approx((0.4,))


def test_totals_alone_give_the_rate_of_proposition_1() -> None:
    # 8 steps of 4 drafted tokens accepting 7.5 on average would be impossible; 15 of 32 is α with 1+α+..+α⁴ = 2.875.
    report = from_llama_cpp_responses([{"timings": {"predicted_n": 24, "draft_n": 32, "draft_n_accepted": 15}}])
    (alpha,) = report.acceptance
    assert 1 + sum(alpha**n for n in range(1, 5)) == pytest.approx(23 / 8)


@pytest.mark.parametrize(
    ("predicted", "drafted", "accepted", "steps"),
    [
        (1 + 5 * 3, 5 * 3, 5 * 2, 5),  # the prompt's token, then five steps of two accepted tokens and one more
        (256, 259, 167, 88),  # the server logs 87 steps of up to 3; the 256th token, the limit, needs no draft
        (1 + 3 + 2, 2 * 3, 2 + 3, 1),  # the second step accepted 3, but a stop cut what followed its second token
        (2, 3, 3, 1),  # one step, cut after its first token
    ],
)
def test_llama_cpp_samples_its_first_token_without_a_step(
    predicted: int, drafted: int, accepted: int, steps: int
) -> None:
    timings = {"predicted_n": predicted, "draft_n": drafted, "draft_n_accepted": accepted}
    report = from_llama_cpp_responses([{"timings": timings}])
    assert (report.rounds, report.drafted, report.accepted) == (steps, drafted, accepted)
    assert report.tokens_per_round == 1 + accepted / steps


def test_llama_cpp_outputs_too_short_for_a_draft_are_refused() -> None:
    with pytest.raises(InputError, match=r"llama\.cpp reports 3 drafted tokens in an output of 1"):
        from_llama_cpp_responses([{"predicted_n": 1, "draft_n": 3, "draft_n_accepted": 0}])


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


def test_deepspec_tables_separated_by_tabs_are_read_below_rows_without_a_header() -> None:
    header, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in DEEPSPEC.splitlines() if "|" in line)
    text = "\n".join("\t".join(row) for row in (*rows, header, *rows))
    assert from_deepspec_table(text) == from_deepspec_table(DEEPSPEC)
    with pytest.raises(InputError, match="no DeepSpec table found"):
        from_deepspec_table("\t".join(rows[0]))


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
