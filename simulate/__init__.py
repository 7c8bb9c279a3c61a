"""Prediction of frontiers from one profile, comparison with measurement, and recommendation.

Reads the tables of ``specfrontier.schema`` and the JSON of ``specfrontier.profile``; never imports torch.
"""

from specfrontier.simulate.comparison import Comparison, compare
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.evidence import Bootstrap, Evidence
from specfrontier.simulate.grid import Effort, Grid, Point
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.predict import predict
from specfrontier.simulate.predictors import (
    Anchored,
    ClosedForm,
    Correlated,
    PositionDependent,
    Predictor,
    Replay,
    predictor_named,
    registered_predictors,
)
from specfrontier.simulate.traces import Recorded, Traces

__all__ = [
    "Anchored",
    "Bootstrap",
    "ClosedForm",
    "Comparison",
    "Correlated",
    "Costs",
    "Effort",
    "Evidence",
    "Grid",
    "Outcome",
    "Point",
    "PositionDependent",
    "Predictor",
    "Recorded",
    "Replay",
    "Traces",
    "compare",
    "predict",
    "predictor_named",
    "registered_predictors",
]
