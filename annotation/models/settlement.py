"""What researchers decided about items on which annotators disagree."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models import Criterion, Unit

MAX_WHY = 2000


class Settlement(models.Model):
    """A researcher's label of an item, with its reason, kept beside the ratings.

    It is no rating, so no statistic reads it. An empty `label` says that the item cannot be settled.
    One that was replaced stays as history.
    """

    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="settlements")
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="settlements")
    label = models.CharField(max_length=200, blank=True)
    reason = models.TextField(max_length=MAX_WHY)
    created_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    replaced_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["unit", "criterion"],
                condition=Q(replaced_at=None),
                name="one_current_settlement",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit_id}: {self.label or 'not settled'}"
