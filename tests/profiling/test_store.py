"""The store keeps what is finished, whatever happens next, and every reader of Parquet can read it."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from specfrontier.errors import InputError
from specfrontier.profiling import parquet, parts
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.results import write_measurements
from specfrontier.profiling.store import Store, export, read_run
from specfrontier.schema import PROBLEMS, ROUNDS, SCHEMA_VERSION, TABLES

TRACED = ("tv", "p_y", "q_y", "acceptance", "deviation", "kl")


def configuration(**changes: Any) -> Configuration:
    values: dict[str, Any] = {"pair": "p", "task": "t", "mode": "speculative", "max_new_tokens": 8, "steps": 1}
    values |= {"rule": "lossless", "block_size": 4, "verification": "paper"}
    return Configuration(**{**values, **changes})


def problem_row(key: str, name: str) -> dict[str, Any]:
    row = {"config": key, "problem": name, "prompt_tokens": 3, "output_tokens": 5, "rounds": 2, "accepted": 3}
    row |= {"visited": 4, "finished": True, "correct": True, "agreement": 1.0, "kl": 0.0}
    return row | {"prefill_s": 0.1, "decode_s": 0.2, "text": "a"}


def round_rows(count: int, traced: bool = True) -> list[dict[str, Any]]:
    integers = ("context", "requested", "drafted", "verified", "accepted", "emitted", "forwards")
    row: dict[str, Any] = dict.fromkeys(integers, 2) | {"draft_s": 0.1, "verify_s": 0.2, "accept_s": 0.01}
    if traced:
        row |= {name: [0.25, 0.5] for name in TRACED} | {"steps": [1, 2]}
    return [row | {"round": i} for i in range(count)]


def provenance(temperature: float = 1.0) -> dict[str, Any]:
    return {"pair": {"name": "p", "temperature": temperature}, "seed": 0}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = Store(tmp_path / "run")
    found.begin_session(provenance())
    found.declare([configuration(), configuration(steps=2)])
    for name in ("b", "a"):
        found.add(problem_row(configuration().key, name), round_rows(2))
    found.add(problem_row(configuration(steps=2).key, "a"), round_rows(1, traced=False))
    return found


def test_what_was_added_is_there_with_the_types_of_the_schema(store: Store) -> None:
    tables = read_run(store.folder)
    assert list(tables.problems.columns) == [column.name for column in PROBLEMS]
    assert list(tables.rounds.columns) == [column.name for column in ROUNDS]
    assert sorted(tables.problems["problem"]) == ["a", "a", "b"]
    rounds = tables.rounds[tables.rounds["config"] == configuration().key]
    assert [*rounds["round"]] == [0, 1, 0, 1]
    assert rounds["tv"].iloc[0].tolist() == [0.25, 0.5]
    assert tables.rounds[tables.rounds["config"] == configuration(steps=2).key]["tv"].isna().all()


def test_finishing_and_measuring_hold_two_configurations_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is read and the one before it, of five; whole runs of the paper's size would not fit."""
    for steps in (3, 4, 5):
        store.declare([configuration(steps=steps)])
        store.add(problem_row(configuration(steps=steps).key, "a"), round_rows(1))
    split, read, most = parts.split, list[weakref.ref[pa.Table]](), list[int]()

    def counted(pieces: Iterable[pa.Table]) -> tuple[pa.Table, pa.Table]:
        problems, rounds = split(pieces)
        read.append(weakref.ref(rounds))
        most.append(sum(table() is not None for table in read))
        return problems, rounds

    monkeypatch.setattr(parts, "split", counted)
    store.finish()
    assert len(write_measurements(store)) == len(most) / 2 == 5
    assert max(most) == 2
    assert len(pd.read_parquet(store.folder / "rounds.parquet")) == len(store.tables().rounds) == 8


def test_merging_the_parts_changes_nothing_that_is_read(store: Store) -> None:
    before = store.tables()
    finished = store.finished(configuration().key)
    store.finish()
    after = store.tables()
    pd.testing.assert_frame_equal(before.problems, after.problems)
    pd.testing.assert_frame_equal(before.rounds, after.rounds)
    assert store.finished(configuration().key) == finished == {parts.digest("a"), parts.digest("b")}
    assert len(list((store.folder / "parts" / configuration().key).iterdir())) == 1


def test_a_crash_between_merging_and_removing_counts_no_problem_twice(store: Store, tmp_path: Path) -> None:
    folder = store.folder / "parts" / configuration().key
    single = parts.part_path(folder, "a").read_bytes()
    store.finish()
    parts.part_path(folder, "a").write_bytes(single)
    assert sorted(store.tables().problems["problem"]) == ["a", "a", "b"]


def test_problems_can_be_added_after_a_merge(store: Store) -> None:
    store.finish()
    store.add(problem_row(configuration().key, "c"), round_rows(1))
    store.finish()
    assert sorted(pd.read_parquet(store.folder / "problems.parquet")["problem"]) == ["a", "a", "b", "c"]


def test_a_problem_that_another_process_merged_is_still_finished(store: Store) -> None:
    Store(store.folder).finish()
    assert store.has(configuration().key, "a")
    assert not store.has(configuration().key, "c")


def test_pandas_polars_and_duckdb_read_the_same_rows(store: Store) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    store.finish()
    path = store.folder / "rounds.parquet"
    by_pandas = pd.read_parquet(path)
    by_polars = polars.read_parquet(path)
    by_duckdb = duckdb.sql(f"select * from '{path}'").fetchall()
    assert by_polars.rows() == [tuple(r) for r in by_duckdb]
    assert by_polars["tv"].to_list()[0] == by_pandas["tv"].iloc[0].tolist()
    assert by_polars.height == len(by_pandas) == 5


def test_files_carry_version_and_provenance(store: Store) -> None:
    store.finish()
    stored = parquet.read_provenance(store.folder / "problems.parquet")
    assert stored["sessions"][0]["pair"]["name"] == "p"
    metadata = pq.read_schema(store.folder / "rounds.parquet").metadata
    assert metadata[parquet.VERSION_KEY] == str(SCHEMA_VERSION).encode()


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_table_of_the_schema_round_trips_empty(table: str, tmp_path: Path) -> None:
    path = tmp_path / f"{table}.parquet"
    parquet.write_arrow(parquet.rows_to_arrow(table, []), path)
    assert list(parquet.read_frame(path, table).columns) == [column.name for column in TABLES[table]]


def test_nullable_integers_stay_integers(store: Store) -> None:
    store.declare([Configuration(pair="p", task="t", mode="autoregressive", max_new_tokens=8)])
    steps = store.tables().configurations.set_index("mode")["steps"]
    assert str(steps.dtype) == "Int64"
    assert pd.isna(steps["autoregressive"])


def test_a_newer_file_is_rejected_in_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.finish()
    path = store.folder / "problems.parquet"
    data = pq.read_table(path)
    newer = {**data.schema.metadata, parquet.VERSION_KEY: str(SCHEMA_VERSION + 1).encode()}
    pq.write_table(data.replace_schema_metadata(newer), path)
    with pytest.raises(InputError, match=rf"schema version {SCHEMA_VERSION + 1}.*upgrade") as caught:
        parquet.read_frame(path, "problems")
    assert "\n" not in str(caught.value)


def test_an_older_run_reads_with_what_it_lacks_missing(store: Store) -> None:
    """Parts and merged files alike."""
    files = [*store.folder.rglob("parts/*/*.parquet")]
    for path in files:
        old = pq.read_table(path).drop_columns(["log_likelihood"])
        pq.write_table(old.replace_schema_metadata({**old.schema.metadata, parquet.VERSION_KEY: b"1"}), path)
    assert files
    assert read_run(store.folder).problems["log_likelihood"].isna().all()
    store.finish()
    store.add(problem_row(configuration().key, "c"), round_rows(1))
    assert len(read_run(store.folder).problems) == 4


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.98])
def test_a_truncated_file_is_rejected_in_one_line(store: Store, keep: float) -> None:
    path = next((store.folder / "parts" / configuration().key).iterdir())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(InputError, match=r"is corrupt .*delete it and run again") as caught:
        read_run(store.folder)
    assert "\n" not in str(caught.value)


def test_another_table_or_a_foreign_file_is_rejected(store: Store, tmp_path: Path) -> None:
    store.finish()
    with pytest.raises(InputError, match="holds the table problems, not rounds"):
        parquet.read_frame(store.folder / "problems.parquet", "rounds")
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"x": [1]}), foreign)
    with pytest.raises(InputError, match="not written by specfrontier"):
        parquet.read_frame(foreign, "rounds")


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run at"):
        read_run(tmp_path / "nowhere")


def test_results_of_two_versions_of_a_pair_are_not_mixed(store: Store) -> None:
    with pytest.raises(InputError, match="another version of the pair p"):
        store.begin_session(provenance(temperature=0.5))
    store.begin_session(provenance())


LOAD = {"device": None, "drafter_device": None, "dtype": None, "device_map": None, "compile": False}


def loaded(gpus: int = 0, **options: Any) -> dict[str, Any]:
    """Provenance of a session on a machine with so many GPUs."""
    return provenance() | {"machine": {"gpus": ["GPU"] * gpus}, "settings": {"load": {**LOAD, **options}}}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (loaded(), loaded(dtype="bfloat16"), "with dtype float32, not bfloat16"),
        (loaded(), loaded(compile=True), "with compile False, not True"),
        (loaded(), loaded(gpus=1), "with device cpu, not cuda"),
        (loaded(gpus=1, device="cpu"), loaded(gpus=1), "with device cpu, not cuda"),
        (loaded(gpus=2), loaded(gpus=2, device_map="auto"), "with device map none, not auto"),
        (loaded(gpus=1), loaded(gpus=1, drafter_device="cpu"), "with drafter device cuda, not cpu"),
    ],
)
def test_results_of_models_that_were_loaded_otherwise_are_not_mixed(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], words: str
) -> None:
    store = Store(tmp_path)
    store.begin_session(before)
    with pytest.raises(InputError, match=rf"{words}.*give another --out") as caught:
        store.begin_session(after)
    assert len(str(caught.value).splitlines()) == 1
    assert len(store.sessions()) == 1
    store.begin_session(after | {"pair": {"name": "another"}})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (loaded(), loaded(device="cpu", dtype="float32")),
        (loaded(gpus=1), loaded(gpus=2, device="cuda:1", drafter_device="cuda:0", dtype="bfloat16")),
        (loaded(), provenance()),
        (provenance(), loaded()),
        (provenance() | {"settings": {"n": 1}}, loaded()),
    ],
)
def test_what_was_left_open_counts_as_it_was_decided_and_older_sessions_pass(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    store = Store(tmp_path)
    store.begin_session(before)
    store.begin_session(after)
    assert len(store.sessions()) == 2


def test_parts_without_their_settings_are_named(store: Store, tmp_path: Path) -> None:
    """They would be missing from every table, and nobody would be told."""
    key = configuration(steps=2).key
    note = store.folder / "configurations" / f"{key}.json"
    content = note.read_text()
    note.unlink()
    for use in (lambda: export(store.folder, tmp_path / "csv"), store.finish, lambda: read_run(store.folder)):
        with pytest.raises(InputError, match=rf"lacks the settings of parts/{key}; restore its files"):
            use()
    note.write_text(content)
    assert len(read_run(store.folder).problems) == 3


def test_other_files_of_a_folder_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    Store(tmp_path).finish()
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_missing_value_where_none_may_be_is_an_error() -> None:
    row = problem_row("k", "a") | {"decode_s": None}
    with pytest.raises(InputError, match="'decode_s' of the problems table has missing values"):
        parquet.rows_to_arrow("problems", [row])


def test_a_failed_write_leaves_the_old_file_and_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_arrow(parquet.rows_to_arrow("problems", [problem_row("k", "a")]), path)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space"):
        parquet.write_arrow(parquet.rows_to_arrow("problems", []), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.parquet"]


def test_export_writes_lists_as_json(store: Store, tmp_path: Path) -> None:
    written = export(store.folder, tmp_path / "csv")
    assert [path.name for path in written] == ["configurations.csv", "problems.csv", "rounds.csv"]
    rounds = pd.read_csv(tmp_path / "csv" / "rounds.csv")
    assert json.loads(rounds["tv"].dropna().iloc[0]) == [0.25, 0.5]
    assert len(rounds) == 5


def test_key_depends_on_every_setting_and_on_nothing_else() -> None:
    base = configuration()
    changes = [{"steps": 2}, {"rule": "linear:0.5"}, {"block_size": 8}, {"seed": 1}, {"verification": "exact"}]
    changes += [{"pair": "q"}, {"task": "u"}, {"max_new_tokens": 9}, {"mode": "assisted"}]
    assert len({base.key, *(configuration(**change).key for change in changes)}) == len(changes) + 1
    assert configuration(rule="linear:0.50").key == configuration(rule="linear:0.5").key


@pytest.mark.parametrize("name", ["seed", "steps", "block_size", "max_new_tokens"])
@pytest.mark.parametrize("mode", ["speculative", "autoregressive"])
def test_a_setting_that_no_table_holds_is_refused_before_anything_is_measured(name: str, mode: str) -> None:
    """A run folder with it could never be read again."""
    with pytest.raises(InputError, match=f"{name}.* is {2**63}; give an integer <= "):
        configuration(mode=mode, **{name: 2**63})


def test_a_problems_seed_is_stable_and_shared_by_configurations() -> None:
    # A stored constant: a run must resume with the seeds that it began with, in every release.
    assert configuration().problem_seed("gsm8k-1") == configuration(steps=2).problem_seed("gsm8k-1")
    assert configuration().problem_seed("gsm8k-1") != configuration(seed=1).problem_seed("gsm8k-1")
    assert configuration().problem_seed("gsm8k-1") == 1434283345836491415


def test_a_flipped_byte_is_found_or_changes_nothing(store: Store) -> None:
    """Pages carry checksums: damage is never read as another number. Every 13th byte of a file, one at a time."""
    path = next((store.folder / "parts" / configuration().key).iterdir())
    for other in set(path.parent.iterdir()) - {path}:
        other.unlink()
    content, whole, found = path.read_bytes(), parts.read_parts(path.parent).to_pylist(), 0
    for at in range(0, len(content), 13):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            assert parts.read_parts(path.parent).to_pylist() == whole
        except InputError:
            found += 1
    assert found > 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.drop_columns(["decode_s"]), "lacks the column 'decode_s'"),
        (
            lambda data: data.set_column(1, "problem", pa.array([1] * len(data))),
            "'problem' is int64, not string",
        ),
        (
            lambda data: data.replace_schema_metadata({**data.schema.metadata, parquet.VERSION_KEY: b"two"}),
            "its schema version is b'two'",
        ),
    ],
)
def test_a_table_that_is_not_the_schemas_is_rejected(store: Store, change: Any, words: str) -> None:
    store.finish()
    path = store.folder / "problems.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(InputError, match=words):
        parquet.read_frame(path, "problems")


@pytest.mark.parametrize("text", ["[]", "{", "3", "{}", '{"config": 3, "status": "done"}', "\x00"])
@pytest.mark.parametrize("kind", ["configurations", "sessions"])
def test_a_corrupt_note_is_named(store: Store, kind: str, text: str) -> None:
    path = next((store.folder / kind).iterdir()) if kind == "configurations" else store.folder / kind / "0000.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"{path.name}.*delete it and run again") as caught:
        read_run(store.folder)
    assert len(str(caught.value).splitlines()) == 1


def test_a_setting_of_another_type_is_named(store: Store) -> None:
    path = next((store.folder / "configurations").iterdir())
    path.write_text(json.dumps({**json.loads(path.read_text()), "max_new_tokens": "many"}))
    with pytest.raises(InputError, match="configurations table does not fit its schema"):
        read_run(store.folder)


def test_a_run_of_a_newer_release_is_left_alone(store: Store) -> None:
    note = {"schema_version": SCHEMA_VERSION + 1, "pair": {"name": "p"}}
    (store.folder / "sessions" / "9999.json").write_text(json.dumps(note))
    for use in (read_run, Store):
        with pytest.raises(InputError, match=rf"schema version {SCHEMA_VERSION + 1}.*upgrade"):
            use(store.folder)
