"""The states of a study: draft → open ⇄ paused → closed → open again. Each change is logged."""

from collections.abc import Collection
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from annotation.counts import progress_of
from annotation.exports.evidence import planned_texts_digest
from annotation.services.late_answers import set_late_answers_aside
from annotation.services.planning import ensure_plan
from jobs.clock import database_now
from recruitment.admission import check_cost
from recruitment.services.launch_checks import check_can_open
from studies.design.analysis_plan import design_sha256
from studies.models import Study, StudyEvent
from studies.services import record_event, record_version
from tiebreak.errors import DomainError

Status, Verb = Study.Status, StudyEvent.Verb


@transaction.atomic
def open_study(
    *,
    study: Study,
    confirmed_warnings: Collection[str] = (),
    by: User | None = None,
    plan_first: bool = False,
    maximum_cost: Decimal | None = None,
) -> Study:
    """Let annotators in, and record the version that they will see.

    With `plan_first`, a missing or outdated plan is made before. The study must be a draft or
    paused. Raises `LaunchRefused` if a launch check finds an error, or a warning whose code is not
    in `confirmed_warnings`, and `DomainError` if the study can cost another sum at most than
    `maximum_cost`, which may be left out. Locks the study.
    """
    study = _locked(study, {Status.DRAFT, Status.PAUSED}, "opened")
    if plan_first:
        ensure_plan(study=study)
    confirmed = check_can_open(study, confirmed_warnings=confirmed_warnings)
    if maximum_cost is not None:
        check_cost(study, maximum_cost)
    study.status = Status.OPEN
    study.opened_at = study.opened_at or database_now()
    study.save(update_fields=["status", "opened_at"])
    version = record_version(study=study)
    details = {
        "version": version.number,
        "confirmed_warnings": [check.code for check in confirmed],
        **_plan(study),
    }
    record_event(study=study, verb=Verb.OPEN, by=by, details=details)
    return study


@transaction.atomic
def pause_study(*, study: Study, by: User | None = None) -> Study:
    """Hand out no new places; annotators who hold one may finish it."""
    study = _locked(study, {Status.OPEN}, "paused")
    study.status = Status.PAUSED
    study.save(update_fields=["status"])
    record_event(study=study, verb=Verb.PAUSE, by=by, details=_counts(study))
    return study


@transaction.atomic
def close_study(*, study: Study, by: User | None = None) -> Study:
    """End the study. Answers that still arrive are kept and flagged late."""
    study = _locked(study, {Status.OPEN, Status.PAUSED}, "closed")
    study.status = Status.CLOSED
    study.closed_at = database_now()
    study.save(update_fields=["status", "closed_at"])
    record_event(study=study, verb=Verb.CLOSE, by=by, details=_counts(study))
    return study


@transaction.atomic
def reopen_study(*, study: Study, by: User | None = None) -> Study:
    """Let annotators into a closed study again.

    Answers that arrived meanwhile stay flagged as late and take no place until a researcher accepts
    or declines them: see `late_answers`. Raises `LaunchRefused` if annotators could not work.
    """
    study = _locked(study, {Status.CLOSED}, "reopened")
    check_can_open(study)
    late = set_late_answers_aside(study=study)
    study.status, study.closed_at = Status.OPEN, None
    study.opened_at = study.opened_at or database_now()
    study.save(update_fields=["status", "closed_at", "opened_at"])
    record_version(study=study)
    details = _counts(study) | {"late_answers": late}
    record_event(study=study, verb=Verb.REOPEN, by=by, details=details)
    return study


def _plan(study: Study) -> dict[str, object]:
    """Return how much is to be collected; growing it later is a decision after seeing data."""
    places = progress_of(study).places
    responses = places if study.most_answers is None else min(places, study.most_answers)
    return {
        "ratings_per_hit": study.ratings_per_hit,
        "places": places,
        "responses": responses,
        "design_sha256": design_sha256(study),
        "texts_sha256": planned_texts_digest(study),
    }


def _counts(study: Study) -> dict[str, object]:
    now = progress_of(study)
    return {"completed": now.completed, "places": now.places, "in_work": now.live}


def _locked(study: Study, allowed: set[Study.Status], verb: str) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status not in allowed:
        states = " or ".join(sorted(status.value for status in allowed))
        raise DomainError(
            "wrong_state",
            f"This study is {study.status}; only one that is {states} can be {verb}.",
        )
    return study
