"""Tables survive their three forms: nothing in a cell can break Markdown or LaTeX."""

import pandas as pd
import pytest

from specfrontier.paper_figures.figures.figure09 import relative_speed
from specfrontier.paper_figures.frontier_plot import LATENCY, THROUGHPUT
from specfrontier.paper_figures.tables import examples, table1, table4, table5
from specfrontier.paper_figures.tables.render import Table, to_latex, to_markdown


def test_special_characters_are_escaped():
    cells = pd.DataFrame({"a|b": ["x & y_1 < 50% ± 2\nnext {δ}"]})
    table = Table("A caption & more.", cells, cells)
    assert r"| x & y\_1 &lt; 50% ± 2<br>next {δ} |" in to_markdown(table)
    assert r"x \& y\_1 \textless{} 50\% $\pm$ 2\newline next \{$\delta$\} \\" in to_latex(table)
    assert r"A caption \& more." in to_latex(table)


def test_a_runs_own_pairs_stand_below_the_papers_rows(wide_run):
    table = table1.draw(wide_run)
    own = table.data[table.data["source"] == "run"]
    assert own["pair"].tolist() == ["toy-masked"] * 2 + ["toy-uniform"] * 2
    share = own["drafter"] / 100
    expected = 100 * (share * (1 - share) / own["n"]) ** 0.5
    assert (own["drafter_se"] - expected).abs().max() < 1e-9
    rows = table4.draw(wide_run).cells
    assert rows["Diffusion effort"].iloc[-1] == "K ∈ {1, 2, 4, 8}"
    assert rows["Acceptance"].iloc[-1] == "Cactus, Linear"
    assert table5.draw(wide_run).cells["Cactus budgets δ"].iloc[-1] == "0, 1, 2, 3, 4, 5"


def test_examples_show_one_problem_at_rising_leniency_and_then_at_rising_effort(run):
    rows = examples.example_rows(run, "toy-masked")
    leniency = rows.loc[rows["part"] == "rising leniency", "leniency"].tolist()
    assert leniency == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    rising = rows[rows["part"] == "rising effort"]
    assert [level.value for level in rising["effort"]] == [1, 2, 4, 8] * 2
    assert rows["problem"].nunique() == 1


def test_relative_speed_is_taken_at_equal_accuracy_and_only_within_the_reference():
    reference = pd.DataFrame({"accuracy": [0.6, 0.8], "throughput": [300.0, 100.0], "latency": [1.0, 3.0]})
    other = pd.DataFrame({"accuracy": [0.7, 0.9], "throughput": [400.0, 50.0], "latency": [1.0, 9.0]})
    assert relative_speed(other, reference, THROUGHPUT)["speedup"].tolist() == pytest.approx([2.0])
    assert relative_speed(other, reference, LATENCY)["speedup"].tolist() == pytest.approx([2.0])
