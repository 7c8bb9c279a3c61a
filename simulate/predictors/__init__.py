"""Predictors, one small file each, behind the one protocol of ``base.Predictor``."""

from specfrontier.simulate.predictors.anchored import Anchored
from specfrontier.simulate.predictors.base import (
    FittedPredictor,
    Predictor,
    predictor,
    predictor_named,
    registered_predictors,
)
from specfrontier.simulate.predictors.closed_form import ClosedForm
from specfrontier.simulate.predictors.correlated import Correlated
from specfrontier.simulate.predictors.position_dependent import PositionDependent
from specfrontier.simulate.predictors.replay import Replay

__all__ = [
    "Anchored",
    "ClosedForm",
    "Correlated",
    "FittedPredictor",
    "PositionDependent",
    "Predictor",
    "Replay",
    "predictor",
    "predictor_named",
    "registered_predictors",
]
