"""Every figure and table is there, draws from a run, and says on its face what was measured."""

import hashlib
import os
import subprocess
import sys
from importlib import import_module

import pandas as pd
import pytest

from specfrontier.errors import InputError
from specfrontier.paper_figures import draw, draw_all
from specfrontier.paper_figures.catalogue import ENTRIES, entry_named
from specfrontier.paper_figures.demo import demo_figures
from specfrontier.paper_figures.frontier_plot import THROUGHPUT, frontier_mask
from specfrontier.paper_figures.style import journal_style
from specfrontier.paper_figures.tables.render import Table

FIGURES = [entry.name for entry in ENTRIES if entry.kind == "figure"]


def test_the_catalogue_is_figures_1_to_13_tables_1_to_5_and_the_examples():
    assert [str(n) for n in range(1, 14)] == FIGURES
    assert {e.name for e in ENTRIES} - set(FIGURES) == {*(f"table{n}" for n in range(1, 6)), "examples"}
    for entry in ENTRIES:
        assert callable(import_module(entry.module).draw)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_from_a_run_and_says_whose_measurements_they_are(name, wide_run):
    with journal_style():
        drawing = entry_named(name).make(wide_run)
        drawing.figure.draw_without_rendering()
    assert not drawing.data.empty
    if name != "1":
        assert "Measured: toy-" in drawing.figure.get_supxlabel()
        assert "Paper: " in drawing.figure.get_supxlabel()
        bars = "the middle 95 % of rounds, the band one standard deviation" if name == "6" else "one standard error"
        assert f"bars are {bars}. " in drawing.figure.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize("name", [e.name for e in ENTRIES if e.kind == "table"])
def test_every_table_has_cells_and_numbers(name, wide_run):
    table = entry_named(name).make(wide_run)
    assert isinstance(table, Table)
    assert len(table.cells)
    assert len(table.data)


def test_nothing_of_a_figure_leaves_its_page(wide_run):
    with journal_style():
        for name in ("4", "9", "12"):
            figure = entry_named(name).make(wide_run).figure
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
            width, height = figure.get_size_inches()
            assert box.x0 > -0.02
            assert box.x1 < width + 0.02
            assert box.y0 > -0.02
            assert box.y1 < height + 0.02


def test_without_a_run_theory_and_tables_are_drawn_and_the_rest_is_explained(tmp_path):
    drawn = draw_all(None, tmp_path, ("svg",))
    names = {path.name for path in drawn.paths}
    assert {"figure01.svg", "figure01.csv", "figure02.svg", "figure03.svg", "table1.md", "table1.tex"} <= names
    assert set(drawn.left_out) == {e.name for e in ENTRIES if not e.from_paper}
    assert all("--from" in reason for reason in drawn.left_out.values())
    assert all(path.stat().st_size > 0 for path in drawn.paths)


@pytest.mark.parametrize("which", ["14", "table9", "", "figure", "0x"])
def test_an_unknown_name_is_one_clear_line(which, tmp_path):
    with pytest.raises(InputError, match="choose 1 to 13"):
        draw(which, None, tmp_path)


def test_an_unknown_format_and_an_unwritable_folder_are_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="unknown figure format 'bmp'"):
        draw("1", None, tmp_path, ("bmp",))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write to"):
        draw("1", None, tmp_path / "file")


def test_a_figure_that_the_run_cannot_fill_says_what_is_missing(run, tmp_path):
    with pytest.raises(InputError, match="second task"):
        draw("10", run, tmp_path)
    with pytest.raises(InputError, match="two block sizes"):
        draw("9", run, tmp_path)


def test_the_csv_beside_a_figure_holds_every_configuration_and_its_place_on_the_frontier(run, tmp_path):
    paths = draw("7", run, tmp_path, ())
    table = pd.read_csv(paths[-1])
    assert len(table) == 24  # four efforts, six leniencies
    again = table.assign(threshold=None)
    assert table["on_throughput_frontier"].tolist() == frontier_mask(again, THROUGHPUT).tolist()


def test_demo_writes_three_figures_in_three_formats_with_their_tables(run, tmp_path):
    paths = demo_figures(run.profiles[0], run.predictions, run.measurements, run.rounds, tmp_path)
    assert [p.name for p in paths] == [
        f"{name}.{form}" for name in ("prediction", "frontier", "costs") for form in ("pdf", "svg", "png", "csv")
    ]
    assert all(p.stat().st_size > 500 for p in paths)
    with pytest.raises(InputError, match="predictions of toy-masked by 'nobody'"):
        demo_figures(run.profiles[0], run.predictions, run.measurements, run.rounds, tmp_path, predictor="nobody")


SCRIPT = """
import sys
from pathlib import Path
from specfrontier.paper_figures import draw
draw("3", None, Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_the_same_inputs_give_the_same_bytes_in_different_processes(tmp_path):
    digests = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": f"17000000{seed}0"}
        subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], check=True, env=environment)
        digests.append({p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()})
    assert digests[0] == digests[1]
    assert len(digests[0]) == 4
