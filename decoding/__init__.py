"""Algorithm 1 on real checkpoints: drafters, verifiers, pairs."""

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
