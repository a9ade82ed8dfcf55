from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from studies.models.bounds import MAX_COUNT, MAX_SEED, between, validate_finite
from studies.models.choices import OpenChoiceField
from studies.models.dataset import Instance, System
from studies.models.study import Study
from tiebreak.stats.design.drawing import FLOOR_TOO_HIGH, FLOORED, LOGISTIC, MAX_FLOOR


class InstanceSelection(models.Model):
    """The design by which instances are selected for rating, per pair of systems.

    A study without a selection uses all instances of its dataset.
    """

    class Design(models.TextChoices):
        UNIFORM = "uniform", "at random"
        PROPORTIONAL = "proportional", "with probability increasing in separability"
        TOP = "top", "the most separable"
        STRATA = "strata", "the same number from each range of separability"
        DOUBT = "doubt", "more often what machine raters doubt, based on a pilot"
        LENGTH = "length", "more often where the texts differ in length"

    class Weights(models.TextChoices):
        LOGISTIC = LOGISTIC, "logistic in separability (δ), steep around 0.4"
        FLOORED = FLOORED, "separability (δ) itself, with a floor"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="selection")
    design = OpenChoiceField(choices=Design.choices, default=Design.PROPORTIONAL)
    instances = models.PositiveIntegerField(
        "instances per pair of systems", validators=between(1, MAX_COUNT)
    )
    control_share = models.FloatField(
        default=0.2,
        validators=between(0, 1),
        help_text="The share of instances that are drawn uniformly at random first, to measure the"
        " gain from the selection.",
    )
    weights = OpenChoiceField(choices=Weights.choices, default=Weights.LOGISTIC)
    floor = models.FloatField(
        default=0.1,
        validators=[
            validate_finite,
            MinValueValidator(0.001),
            MaxValueValidator(MAX_FLOOR, FLOOR_TOO_HIGH),
        ],
    )
    pilot = models.ForeignKey(
        Study,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Only for a draw by machine raters' doubt: a study of the same dataset in which"
        " machine raters rated every instance, and annotators some that were drawn at random.",
    )
    seed = models.PositiveIntegerField(default=0, validators=between(0, MAX_SEED))
    drawn_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"{self.instances} instances per pair, {self.get_design_display().lower()}"


class SelectedInstance(models.Model):
    """An instance drawn for a pair of systems, with its inclusion probability."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="selected")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+")
    system_a = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    system_b = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    phase = models.CharField(max_length=10)
    inclusion_probability = models.FloatField(validators=between(0, 1))
    # The probability in the design phase, given the control sample; null for the control sample.
    conditional_inclusion_probability = models.FloatField(null=True, validators=between(0, 1))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "instance", "system_a", "system_b"], name="selected_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.instance}, drawn for {self.phase}"
