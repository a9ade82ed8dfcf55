"""Models of data collection: HITs, places, raters, participations, assignments and ratings."""

from annotation.models.baseline import Abstention, Baseline
from annotation.models.example_set import ExampleSet
from annotation.models.hit import HIT, HITUnit, Place
from annotation.models.judge import Judge, JudgeFailure, Verdict
from annotation.models.jury import Jury
from annotation.models.rater import Assignment, Participation, Rater
from annotation.models.rating import Rating, Tally
from annotation.models.screening import ScreeningAttempt
from annotation.models.synthetic import (
    SyntheticItem,
    SyntheticSet,
    SyntheticText,
    SyntheticVerdict,
)

__all__ = [
    "HIT",
    "Abstention",
    "Assignment",
    "Baseline",
    "ExampleSet",
    "HITUnit",
    "Judge",
    "JudgeFailure",
    "Jury",
    "Participation",
    "Place",
    "Rater",
    "Rating",
    "ScreeningAttempt",
    "SyntheticItem",
    "SyntheticSet",
    "SyntheticText",
    "SyntheticVerdict",
    "Tally",
    "Verdict",
]
