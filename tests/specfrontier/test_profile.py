"""A profile survives its file, and a damaged file is refused in one line that names the file and the field."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specfrontier import strict_json
from specfrontier.errors import InputError
from specfrontier.profile import EffortProfile, Estimate, LineFit, Profile, VerifyCost
from specfrontier.simulate.costs import Costs

SHARE, SECONDS = Estimate(0.3, 0.25, 0.35, 20), Estimate(0.02, 0.019, 0.023, 50)
LINE = LineFit(Estimate(0.001, math.nan, math.nan, 2), Estimate(0.002, math.nan, math.nan, 2), 1.0)
EFFORT = EffortProfile(
    1, None, SHARE, SHARE, SHARE, SHARE, (0.2, 0.3), Estimate(3.0, 2.5, 3.5, 20), 1.0, SECONDS, host_share=0.09
)
PROFILE = Profile(
    pair="toy",
    task="toy",
    block_size=8,
    max_new_tokens=32,
    efforts=(EFFORT, replace(EFFORT, steps=None, threshold=0.9, forwards=2.5)),
    draft_cost=LINE,
    verify_cost=SECONDS,
    verify_costs=(VerifyCost(0, 20, SECONDS), VerifyCost(8, 20, SECONDS)),
    verify_cost_fit=LINE,
    host_s=SECONDS,
    host_share=0.09,
    prefill_s=SECONDS,
    autoregressive_s=SECONDS,
    prompt_tokens=20.0,
    output_tokens=30.5,
    provenance={"seed": 0, "unknown": math.nan},
)
#: What a leaf is replaced by. No field may be a list or text and a number alike; null is NaN, which some may be.
OTHERS: tuple[Any, ...] = ("x", True, [], {}, None, -1, -0.5, 10**400, math.nan, math.inf)
DROPPED = object()
Path_ = tuple[str | int, ...]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "profile.json"


def table_of(profile: Profile, path: Path) -> dict[str, Any]:
    profile.save(path)
    return json.loads(path.read_text())


def places(table: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Every value of a JSON document but the whole, objects and lists too."""
    entries = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, entry in entries:
        yield (*at, key)
        yield from places(entry, (*at, key))


def damaged(table: dict[str, Any], at: Path_, other: Any) -> dict[str, Any]:
    changed = copy.deepcopy(table)
    holder: Any = changed
    for key in at[:-1]:
        holder = holder[key]
    if other is DROPPED:
        del holder[at[-1]]
    else:
        holder[at[-1]] = other
    return changed


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        Profile.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert len(message.splitlines()) == 1
    return message


def same(a: Profile, b: Profile) -> bool:
    return repr(a) == repr(b)  # NaN is no equal of itself


def test_a_profile_survives_its_file_which_is_strict_json(path: Path) -> None:
    PROFILE.save(path)

    def constant(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    table = json.loads(path.read_text(), parse_constant=constant)
    assert table["draft_cost"]["slope"]["low"] is None
    assert same(Profile.load(path), replace(PROFILE, provenance={"seed": 0, "unknown": None}))


def test_files_of_before_load(path: Path) -> None:
    """They hold the word NaN, and no share of the host by effort."""
    table = table_of(PROFILE, path)
    for effort in table["efforts"]:
        del effort["host_share"]
    table["draft_cost"]["slope"]["low"] = math.nan
    path.write_text(json.dumps(table))
    assert "NaN" in path.read_text()
    found = Profile.load(path)
    assert all(math.isnan(effort.host_share) for effort in found.efforts)
    assert math.isnan(found.draft_cost.slope.low)  # type: ignore[union-attr]


@pytest.mark.parametrize("fault", ["serialise", "replace"])
def test_a_save_that_fails_leaves_the_file_as_it_was(path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PROFILE.save(path)
    before = path.read_bytes()
    changed = replace(PROFILE, pair="other", provenance={"thing": object()} if fault == "serialise" else {})

    def full(*_: object) -> None:
        raise OSError("no space left")

    if fault == "replace":
        monkeypatch.setattr(strict_json.os, "replace", full)
    with pytest.raises((TypeError, OSError)):
        changed.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00profile", "no JSON"),
        (b'{"pair": "\xc3("}', "no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "no JSON"),
        (b"9" * 5000, "no JSON"),
        (b"[]", "not an object"),
        (b"{}", "schema_version"),
    ],
    ids=["binary", "broken UTF-8", "deep", "empty", "long number", "list", "empty object"],
)
def test_a_file_that_holds_no_profile_is_refused(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    assert words in refusal(path)


def test_a_missing_file_a_folder_and_a_newer_release_are_refused(path: Path) -> None:
    assert "no profile at" in refusal(path)
    path.mkdir()
    assert "cannot read" in refusal(path)
    path.rmdir()
    path.write_text(json.dumps({**table_of(PROFILE, path), "schema_version": 10**6}))
    assert "upgrade specfrontier" in refusal(path)


@pytest.mark.parametrize(
    ("at", "other", "words"),
    [
        (("block_size",), "x", "block_size is 'x', not an integer"),
        (("host_s", "value"), "fast", "host_s.value is 'fast', not a finite number or null"),
        (("efforts", 1, "draft_s", "value"), -0.1, "efforts[1].draft_s.value is -0.1, outside [0, inf]"),
        (("verify_costs", 0, "seconds", "value"), None, "verify_costs[0].seconds.value is nan"),
        (("verify_costs",), [], "verify_costs is empty"),
        (("efforts",), [], "efforts is empty"),
        (("efforts", 0, "acceptance", "value"), 4.4, "efforts[0].acceptance.value is 4.4, outside [0, 1]"),
        (("efforts", 0, "threshold"), 2.0, "efforts[0].threshold is 2.0"),
        (("efforts", 0, "steps"), None, "efforts[0].steps is 0"),
        (("efforts", 0, "forwards"), DROPPED, "efforts[0].forwards is missing"),
        (("output_tokens",), None, "output_tokens is nan"),
    ],
)
def test_what_predictions_need_is_named_when_it_is_damaged(path: Path, at: Path_, other: Any, words: str) -> None:
    path.write_text(json.dumps(damaged(table_of(PROFILE, path), at, other)))
    assert words in refusal(path)


def test_an_unknown_field_is_named(path: Path) -> None:
    path.write_text(json.dumps({**table_of(PROFILE, path), "colour": "blue"}))
    assert "'colour' is no field of it" in refusal(path)


def test_costs_alone_may_lack_distances_and_lengths(path: Path) -> None:
    unknown = Estimate(math.nan, math.nan, math.nan, 0)
    effort = replace(EFFORT, d_visited=unknown, acceptance=unknown, tokens_per_round=unknown)
    found = replace(PROFILE, efforts=(effort,), output_tokens=math.nan, random_weights=True, provenance={})
    found.save(path)
    assert same(Profile.load(path), found)


def test_every_damage_is_refused_or_harmless(path: Path) -> None:
    """Each value is dropped, and replaced by some of another type or range, which take turns: either one line names the
    file and the field, or the profile is one that can be saved again and has finite costs."""
    table = table_of(PROFILE, path)
    everywhere = [at for at in places(table) if at[0] != "provenance" or len(at) == 1]
    refused = 0
    others = itertools.cycle(OTHERS)
    for at in everywhere:
        for other in (DROPPED, *itertools.islice(others, 4)):
            path.write_text(json.dumps(damaged(table, at, other)))
            try:
                found = Profile.load(path)
            except InputError as error:
                refused += 1
                message = str(error)
                assert str(path) in message
                assert len(message.splitlines()) == 1
                assert str(next(key for key in at if isinstance(key, str))) in message, (at, other, message)
                continue
            found.save(path)
            assert same(Profile.load(path), found)
            costs = Costs.from_profile(found)
            for effort in costs.draft:
                seconds = costs.round_s(effort, [1, 8], [0, 8], [20, 40], forwards=[1, 2])
                assert np.all((seconds >= 0) & np.isfinite(seconds)), (at, other)
    assert len(everywhere) >= 100
    assert refused > 2 * len(everywhere)
