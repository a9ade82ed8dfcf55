"""Adding baselines, letting them rate, and removing those that were a mistake."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Rating
from jobs.models import Job
from jobs.services import start_job
from machine_raters.baselines.job import BaselineJob
from machine_raters.baselines.rules import PERPLEXITIES, needs_reference
from machine_raters.baselines.storing import Reason, check_in_use, pairs_of
from machine_raters.messages import (
    BASELINE_HAS_RATINGS,
    BASELINE_IN_DRAFT,
    BASELINE_NEEDS_PREFERENCE,
    BASELINE_NO_PAIRS,
    BASELINE_NO_REFERENCE,
    BASELINE_SERVER_NOT_USED,
    NO_SUCH_BASELINE,
    PERPLEXITY_NO_SERVER,
    REWARD_NO_MODEL,
)
from machine_raters.models import Baseline, Jury
from machine_raters.services.exclusion import (
    check_idle,
    checked_reason,
    exclude_ratings,
    mark,
    reinstate_ratings,
)
from machine_raters.services.raters import create_machine_rater, unused_raters
from studies.freshness import changes_noted
from studies.instance_selection.scoring import what_is_missing
from studies.model_servers import server_settings
from studies.models import Criterion, Study, StudyEvent, Unit
from studies.services import record_event
from tiebreak.errors import DomainError


def baselines_of(study: Study) -> QuerySet[Baseline]:
    """Return the study's baselines, with how many items each has rated and left unrated."""
    of_baseline = Rating.objects.filter(
        rater=OuterRef("rater"), criterion=OuterRef("criterion"), superseded=False
    )
    counted = of_baseline.order_by().values("rater").annotate(n=Count("unit", distinct=True))
    return study.baselines.select_related("study", "criterion", "rater").annotate(
        rated=Coalesce(Subquery(counted.values("n")), 0),
        **{
            reason.value: Count("abstentions", filter=Q(abstentions__reason=reason))
            for reason in Reason
        },
    )


def baseline_named(study: Study, public_id: str) -> Baseline:
    """Return a baseline of the study. Raises `DomainError` if there is none with this id."""
    baseline = baselines_of(study).filter(public_id=public_id).first()
    if baseline is None:
        raise DomainError("no_such_baseline", NO_SUCH_BASELINE, status=404)
    return baseline


def preference_criteria(study: Study) -> QuerySet[Criterion]:
    """Return the criteria that a baseline can rate."""
    return study.criteria.filter(scale__startswith="preference")


def add_baseline(*, study: Study, by: User | None = None, **settings: Any) -> Baseline:
    """Create a baseline with its machine rater, and queue a job in which it rates all items.

    Raises `DomainError` if its name is taken, or if there is nothing that it could rate.
    """
    baseline = Baseline(study=study, **settings)
    _check(baseline)
    with transaction.atomic():
        baseline.full_clean(exclude=["rater"], validate_constraints=False)
        baseline.rater = create_machine_rater(study, baseline.name)
        baseline.save()
        details = {"baseline": baseline.name, "method": baseline.method}
        record_event(study=study, verb=StudyEvent.Verb.ADD_BASELINE, by=by, details=details)
    start_baseline(baseline=baseline, by=by)
    return baseline


def start_baseline(*, baseline: Baseline, by: User | None = None) -> Job:
    """Queue a job in which the baseline rates the items that it has not rated yet."""
    check_in_use(baseline)
    _check(baseline)
    options = {
        "baseline": baseline.public_id,
        "name": baseline.name,
        "method": baseline.method,
    }
    return start_job(
        kind=BaselineJob.name,
        owner=baseline.study_id,
        exclusive_key=f"{BaselineJob.name}:{baseline.public_id}",
        options=options,
        by=by,
    )


@transaction.atomic
def delete_baseline(*, baseline: Baseline, by: User | None = None) -> None:
    """Delete a baseline that has not rated, with its rater. Ratings are never deleted."""
    baseline = _locked(baseline)
    check_idle(baseline.public_id)
    if baseline.rater.ratings.exists():
        raise DomainError("baseline_has_ratings", BASELINE_HAS_RATINGS)
    details = {"baseline": baseline.name}
    record_event(study=baseline.study, verb=StudyEvent.Verb.DELETE_BASELINE, by=by, details=details)
    baseline.delete()
    unused_raters(baseline.study, baseline.name).delete()


@changes_noted()
def exclude_baseline(*, baseline: Baseline, reason: str, by: User | None = None) -> int:
    """Leave all ratings of a baseline out of the results, and let it rate no more.

    Returns the number of ratings. Repeating the call changes nothing, not even the reason.
    """
    reason, baseline = checked_reason(reason), _locked(baseline)
    check_idle(baseline.public_id)
    if baseline.excluded:
        return 0
    mark(baseline, excluded=True, reason=reason)
    n = exclude_ratings(baseline.rater, reason)
    details = {"baseline": baseline.name, "ratings": n, "reason": reason}
    verb = StudyEvent.Verb.EXCLUDE_BASELINE
    record_event(study=baseline.study, verb=verb, by=by, details=details)
    return n


@changes_noted()
def reinstate_baseline(*, baseline: Baseline, by: User | None = None) -> int:
    """Undo `exclude_baseline`, and return how many ratings count again."""
    baseline = _locked(baseline)
    if not baseline.excluded:
        return 0
    n = reinstate_ratings(baseline.rater, baseline.excluded_reason)
    mark(baseline, excluded=False)
    details = {"baseline": baseline.name, "ratings": n}
    verb = StudyEvent.Verb.REINSTATE_BASELINE
    record_event(study=baseline.study, verb=verb, by=by, details=details)
    return n


def juries_with(baseline: Baseline) -> QuerySet[Jury]:
    """Return the juries of which the baseline is a member."""
    return Jury.objects.filter(members=baseline.rater_id)


def _locked(baseline: Baseline) -> Baseline:
    return Baseline.objects.select_for_update().get(pk=baseline.pk)


def _check(baseline: Baseline) -> None:
    study, pairs = baseline.study, pairs_of(baseline.study)
    _check_server(baseline)
    if study.status == Study.Status.DRAFT:
        raise DomainError("study_is_draft", BASELINE_IN_DRAFT)
    if baseline.criterion not in preference_criteria(study):
        sentence = BASELINE_NEEDS_PREFERENCE.format(criterion=baseline.criterion)
        raise DomainError("not_a_preference", sentence, status=400)
    if not pairs.exists():
        raise DomainError("no_items", BASELINE_NO_PAIRS)
    if not needs_reference(baseline.method):
        return
    if not pairs.filter(instance__reference__regex=r"\S").exists():
        raise DomainError("no_reference", BASELINE_NO_REFERENCE)
    if sentence := what_is_missing(baseline.method):
        raise DomainError("encoder_missing", sentence)
    if baseline.method in PERPLEXITIES and (name := _without_server(pairs)):
        raise DomainError("no_server", PERPLEXITY_NO_SERVER.format(system=name))


def _check_server(baseline: Baseline) -> None:
    if baseline.method == Baseline.Method.REWARD:
        server_settings(baseline.server, baseline.language_model, advice=REWARD_NO_MODEL)
    elif baseline.server or baseline.language_model:
        raise DomainError("server_not_used", BASELINE_SERVER_NOT_USED, status=400)


def _without_server(pairs: QuerySet[Unit]) -> str | None:
    """Return the name of a system that names no model server, and whose texts name none either."""
    for side in ("a", "b"):
        here = pairs.filter(**{f"text_{side}__system__server": ""})
        silent = here.exclude(**{f"text_{side}__generation__params__has_key": "server"})
        if name := silent.values_list(f"text_{side}__system__name", flat=True).first():
            return str(name)
    return None
