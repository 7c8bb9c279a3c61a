"""A run folder becomes the tables that figures draw from."""

import pytest

from specfrontier.errors import InputError
from specfrontier.paper_figures import draw
from specfrontier.paper_figures.report.page import report_page
from specfrontier.paper_figures.run import RunSource, combine, read_run


def test_combined_runs_hold_the_rows_of_both(run):
    other = RunSource("other", measurements=run.measurements.assign(pair="other"))
    both = combine([run, other])
    assert both.pairs == ["toy-masked", "other"]
    assert len(both.measurements) == 2 * len(run.measurements)
    assert both.rounds.equals(run.rounds)
    assert both.profile("toy-masked") is not None
    assert both.profile("other") is None


def test_a_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="no run at"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no run given"):
        read_run()


def test_what_the_schema_stores_comes_back(run, tmp_path, words):
    from specfrontier.profiling.parquet import write_frame

    for name in ("configurations", "problems", "rounds", "measurements", "predictions"):
        frame = getattr(run, name)
        if name == "problems":
            frame = frame.assign(correct=frame["correct"].astype("boolean"))
        write_frame(name, frame, tmp_path / f"{name}.parquet")
    run.profiles[0].save(tmp_path / "profile.json")
    back = read_run(tmp_path)
    assert len(back.rounds) == len(run.rounds)
    assert back.measurements["throughput"].tolist() == run.measurements["throughput"].tolist()
    assert back.profile("toy-masked") == run.profiles[0]
    assert back.diffusion_pairs == ["toy-masked"]
    for which in ("3", "6", "7", "table1", "table4", "examples"):  # nullable integers and booleans draw as well
        assert draw(which, back, tmp_path / "figures", ("svg",))
    text = report_page(back, words)
    assert text == report_page(run, words).replace("synthetic", back.name)
