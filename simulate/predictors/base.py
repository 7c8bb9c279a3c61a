"""What a predictor is, and every predictor by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from specfrontier.errors import InputError
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.grid import Point
from specfrontier.simulate.outcome import Outcome

__all__ = ["FittedPredictor", "Predictor", "predictor", "predictor_named", "registered_predictors"]


class FittedPredictor(Protocol):
    """A predictor that has seen its evidence."""

    def at(self, point: Point) -> Outcome:
        """Predict one configuration; InputError if the evidence cannot say."""

    def fitted_on(self, point: Point) -> frozenset[Point]:
        """Configurations whose measurement was used to predict `point`: a comparison must not score them."""


class Predictor(Protocol):
    """A way to predict, with its options as fields."""

    def fit(self, evidence: Evidence) -> FittedPredictor:
        """Prepare predictions from evidence; InputError naming what is missing."""


P = TypeVar("P", bound=type)
_REGISTRY: dict[str, Callable[[], Predictor]] = {}


def predictor(name: str) -> Callable[[P], P]:
    """Class decorator: enter the predictor, built without arguments, in the registry under `name`."""

    def enter(cls: P) -> P:
        _REGISTRY[name] = cls
        return cls

    return enter


def registered_predictors() -> Mapping[str, Callable[[], Predictor]]:
    """Read-only view of the registry."""
    return MappingProxyType(_REGISTRY)


def predictor_named(name: str) -> Predictor:
    """The predictor with its default options; InputError naming the known ones for any other name."""
    try:
        return _REGISTRY[name]()
    except KeyError:
        raise InputError(f"unknown predictor {name!r}; choose one of {', '.join(sorted(_REGISTRY))}") from None
