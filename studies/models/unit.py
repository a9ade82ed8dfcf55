from django.db import models

from studies.models.bounds import MAX_DELTA, MAX_POSITION, between
from studies.models.dataset import Generation, Instance, System
from studies.models.study import Study


class Unit(models.Model):
    """The object of a rating: a comparison of two generations, or a single generation.

    `system_a` precedes `system_b` in the study's canonical order, whatever the sides on screen. If
    only ratings were imported, the generations are null and identified by their sample indices.
    """

    class Role(models.TextChoices):
        MAIN = "main"
        GOLD = "gold"
        TRAINING = "training"
        QUALIFICATION = "qualification"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units")
    key = models.CharField(max_length=255)
    role = models.CharField(max_length=15, choices=Role.choices, default=Role.MAIN)
    instance = models.ForeignKey(
        Instance, null=True, on_delete=models.PROTECT, related_name="units"
    )
    system_a = models.ForeignKey(System, null=True, on_delete=models.PROTECT, related_name="+")
    system_b = models.ForeignKey(System, null=True, on_delete=models.PROTECT, related_name="+")
    generation_a = models.ForeignKey(
        Generation, null=True, on_delete=models.PROTECT, related_name="+"
    )
    generation_b = models.ForeignKey(
        Generation, null=True, on_delete=models.PROTECT, related_name="+"
    )
    sample_a = models.PositiveSmallIntegerField(null=True, validators=between(0, MAX_POSITION))
    sample_b = models.PositiveSmallIntegerField(null=True, validators=between(0, MAX_POSITION))
    # The expected label of a reference unit, by the criterion's name.
    known_labels = models.JSONField(default=dict, blank=True)
    explanation = models.TextField(blank=True)

    # How the instance was drawn, and its separability. These fields are frozen at planning.
    phase = models.CharField(max_length=30, blank=True)
    inclusion_probability = models.FloatField(null=True, validators=between(0, 1))
    conditional_inclusion_probability = models.FloatField(null=True, validators=between(0, 1))
    separability_raw = models.FloatField(null=True, validators=between(-MAX_DELTA, MAX_DELTA))
    separability = models.FloatField(null=True, validators=between(-MAX_DELTA, MAX_DELTA))
    similarity = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            # Pages count reference units, of which there are few among many main units.
            models.Index(
                fields=["study", "role"], condition=~models.Q(role="main"), name="reference_units"
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="unit_key_once_per_study"),
            models.CheckConstraint(
                condition=models.Q(inclusion_probability__isnull=True)
                | models.Q(inclusion_probability__gt=0, inclusion_probability__lte=1),
                name="inclusion_probability_above_0_to_1",
            ),
        ]

    def __str__(self) -> str:
        return self.key
