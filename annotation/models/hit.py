from datetime import datetime

from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from studies.models import Instance, Study, Unit


class HITQuerySet(models.QuerySet["HIT"]):
    def main(self) -> "HITQuerySet":
        """Those that are collected from: training and qualification have HITs of their own."""
        return self.filter(kind=HIT.Kind.MAIN)


class HIT(models.Model):
    """A bundle of units served together: in the flagship protocol one instance, N comparisons.

    A HIT that is not of the main kind has no places: whoever comes has to pass it.
    """

    class Kind(models.TextChoices):
        MAIN = "main"
        TRAINING = "training"
        QUALIFICATION = "qualification"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="hits")
    instance = models.ForeignKey(Instance, null=True, on_delete=models.PROTECT, related_name="+")
    # Where the planning's random draw put it; stopping rules consume instances in this order.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=15, choices=Kind.choices, default=Kind.MAIN)
    units = models.ManyToManyField(Unit, through="HITUnit", related_name="hits")

    objects = HITQuerySet.as_manager()

    class Meta:
        verbose_name = "HIT"
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "number"], name="hit_number_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return f"HIT {self.number}"


class HITUnit(models.Model):
    """A unit's seat in a HIT. `repeat` 1 is a planned repeat of a unit met before.

    `side_bit` xor the parity of the place decides which system is shown first.
    """

    hit = models.ForeignKey(HIT, on_delete=models.CASCADE, related_name="hit_units")
    unit = models.ForeignKey(Unit, on_delete=models.PROTECT, related_name="hit_units")
    repeat = models.PositiveSmallIntegerField(default=0)
    side_bit = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "unit", "repeat"], name="seat_once_per_hit")
        ]

    def __str__(self) -> str:
        return f"{self.unit_id} in {self.hit_id}"


class PlaceQuerySet(models.QuerySet["Place"]):
    def free(self, now: datetime) -> "PlaceQuerySet":
        """Not completed, and nobody's live lease: decided here, so no cleaner has to run."""
        return self.filter(Q(lease_until__isnull=True) | Q(lease_until__lte=now)).filter(
            completed_at__isnull=True
        )

    def recount_remaining(self) -> int:
        """Bring `remaining` of these places in line with their HITs' rows."""
        siblings = Place.objects.filter(hit=OuterRef("hit"), completed_at__isnull=True)
        count = siblings.order_by().values("hit").annotate(n=Count("pk")).values("n")
        return self.update(remaining=Coalesce(Subquery(count), 0))


class Place(models.Model):
    """One of the R complete answers that a HIT must get from humans."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="places")
    hit = models.ForeignKey(HIT, on_delete=models.CASCADE, related_name="places")
    number = models.PositiveSmallIntegerField()
    # How many places of the HIT are not completed. Those of HITs that lack least are given out
    # first, equals by a random number, so that taking one reads the head of one index.
    remaining = models.PositiveSmallIntegerField(default=0)
    draw = models.BigIntegerField()
    assignment = models.OneToOneField(
        "annotation.Assignment", null=True, on_delete=models.PROTECT, related_name="place"
    )
    lease_until = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    objects = PlaceQuerySet.as_manager()

    class Meta:
        ordering = ["hit", "number"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "number"], name="place_number_once_per_hit"),
            models.CheckConstraint(
                condition=Q(assignment__isnull=False)
                | Q(lease_until__isnull=True, completed_at__isnull=True),
                name="place_without_holder_is_free",
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "remaining", "draw"],
                condition=Q(completed_at__isnull=True),
                name="place_wanted_most_first",
            )
        ]

    def __str__(self) -> str:
        return f"place {self.number} of {self.hit_id}"

    def is_free(self, now: datetime) -> bool:
        """The same as the query's `free`, for a row that is at hand."""
        lapsed = self.lease_until is None or self.lease_until <= now
        return self.completed_at is None and lapsed

    @property
    def parity(self) -> int:
        return self.number % 2
