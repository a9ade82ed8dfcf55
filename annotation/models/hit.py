from datetime import datetime

from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

from studies.models import Instance, Study, Unit


class HITQuerySet(models.QuerySet["HIT"]):
    def main(self) -> "HITQuerySet":
        """Return the main HITs, which exclude training and qualification HITs."""
        return self.filter(kind=HIT.Kind.MAIN)

    def last_number(self) -> int:
        """Return how many HITs of one kind a study has: they are numbered from 1, and counting millions takes long."""
        return self.order_by("-number").values_list("number", flat=True).first() or 0

    def with_further_ratings(self, study: Study) -> "HITQuerySet":
        """Return a study's HITs that were drawn for further ratings, which have the most places."""
        drawn = self.filter(study=study, places__number=study.most_ratings - 1)
        return drawn if study.further_share else self.none()


class HIT(models.Model):
    """A set of units that are rated together, by default N comparisons on one instance.

    HITs of training and qualification have no places, because every annotator does them.
    """

    class Kind(models.TextChoices):
        MAIN = "main"
        TRAINING = "training"
        QUALIFICATION = "qualification"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="hits")
    instance = models.ForeignKey(Instance, null=True, on_delete=models.PROTECT, related_name="+")
    # Position in the plan's random order, counted from 1.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=15, choices=Kind.choices, default=Kind.MAIN)
    units = models.ManyToManyField(Unit, through="HITUnit", related_name="hits")

    objects = HITQuerySet.as_manager()

    class Meta:
        verbose_name = "task"
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "number"], name="hit_number_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return f"task {self.number}"


class HITUnit(models.Model):
    """A unit in a HIT. If `repeat` is 1, it is the planned repeat of a unit shown earlier.

    The exclusive or of `side_bit` and the place's parity decides which system is shown first.
    """

    hit = models.ForeignKey(HIT, on_delete=models.CASCADE, related_name="hit_units")
    unit = models.ForeignKey(Unit, on_delete=models.PROTECT, related_name="hit_units")
    repeat = models.PositiveSmallIntegerField(default=0)
    side_bit = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "unit", "repeat"], name="unit_once_per_hit")
        ]

    def __str__(self) -> str:
        return f"{self.unit_id} in {self.hit_id}"


class PlaceQuerySet(models.QuerySet["Place"]):
    def recount_remaining(self, *, most: int) -> int:
        """Recompute `remaining` of these places by counting the completed places of their HITs."""
        siblings = Place.objects.filter(hit=OuterRef("hit"), completed_at__isnull=False)
        count = siblings.order_by().values("hit").annotate(n=Count("pk")).values("n")
        return self.update(remaining=Greatest(0, most - Coalesce(Subquery(count), 0)))


class Place(models.Model):
    """One of the R complete human responses that a HIT must receive."""

    # An index below begins with it.
    study = models.ForeignKey(
        Study, on_delete=models.PROTECT, related_name="places", db_index=False
    )
    hit = models.ForeignKey(HIT, on_delete=models.CASCADE, related_name="places")
    number = models.PositiveSmallIntegerField()
    # The most places that a HIT of the study has, minus the HIT's completed ones. HITs with the most
    # completed places come first, and ties are broken at random so that the next free place is at the
    # head of an index.
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
            ),
            # Answers how many places a study has, and when the first, the last and recent ones were completed.
            models.Index(fields=["study", "completed_at"], name="place_completed"),
        ]

    def __str__(self) -> str:
        return f"place {self.number} of {self.hit_id}"

    def is_free(self, now: datetime) -> bool:
        """Whether the place is free by the same rule as in `PlaceQuerySet.free`."""
        lapsed = self.lease_until is None or self.lease_until <= now
        return self.completed_at is None and lapsed

    @property
    def parity(self) -> int:
        return self.number % 2
