"""Stores what a baseline prefers as ratings of its machine rater."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Rating
from machine_raters.baselines.scored import Scored
from machine_raters.judging.passes import Pass, items_of
from machine_raters.models import Abstention, Baseline
from machine_raters.services.raters import lock_in_use, store_ratings
from studies.models import Study, Unit
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


@transaction.atomic
def store_preferences(baseline: Baseline, results: Sequence[Scored]) -> None:
    """Store ratings, and the reasons for which units have none.

    The baseline is locked so that two workers cannot store the same unit twice, and none stores
    for a baseline that was excluded in the meantime.
    """
    lock_in_use(baseline)
    units = {result.unit.pk for result in results}
    missing = set(missing_units(baseline).filter(pk__in=units).values_list("pk", flat=True))
    reasons: dict[Unit, Reason] = {}
    answers: dict[Pass, dict[str, str]] = {}
    for result in results:
        if result.unit.pk not in missing:
            continue
        if reason := _reason(result, baseline.criterion.parsed_scale):
            reasons[result.unit] = reason
            continue
        assert result.scores is not None
        a, b = result.scores
        # A rule knows which text it prefers, not how strongly: ±1 is the weakest preference.
        fields = {"label": str(result.side), "raw": f"A {a:.6g}, B {b:.6g}"}
        answers[Pass(result.unit.pk, result.order, "1")] = fields
    store_ratings(baseline, {baseline.criterion: answers})
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
