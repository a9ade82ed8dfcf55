"""Models of machine raters: judges, juries, baselines, and the synthetic items that judges are tested on."""

from machine_raters.models.baseline import Abstention, Baseline
from machine_raters.models.example_set import ExampleSet
from machine_raters.models.judge import Judge, JudgeCriterion, JudgeFailure, Verdict
from machine_raters.models.jury import Jury
from machine_raters.models.machine_rater import MachineRater
from machine_raters.models.synthetic import (
    SyntheticItem,
    SyntheticSet,
    SyntheticText,
    SyntheticVerdict,
)

__all__ = [
    "Abstention",
    "Baseline",
    "ExampleSet",
    "Judge",
    "JudgeCriterion",
    "JudgeFailure",
    "Jury",
    "MachineRater",
    "SyntheticItem",
    "SyntheticSet",
    "SyntheticText",
    "SyntheticVerdict",
    "Verdict",
]
