"""A world, what was recorded in it, and fresh measurements of it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from toy_world import Decoder, Study, World, measure, study

BLOCK_SIZE = 16
RULES = ("linear:0.0", "linear:0.3", "linear:0.6", "linear:0.9", "clip:2.0")


@dataclass(frozen=True)
class Case:
    """A world, what was recorded in it, and fresh measurements."""

    study: Study
    measurements: pd.DataFrame


def case(world: World, copies: int, rules: tuple[str, ...] = RULES, recorded: tuple[str, ...] = ("lossless",)) -> Case:
    """Two recordings of every problem at K = 1, and `copies` fresh decodings under every rule."""
    rows = [measure(Decoder(world, 1, rule, BLOCK_SIZE), copies) for rule in rules]
    return Case(study(world, (1,), BLOCK_SIZE, recorded, seeds=2), pd.concat(rows, ignore_index=True))
