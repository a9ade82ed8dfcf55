"""A study's states: draft → open → paused ⇄ open → closed."""

from django.db import transaction
from django.utils import timezone

from studies.errors import DomainError
from studies.models import Study
from studies.services import record_version


def open_study(*, study: Study) -> Study:
    """Let annotators in. Needs a plan; records the version that the first of them will see."""
    with transaction.atomic():
        study = _locked(study, {Study.Status.DRAFT, Study.Status.PAUSED}, "opened")
        if not study.hits.main().exists():
            raise DomainError("not_planned", "Plan the HITs first: there is nothing to rate yet.")
        study.status = Study.Status.OPEN
        study.opened_at = study.opened_at or timezone.now()
        study.save(update_fields=["status", "opened_at"])
        record_version(study=study)
        return study


def pause_study(*, study: Study) -> Study:
    """Give out no new places; whoever holds one may finish it."""
    with transaction.atomic():
        study = _locked(study, {Study.Status.OPEN}, "paused")
        study.status = Study.Status.PAUSED
        study.save(update_fields=["status"])
        return study


def close_study(*, study: Study) -> Study:
    """End the study. Answers that still arrive are kept and flagged late."""
    with transaction.atomic():
        study = _locked(study, {Study.Status.OPEN, Study.Status.PAUSED}, "closed")
        study.status = Study.Status.CLOSED
        study.closed_at = timezone.now()
        study.save(update_fields=["status", "closed_at"])
        return study


def _locked(study: Study, allowed: set[Study.Status], verb: str) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status not in allowed:
        states = " or ".join(sorted(status.value for status in allowed))
        raise DomainError(
            "wrong_state",
            f"This study is {study.status}; only one that is {states} can be {verb}.",
        )
    return study
