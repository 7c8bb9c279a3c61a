"""Algorithm 1 on real checkpoints: drafters, verifiers, pairs.

Names are imported on first use, so that reading pair files does not load transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specfrontier.decoding.drafters.base import Draft, Drafter, DraftRequest, DraftSession, Effort
    from specfrontier.decoding.engine import Engine, Settings
    from specfrontier.decoding.loading import load_pair
    from specfrontier.decoding.pair import Pair
    from specfrontier.decoding.pair_file import PairFile, pair_names, read_pair_file
    from specfrontier.decoding.records import Generation, PositionTrace, Round
    from specfrontier.decoding.sampling import Sampling
    from specfrontier.theory.rules import RuleSchedule

__all__ = [
    "Draft",
    "DraftRequest",
    "DraftSession",
    "Drafter",
    "Effort",
    "Engine",
    "Generation",
    "Pair",
    "PairFile",
    "PositionTrace",
    "Round",
    "RuleSchedule",
    "Sampling",
    "Settings",
    "load_pair",
    "pair_names",
    "read_pair_file",
]

_MODULE_OF = {
    **dict.fromkeys(("Draft", "DraftRequest", "DraftSession", "Drafter", "Effort"), "decoding.drafters.base"),
    **dict.fromkeys(("Engine", "Settings"), "decoding.engine"),
    **dict.fromkeys(("PairFile", "pair_names", "read_pair_file"), "decoding.pair_file"),
    **dict.fromkeys(("Generation", "PositionTrace", "Round"), "decoding.records"),
    "Pair": "decoding.pair",
    "RuleSchedule": "theory.rules",
    "Sampling": "decoding.sampling",
    "load_pair": "decoding.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"specfrontier.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # later look-ups skip this function
    return value
