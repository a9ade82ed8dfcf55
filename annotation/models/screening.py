"""Annotators' attempts at the screening stages."""

from django.db import models

from annotation.models.rater import Participation, Rater
from studies.models import Study


class ScreeningAttempt(models.Model):
    """One attempt at a screening stage, with its result. Append-only."""

    class Stage(models.TextChoices):
        COMPREHENSION = "comprehension"
        TRAINING = "training"
        QUALIFICATION = "qualification"

    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="screening_attempts"
    )
    # Copied from the participation, because other studies may accept a test that the rater passed.
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="screening_attempts")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="+")
    stage = models.CharField(max_length=15, choices=Stage.choices)
    number = models.PositiveSmallIntegerField()
    # Numbers of units, or of questions about the guidelines.
    correct = models.PositiveSmallIntegerField()
    of = models.PositiveSmallIntegerField()
    is_passed = models.BooleanField()
    answers = models.JSONField(default=dict)
    valid_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participation", "stage", "number"], name="screening_attempt_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.stage} {self.number}: {self.correct} of {self.of}"
