"""What the paper prints is consistent, apart from what is listed, and the theory's figures follow from it."""

from dataclasses import replace

import numpy as np
import pytest

from specfrontier.paper_figures import paper_data
from specfrontier.paper_figures.figures import figure01, figure02, figure03
from specfrontier.paper_figures.style import journal_style
from specfrontier.paper_figures.tables import table1, table5
from specfrontier.paper_figures.theory_curves import paper_inputs, theory_curves
from specfrontier.theory import tv_distance


@pytest.mark.parametrize("row", paper_data.TABLE_1, ids=lambda row: f"{row.pair}-{row.benchmark}")
def test_printed_standard_errors_and_gaps_follow_from_n_and_accuracy(row):
    drafter, verifier = (table1.right_answers(a, row.n) / row.n for a in (row.drafter, row.verifier))
    assert f"{100 * drafter:.1f}" == f"{row.drafter:.1f}"  # a whole number of right answers gives the printed figure
    assert f"{100 * verifier:.1f}" == f"{row.verifier:.1f}"
    assert f"{100 * table1.standard_error(drafter, row.n):.1f}" == f"{row.drafter_se:.1f}"
    assert f"{100 * table1.standard_error(verifier, row.n):.1f}" == f"{row.verifier_se:.1f}"
    assert f"{100 * (verifier - drafter):.1f}" == f"{row.gap:.1f}"


def test_the_only_disagreement_is_the_statement_that_sdar_is_below_chance_on_gpqa():
    (found,) = table1.disagreements()
    assert "worse than random" in found.printed
    assert found.recomputed.startswith("25.3 %")


def test_a_wrong_standard_error_would_be_listed():
    wrong = replace(paper_data.TABLE_1[0], drafter_se=2.8)
    (found,) = table1.disagreements((wrong,))
    assert (found.printed, found.recomputed) == ("2.8", "1.8")


def test_printed_lossless_acceptance_is_one_minus_the_printed_distance():
    for steps, d in paper_data.DISTANCE_BY_STEPS.items():
        assert 1 - d == pytest.approx(paper_data.LOSSLESS_ACCEPTANCE_BY_STEPS[steps], abs=5e-4)


def test_lines_of_figure_3_start_at_lossless_acceptance_and_end_at_full_acceptance():
    with journal_style():
        data = figure03.draw(None).data
    for steps, rows in data.groupby("steps"):
        first, last = rows.iloc[0], rows.iloc[-1]
        assert first["acceptance"] == pytest.approx(paper_data.LOSSLESS_ACCEPTANCE_BY_STEPS[steps])
        assert first["agreement"] == 1.0
        assert last["acceptance"] == 1.0
        assert last["agreement"] == pytest.approx(1 - paper_data.DISTANCE_BY_STEPS[steps])


def test_no_single_effort_makes_up_the_theoretical_frontier():
    with journal_style():
        data = figure01.draw(None).data
    on_it = set(data.loc[data["on_joint_frontier"], "steps"])
    assert on_it == {1, 2, 3, 4}


def test_speedup_at_full_leniency_is_a_whole_block_and_one_over_the_cost_of_a_round():
    inputs = paper_inputs()
    curves = theory_curves(inputs, np.array([1.0])).set_index("steps")["throughput"]
    for steps, value in curves.items():
        assert value == pytest.approx((inputs.block_size + 1) / (1 + steps * 7 / 32))


def test_the_target_of_figure_2_lies_on_the_budget_and_on_the_segment():
    with journal_style():
        data = figure02.draw(None).data
    p, target, q = data[["token_1", "token_2", "token_3"]].to_numpy()
    epsilon = data["tv_to_verifier"].iloc[1]
    assert float(tv_distance(p, target)) == pytest.approx(epsilon)
    assert float(tv_distance(target, q)) == pytest.approx(float(tv_distance(p, q)) - epsilon)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "0, 0.25, 0.5, 1, …, 8"),
        (6, "0, 0.25, 0.5, 1, …, 8, 10"),
        (7, "1, 3, 5, 7, 10, 15"),
        (16, "0.25, 0.5, 1, …, 15, 20"),
    ],
)
def test_budgets_read_as_the_paper_prints_them(index, text):
    assert table5.budget_text(paper_data.TABLE_5[index][2]) == text
