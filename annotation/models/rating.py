from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Q

from annotation.models.hit import HITUnit, Place
from annotation.models.rater import Assignment, Rater
from studies.models import Criterion, StudyVersion, Unit
from studies.models.bounds import MAX_COUNT, MAX_REASON, between
from studies.models.choices import OpenChoiceField
from studies.models.event import AppendOnly
from tiebreak.nonresponse import NONRESPONSES

EXCLUDING_FLAGS = ("surplus", "superseded", "partial", "late", "excluded")
COUNTED = Q(**dict.fromkeys(EXCLUDING_FLAGS, False))
# First answers to main units, without planned repeats and reference units.
MAIN_FIRST = Q(unit__role=Unit.Role.MAIN, repeat=0)
# Answers that are no label fill places as labels do.
IN_STATISTICS = COUNTED & MAIN_FIRST & Q(nonresponse="", unit__set_aside=False)


def is_unparsed(path: str = "") -> Q:
    """Return the condition for the answers of machines that could not be parsed, of ratings at this path."""
    return Q(**{f"{path}label__isnull": True, f"{path}nonresponse": ""})


class RatingQuerySet(models.QuerySet["Rating"]):
    """Append-only: rows are inserted and flags are set; nothing else changes or is deleted."""

    def update(self, **changes: Any) -> int:
        return super().update(**_only_flags(changes))

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AppendOnly("Ratings are append-only and cannot be deleted. Set a flag instead.")

    def counted(self) -> "RatingQuerySet":
        """Return the ratings without an excluding flag, which fill places and enter tallies."""
        return self.filter(COUNTED)

    def in_statistics(self) -> "RatingQuerySet":
        """Return the ratings used in the statistics: counted first answers to main units."""
        return self.filter(IN_STATISTICS)


class Rating(models.Model):
    """One rater's answer to one criterion on one unit. Append-only.

    `label` is the canonical text of the scale's label. A preference is stored in system order
    (−1 for system A, 0 for a tie, 1 for system B), whatever the sides on screen. If a machine's
    answer could not be parsed, `label` is null and `raw` holds the answer's text. If the rater
    could not judge or reported the unit, `label` is null and `nonresponse` says which.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="ratings")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="ratings")
    unit = models.ForeignKey(Unit, on_delete=models.PROTECT, related_name="ratings")
    criterion = models.ForeignKey(Criterion, on_delete=models.PROTECT, related_name="ratings")
    repeat = models.PositiveSmallIntegerField(default=0, validators=between(0, 100))
    place = models.ForeignKey(Place, null=True, on_delete=models.PROTECT, related_name="ratings")
    study_version = models.ForeignKey(
        StudyVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    label = models.CharField(max_length=200, null=True)  # noqa: DJ001  null means no label
    nonresponse = OpenChoiceField(
        max_length=10, choices=[*NONRESPONSES.items()], blank=True, default="", db_default=""
    )
    # The rater's words on why they answered so.
    reason = models.TextField(blank=True, default="", db_default="", max_length=MAX_REASON)
    raw = models.TextField(blank=True)
    # A machine's probability of each label, by the label's canonical text.
    probabilities = models.JSONField(null=True)
    side_a = models.CharField(max_length=10, blank=True)
    layout = models.CharField(max_length=30, blank=True)
    position = models.PositiveIntegerField(null=True, validators=between(0, MAX_COUNT))
    duration_ms = models.PositiveIntegerField(null=True, validators=between(0, 2**31 - 1))
    client_key = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    supersedes = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="superseded_by"
    )

    surplus = models.BooleanField(default=False)
    superseded = models.BooleanField(default=False)
    partial = models.BooleanField(default=False)
    late = models.BooleanField(default=False)
    excluded = models.BooleanField(default=False)
    excluded_reason = models.CharField(max_length=200, blank=True)
    simulated = models.BooleanField(default=False)

    objects = RatingQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        indexes = [
            # The ledger lists who sent such answers, of which there are few.
            models.Index(
                fields=["assignment"],
                condition=Q(surplus=True) | Q(late=True),
                name="surplus_or_late",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "unit", "criterion", "repeat"],
                condition=Q(superseded=False),
                name="one_current_rating",
            ),
            models.CheckConstraint(
                condition=Q(label__isnull=False) | ~Q(raw="") | ~Q(nonresponse=""),
                name="label_raw_answer_or_nonresponse",
            ),
            models.CheckConstraint(
                condition=Q(label__isnull=True) | Q(nonresponse=""), name="nonresponse_is_no_label"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.unit_id}: {self.label}"

    def save(self, **options: Any) -> None:
        if not self._state.adding:
            _only_flags(dict.fromkeys(options.get("update_fields") or ("label",)))
        super().save(**options)

    def delete(self, *_: Any, **__: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnly("Ratings are append-only and cannot be deleted. Set a flag instead.")

    @property
    def is_counted(self) -> bool:
        return not any(getattr(self, flag) for flag in EXCLUDING_FLAGS)

    @property
    def is_tallied(self) -> bool:
        return self.is_counted and self.repeat == 0 and not self.nonresponse

    def is_answer_to(self, hit_unit: HITUnit, criterion: Criterion) -> bool:
        asked = (hit_unit.unit_id, hit_unit.repeat, criterion.pk)
        return (self.unit_id, self.repeat, self.criterion_id) == asked


def _only_flags(changes: dict[str, Any]) -> dict[str, Any]:
    changed: Iterable[str] = set(changes) - {*EXCLUDING_FLAGS, "excluded_reason", "place"}
    if changed:
        raise AppendOnly(
            f"Ratings are append-only, so these fields cannot change: {', '.join(changed)}."
        )
    return changes


class Tally(models.Model):
    """How often a unit received a label from all humans together, or from one machine rater.

    Tallies are updated in the transaction that writes the rating, so they never lag behind.
    Machine ratings that could not be parsed are counted under the label "".
    """

    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="tallies")
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="tallies")
    rater = models.ForeignKey(Rater, null=True, on_delete=models.CASCADE, related_name="tallies")
    label = models.CharField(max_length=200, blank=True)
    n = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "tallies"
        constraints = [
            # Two partial indexes, because unique constraints treat nulls as distinct.
            models.UniqueConstraint(
                fields=["unit", "criterion", "label"],
                condition=Q(rater__isnull=True),
                name="tally_of_humans_once",
            ),
            models.UniqueConstraint(
                fields=["unit", "criterion", "rater", "label"],
                condition=Q(rater__isnull=False),
                name="tally_of_machine_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit_id} {self.label}: {self.n}"
