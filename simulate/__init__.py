"""Prediction of frontiers from one profile, comparison with measurement, and recommendation.

Reads the tables of ``specfrontier.schema`` and the JSON of ``specfrontier.profile``; never imports torch.

    predictions = predict(profile, rounds, grid, "replay", configurations=configurations)
    comparison = compare(measurements, predictions)
    answer = recommend(predictions, Goal("agreement", floor=0.9), problems=200)
"""

from specfrontier.simulate.ablation import ablation
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
from specfrontier.simulate.quality import QualityModel, fit_quality
from specfrontier.simulate.recommendation import Choice, Goal, Recommendation, recommend
from specfrontier.simulate.traces import Recorded, Traces
from specfrontier.simulate.what_if import DEVICES, Device, ModelShape, roofline_costs

__all__ = [
    "DEVICES",
    "Anchored",
    "Bootstrap",
    "Choice",
    "ClosedForm",
    "Comparison",
    "Correlated",
    "Costs",
    "Device",
    "Effort",
    "Evidence",
    "Goal",
    "Grid",
    "ModelShape",
    "Outcome",
    "Point",
    "PositionDependent",
    "Predictor",
    "QualityModel",
    "Recommendation",
    "Recorded",
    "Replay",
    "Traces",
    "ablation",
    "compare",
    "fit_quality",
    "predict",
    "predictor_named",
    "recommend",
    "registered_predictors",
    "roofline_costs",
]
