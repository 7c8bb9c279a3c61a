"""Algorithm 1 on real checkpoints: drafters, verifiers, pairs.

Names are imported on first use, so that reading pair files does not load transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specfrontier.lazy import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("Draft", "DraftRequest", "DraftSession", "Drafter", "Effort"), "specfrontier.decoding.drafters.base"
        ),
        **dict.fromkeys(("Engine", "Settings"), "specfrontier.decoding.engine"),
        **dict.fromkeys(("PairFile", "pair_names", "read_pair_file"), "specfrontier.decoding.pair_file"),
        **dict.fromkeys(("Generation", "PositionTrace", "Round"), "specfrontier.decoding.records"),
        "Pair": "specfrontier.decoding.pair",
        "RuleSchedule": "specfrontier.theory.rules",
        "Sampling": "specfrontier.decoding.sampling",
        "load_pair": "specfrontier.decoding.loading",
    },
)
