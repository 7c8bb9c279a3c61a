"""An isolation is trusted only after it held, and without one nothing runs unless the user says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from specfrontier.errors import InputError
from specfrontier.profiling.sandbox import Limits, Unisolated, find_isolation, probe as probing, run_program


@dataclass(frozen=True)
class Leaky(Unisolated):
    """Claims to isolate and doesn't."""

    name: str = "leaky"
    contains: bool = True


@dataclass(frozen=True)
class Absent(Unisolated):
    name: str = "absent"
    program: str = "no-such-program"


@pytest.fixture
def nothing_isolates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "CANDIDATES", (Absent(),))
    monkeypatch.setattr(probing, "_findings", probing._findings.__wrapped__)


def test_probe_finds_the_holes_of_an_isolation_that_only_claims_to_be_one() -> None:
    fault = probing.probe(Leaky()).fault
    assert fault is not None
    for hole in ("reads the user's files", "writes outside its folder", "reaches the network", "sees its parent"):
        assert hole in fault


def test_without_isolation_it_refuses_and_says_why(nothing_isolates: None) -> None:
    with pytest.raises(InputError, match=r"absent: no-such-program is not installed.*install bubblewrap"):
        find_isolation()


def test_without_isolation_it_runs_when_told_to(nothing_isolates: None) -> None:
    assert find_isolation(allow_unisolated=True) == Unisolated()


def test_limits_and_an_empty_environment_hold_even_without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECOY_TOKEN", "not-to-be-seen")
    none = Unisolated()
    assert run_program("import os\nassert 'DECOY_TOKEN' not in os.environ", none).passed
    assert run_program("import time\ntime.sleep(30)", none, Limits(wall_s=2)).status == "timeout"
    assert run_program("bytearray(256 << 20)", none, Limits(memory_mib=128)).status == "failed"
    assert run_program("print('x' * (1 << 20))", none, Limits(output_kib=16)).status == "output"


def test_private_folder_is_removed_afterwards() -> None:
    outcome = run_program("import os\nopen('left', 'w').write('x')\nprint(os.getcwd())", Unisolated())
    assert outcome.passed
    assert not Path(outcome.output.strip()).exists()


@pytest.mark.parametrize("field", ["wall_s", "cpu_s", "memory_mib", "processes", "file_mib", "output_kib"])
def test_limits_below_one_are_refused(field: str) -> None:
    with pytest.raises(InputError, match=f"limit {field} is 0; give an integer >= 1"):
        Limits(**{field: 0})
