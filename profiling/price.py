"""The true price of acceptance rules on a pair's own distributions: what each accepts, against how far it deviates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from torch import Tensor

from specfrontier.decoding.laws import VisitedLaws
from specfrontier.profiling.resampling import ratio
from specfrontier.simulate.grid import parse_rule
from specfrontier.theory.price import price_of_rule

ROWS_AT_ONCE = 64
FAMILIES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "linear": (0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
        "clip": (1.25, 1.5, 2.0, 4.0, 8.0, 32.0),
        "cactus": (0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
        "lenience": (0.8, 0.6, 0.4, 0.25, 0.1, 0.03),
    }
)
"""Rules that are drawn on one plane unless told otherwise, mild to lenient."""
FIGURES = ("acceptance_rate", "bound", "tv", "kl", "chi2", "hellinger")


def default_specs() -> tuple[str, ...]:
    """`lossless`, then every family's rules."""
    return ("lossless", *(f"{name}:{value:g}" for name, values in FAMILIES.items() for value in values))


def price_table(laws: VisitedLaws, specs: Sequence[str]) -> pd.DataFrame:
    """One row a rule: means over the visited positions, with 95 % intervals over prompts.

    A divergence is infinite where a rule emits what p forbids (KL and chi-square after top-p or top-k).
    """
    prompt = laws.prompt.numpy()
    counts = np.bincount(prompt).astype(np.float64)
    rows = []
    for spec in specs:
        values = _prices(laws, spec)
        row: dict[str, float | str] = {"rule": spec, "family": spec.partition(":")[0]}
        for name in FIGURES:
            row |= _mean(name, values[name], prompt, counts)
        rows.append(row)
    return pd.DataFrame(rows)


def _prices(laws: VisitedLaws, spec: str) -> dict[str, np.ndarray]:
    rule = parse_rule(spec)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in FIGURES}
    for p, q in zip(laws.p.split(ROWS_AT_ONCE), laws.q.split(ROWS_AT_ONCE), strict=True):
        price = price_of_rule(rule, _normalised(p), _normalised(q), validate=False)
        for name in FIGURES:
            columns[name].append(np.asarray(getattr(price, name)))
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _normalised(law: Tensor) -> Tensor:
    """In float64; float32 laws add up to one to seven digits only, which a bound shows."""
    law = law.double()
    return law / law.sum(dim=-1, keepdim=True)


def _mean(name: str, values: np.ndarray, prompt: np.ndarray, counts: np.ndarray) -> dict[str, float | str]:
    if not np.isfinite(values).all():
        return {name: float("inf"), f"{name}_low": float("nan"), f"{name}_high": float("nan")}
    found = ratio(np.bincount(prompt, values), counts)
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
