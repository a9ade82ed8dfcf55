"""Models of machine raters: judges, juries, baselines, costs, and the synthetic items that judges are tested on."""

from machine_raters.models.baseline import (
    Abstention as Abstention,
    Baseline as Baseline,
)
from machine_raters.models.example_set import ExampleSet as ExampleSet
from machine_raters.models.judge import (
    SERVED_BY as SERVED_BY,
    Judge as Judge,
    JudgeCriterion as JudgeCriterion,
    JudgeFailure as JudgeFailure,
    SecondAnswer as SecondAnswer,
    Verdict as Verdict,
)
from machine_raters.models.jury import Jury as Jury
from machine_raters.models.machine_rater import MachineRater as MachineRater
from machine_raters.models.stated_cost import StatedCost as StatedCost
from machine_raters.models.synthetic import (
    SyntheticItem as SyntheticItem,
    SyntheticSet as SyntheticSet,
    SyntheticText as SyntheticText,
    SyntheticVerdict as SyntheticVerdict,
)
