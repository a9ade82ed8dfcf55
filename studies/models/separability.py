from django.db import models

from jobs.clock import Moment
from studies.models.dataset import Instance, System


class SeparabilityScoreQuerySet(models.QuerySet["SeparabilityScore"]):
    def known(self, pair: tuple[System, System], similarity: str) -> "SeparabilityScoreQuerySet":
        """Return the scores of a system pair for which separability (δ) is defined."""
        a, b = pair
        return self.filter(system_a=a, system_b=b, similarity=similarity, delta__isnull=False)


class SeparabilityScore(models.Model):
    """The alignments and the separability (δ) of one instance, system pair and similarity.

    An alignment is null if there are too few generations.
    """

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="separability")
    system_a = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    system_b = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    similarity = models.CharField(max_length=200)
    self_alignment_a = models.FloatField(null=True)
    self_alignment_b = models.FloatField(null=True)
    cross_alignment = models.FloatField(null=True)
    delta = models.FloatField(null=True)
    delta_standard_error = models.FloatField(null=True)
    # The encoder's name, revision, layer and so on; empty for lexical similarities.
    settings = models.JSONField(default=dict)
    # How many of the instance's texts were truncated to the encoder's maximum length.
    truncated = models.PositiveSmallIntegerField(default=0)
    samples_a = models.PositiveSmallIntegerField()
    samples_b = models.PositiveSmallIntegerField()
    scored_at = models.DateTimeField(db_default=Moment(), editable=False)

    objects = SeparabilityScoreQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "system_a", "system_b", "similarity"],
                name="separability_scored_once",
            )
        ]

    def __str__(self) -> str:
        return f"δ by {self.similarity}: {self.delta}"
