"""Which sessions may share a run folder: those whose results under one key mean the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specfrontier.decoding.config_table import ConfigTable
from specfrontier.errors import InputError
from specfrontier.profiling.load_options import LoadOptions

REMEDY = "give another --out"


def check_same_origin(folder: Path, earlier: Sequence[Mapping[str, Any]], provenance: Mapping[str, Any]) -> None:
    """Let a session add to a run only if its pair's earlier ones had the same pair file and loaded it alike.

    Args:
        folder: of the run.
        earlier: provenance of the sessions that worked on it.
        provenance: of the session that is about to begin.

    Raises:
        InputError: if the pair's file has other contents, or the device's type, the dtype, the device map or
            compilation differ: results would be mixed under one key, and their times pooled.
    """
    session = json.loads(json.dumps(provenance))  # as it will be read back
    name, loading = session["pair"]["name"], _loading(session)
    for other in earlier:
        if other["pair"]["name"] != name:
            continue
        if other["pair"] != session["pair"]:
            raise InputError(f"{folder} holds results of another version of the pair {name}; {REMEDY}")
        for option, before in _loading(other).items():
            if loading.get(option, before) != before:
                raise InputError(
                    f"{folder} holds results of {name} with {option} {before}, not {loading[option]}, and they would "
                    f"be pooled; {REMEDY}, or load the pair as before"
                )


def _loading(session: Mapping[str, Any]) -> dict[str, Any]:
    """How a session loaded its pair, what was left open as `load_pair` decides it; empty if it does not say.

    A GPU's number is no part of it: workers of one sweep sit on several.
    """
    stated = ConfigTable(session, "the session's provenance", REMEDY)
    load = stated.table("settings").table("load")
    if not load:
        return {}
    found = "cuda" if stated.table("machine").entries.get("gpus") else "cpu"
    device = load.text("device", found).partition(":")[0]
    return {
        "device": device,
        "drafter device": load.text("drafter_device", device).partition(":")[0],
        "dtype": load.text("dtype", "bfloat16" if device == "cuda" else "float32"),
        "device map": load.text("device_map", "none"),
        "compile": load.flag("compile"),
    }


def load_options_of(sessions: Sequence[Mapping[str, Any]], pair: str) -> LoadOptions:
    """How the last session of a pair that says so loaded it; the usual way if none does."""
    for session in reversed(sessions):
        stated = ConfigTable(session, "the session's provenance", REMEDY)
        load = stated.table("settings").table("load")
        if session["pair"]["name"] == pair and load:
            return LoadOptions(
                device=load.text("device", "") or None,
                drafter_device=load.text("drafter_device", "") or None,
                dtype=load.text("dtype", "") or None,
                device_map=load.text("device_map", "") or None,
                compile=load.flag("compile"),
            )
    return LoadOptions()
