"""What is known about each annotator of a study, computed when the page is opened."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Avg, Count, F, FloatField, Q, QuerySet
from django.db.models.functions import Cast, Greatest, Ln

from annotation.models import Rater, Rating
from annotation.services.screening import CheckRecord, check_records
from studies.models import Study
from tiebreak.report.model import CriterionSection
from tiebreak.scales import Scale
from tiebreak.stats import Estimate, undefined

MIN_ANNOTATORS = 2
NOT_IN_REPORT = "The statistics are older than this annotator's first rating."


@dataclass(frozen=True)
class RaterRow:
    """One annotator's ratings of one criterion.

    `seconds` is the geometric mean time per answer, which a long pause hardly changes.
    `first_preferred` is the share of preferences for the text shown first, without ties.
    """

    name: str
    ratings: int
    agreement: Estimate
    seconds: float | None
    first_preferred: float | None
    checks: CheckRecord

    @property
    def cells(self) -> tuple[str | int | float | None, ...]:
        """The row in the order of the figure's columns."""
        agreement = self.agreement.value if self.agreement.is_defined else None
        checks = (self.checks.right, self.checks.of) if self.checks.of else (None, None)
        return (
            self.name,
            self.ratings,
            agreement,
            self.agreement.n,
            self.seconds,
            self.first_preferred,
            *checks,
        )


@dataclass(frozen=True)
class TaskSpeed:
    """The typical time per answer in the n-th task of annotators."""

    task: int
    seconds: float
    annotators: int


def rater_rows(study: Study, criterion: str, section: CriterionSection) -> list[RaterRow]:
    """Return the annotators with ratings in the statistics, lowest agreement first."""
    checks = check_records(study.pk)
    rows = (
        _of_people(study, criterion)
        .values("rater", "rater__pseudonym")
        .annotate(n=Count("pk"), log_ms=_LOG_MS, **_sides(section))
    )
    stored = cast(Iterable[dict[str, Any]], rows.order_by("rater"))
    listed = [
        RaterRow(
            name=row["rater__pseudonym"],
            ratings=row["n"],
            agreement=_agreement(section, row["rater__pseudonym"]),
            seconds=None if row["log_ms"] is None else math.exp(row["log_ms"]) / 1000,
            first_preferred=_share(row.get("first", 0), row.get("second", 0)),
            checks=checks.get(row["rater"], CheckRecord(0, 0)),
        )
        for row in stored
    ]
    return sorted(listed, key=lambda row: (not row.agreement.is_defined, row.agreement.value))


def task_speeds(study: Study, criterion: str) -> list[TaskSpeed]:
    """Return the typical time per answer by the annotators' first, second and later tasks."""
    rows = (
        _of_people(study, criterion)
        .filter(duration_ms__isnull=False)
        .values("assignment__position")
        .annotate(log_ms=_LOG_MS, annotators=Count("rater", distinct=True))
        .filter(annotators__gte=MIN_ANNOTATORS)
        .order_by("assignment__position")
    )
    return [
        TaskSpeed(number, math.exp(row["log_ms"]) / 1000, row["annotators"])
        for number, row in enumerate(rows, start=1)
    ]


_LOG_MS = Avg(Ln(Greatest(Cast(F("duration_ms"), FloatField()), 1.0)))


def _of_people(study: Study, criterion: str) -> QuerySet[Rating]:
    return (
        Rating.objects.in_statistics()
        .filter(unit__study=study, criterion__name=criterion, rater__kind=Rater.Kind.HUMAN)
        .order_by()
    )


def _sides(section: CriterionSection) -> dict[str, Count]:
    """Return counts of preferences for the text shown first and for the one shown second."""
    if not section.scale.startswith("preference"):
        return {}
    scale = Scale.parse(section.scale)
    a = Q(label__in=[str(label) for label in section.labels if scale.side_of(label) < 0])
    b = Q(label__in=[str(label) for label in section.labels if scale.side_of(label) > 0])
    is_a_first, is_b_first = Q(side_a__in=["left", "first"]), Q(side_a__in=["right", "second"])
    return {
        "first": Count("pk", filter=(a & is_a_first) | (b & is_b_first)),
        "second": Count("pk", filter=(a & is_b_first) | (b & is_a_first)),
    }


def _share(first: int, second: int) -> float | None:
    return first / (first + second) if first + second else None


def _agreement(section: CriterionSection, name: str) -> Estimate:
    known = section.raters.get(name)
    return (known and known.leave_one_out) or undefined(NOT_IN_REPORT)
