"""Stores what a baseline prefers as ratings of its machine rater."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Rating
from annotation.services.tallies import apply_tally_deltas, tally_key
from jobs.clock import database_now
from machine_raters.baselines.scored import Scored
from machine_raters.judging.passes import Pass, items_of
from machine_raters.judging.prompts import A_FIRST
from machine_raters.messages import BASELINE_EXCLUDED
from machine_raters.models import Abstention, Baseline
from machine_raters.services.raters import machine_assignments
from studies.models import Study, Unit
from tiebreak.errors import DomainError
from tiebreak.scales import Scale

Reason = Abstention.Reason


def pairs_of(study: Study) -> QuerySet[Unit]:
    """Return the study's planned items that compare two texts."""
    return items_of(study).filter(text_b__generation__isnull=False)


def missing_units(baseline: Baseline) -> QuerySet[Unit]:
    """Return the items that the baseline has neither rated nor left unrated for a reason."""
    rated = Rating.objects.filter(
        rater=baseline.rater, criterion=baseline.criterion, superseded=False
    )
    unrated = baseline.abstentions.values("unit")
    return pairs_of(baseline.study).exclude(pk__in=rated.values("unit")).exclude(pk__in=unrated)


def check_in_use(baseline: Baseline) -> None:
    """Raise `DomainError` if the baseline is excluded, so that it rates nothing more."""
    if baseline.excluded:
        raise DomainError("baseline_excluded", BASELINE_EXCLUDED)


@transaction.atomic
def store_preferences(baseline: Baseline, results: Sequence[Scored]) -> None:
    """Store ratings, and the reasons for which units have none.

    The baseline is locked, so that two workers cannot store the same unit twice, and none stores
    for a baseline that was excluded in the meantime.
    """
    check_in_use(Baseline.objects.select_for_update().get(pk=baseline.pk))
    units = {result.unit.pk for result in results}
    missing = set(missing_units(baseline).filter(pk__in=units).values_list("pk", flat=True))
    reasons: dict[Unit, Reason] = {}
    preferred: dict[Pass, Scored] = {}
    for result in results:
        if result.unit.pk not in missing:
            continue
        if reason := _reason(result, baseline.criterion.parsed_scale):
            reasons[result.unit] = reason
        else:
            preferred[Pass(result.unit.pk, result.order, "1")] = result
    assignments = machine_assignments(baseline.study, baseline.rater, preferred)
    now = database_now()
    ratings = [_rating(baseline, preferred[one], assignments[one], now) for one in preferred]
    Rating.objects.bulk_create(ratings)
    apply_tally_deltas(Counter(map(tally_key, ratings)))
    Abstention.objects.bulk_create(
        Abstention(baseline=baseline, unit=unit, reason=reason) for unit, reason in reasons.items()
    )


def _reason(result: Scored, scale: Scale) -> Reason | None:
    """Return why a unit gets no rating, or None if it gets one."""
    if result.side is None:
        return Reason.NO_REFERENCE
    if result.side == 0 and 0 not in (scale.order_labels or ()):
        return Reason.EQUAL_SCORES
    return None


def _rating(baseline: Baseline, result: Scored, assignment: Assignment, now: datetime) -> Rating:
    assert result.scores is not None
    a, b = result.scores
    return Rating(
        assignment=assignment,
        rater=baseline.rater,
        unit=result.unit,
        criterion=baseline.criterion,
        study_version_id=assignment.study_version_id,
        # A rule knows which text it prefers, not how strongly: ±1 is the weakest preference.
        label=str(result.side),
        raw=f"A {a:.6g}, B {b:.6g}",
        side_a={"": "", A_FIRST: "left"}.get(result.order, "right"),
        client_key=f"baseline-{baseline.public_id}",
        created_at=now,
    )
