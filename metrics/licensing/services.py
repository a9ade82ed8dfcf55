"""Granting, revoking and checking licences."""

from datetime import date
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.models import Rater
from jobs.clock import database_now
from metrics.licensing.drift import drifts_of, opened_follow_ups
from metrics.licensing.evidence import (
    EPSILON,
    Evidence,
    as_stored,
    current_evidence,
)
from metrics.licensing.messages import (
    DATE_IS_PAST,
    DROPPED,
    ENDED_ALREADY,
    IN_FORCE_ALREADY,
    NO_RATINGS_LEFT,
    NO_SUCH_EVIDENCE,
    NO_SUCH_LICENCE,
    NOT_PASSED,
    NOT_TESTABLE,
    ONLY_SIMULATED,
    UNREACHED,
)
from metrics.models import Licence, items_of, valid_licence
from metrics.results.services import watermark
from studies.models import Criterion, Study, StudyEvent
from studies.services import record_event
from tiebreak.digits import counted, percent
from tiebreak.errors import DomainError
from tiebreak.stats import AgreementDrift


def licences_of(study: Study) -> QuerySet[Licence]:
    licences = study.licences.annotate(read_at=Now()).select_related(
        "criterion", "rater", "granted_by", "ended_by"
    )
    return licences.select_related("study").prefetch_related("follow_ups__study")


def in_force(study: Study) -> QuerySet[Licence]:
    """Return the licences that have not ended and are still valid."""
    return licences_of(study).filter(valid_licence())


def studies_with_licences() -> QuerySet[Study]:
    """Return the studies that have a licence in force."""
    return Study.objects.filter(pk__in=Licence.objects.filter(valid_licence()).values("study"))


def licence_named(study: Study, public_id: str) -> Licence:
    """Return a licence of the study. Raises `DomainError` if there is none with this id."""
    licence = licences_of(study).filter(public_id=public_id).first()
    if licence is None:
        raise DomainError("no_such_licence", NO_SUCH_LICENCE, status=404)
    return licence


def grant_licence(
    *,
    study: Study,
    criterion: Criterion,
    machine: str,
    category: str,
    annotators: str,
    valid_until: date,
    by: User | None = None,
) -> Licence:
    """Record that a machine rater may stand in for an annotator, with the evidence for it.

    Raises `DomainError` unless the alternative annotator test of the current ratings passes for
    these items with an ε with which coins do not, agreement is above guessing, the planned number of
    responses is reached, and, except in a dry run, people gave some of the labels.
    """
    if valid_until < database_now().date():
        raise DomainError("date_is_past", DATE_IS_PAST, status=400)
    stored = current_evidence(study, criterion)
    evidence = stored.one(machine, category, EPSILON[annotators])
    machines = Rater.objects.filter(kind=Rater.Kind.MACHINE, pseudonym=machine)
    rater = machines.filter(ratings__unit__study=study).first()
    about = {"machine": machine, "items": items_of(category), "criterion": criterion.name}
    if evidence is None or rater is None:
        raise DomainError("no_such_evidence", NO_SUCH_EVIDENCE.format(**about), status=404)
    if not stored.is_reached:
        raise DomainError("number_unreached", UNREACHED)
    _check_passed(evidence, about)
    # In a dry run, bots stand in for annotators throughout.
    if evidence.is_only_simulated and study.dry_run_of_id is None:
        raise DomainError("only_simulated", ONLY_SIMULATED.format(**about))
    licence = Licence(
        study=study,
        criterion=criterion,
        rater=rater,
        category=category,
        annotators=annotators,
        valid_until=valid_until,
        evidence=as_stored(evidence, stored),
        granted_at=database_now(),
        granted_by=by,
    )
    _store(licence, about)
    return licence


def _check_passed(evidence: Evidence, about: dict[str, str]) -> None:
    if evidence.refusal == "not_testable":
        reason = evidence.untested or evidence.outcome
        raise DomainError("not_testable", NOT_TESTABLE.format(**about, reason=reason))
    if evidence.refusal:
        sentence = NOT_PASSED.format(**about, why_not=evidence.why_not, scope=evidence.scope)
        raise DomainError(evidence.refusal, sentence)


@transaction.atomic
def _store(licence: Licence, about: dict[str, str]) -> None:
    """Store a licence unless one for the same is in force; the database accepts no second one."""
    same = {"criterion": licence.criterion, "rater": licence.rater, "category": licence.category}
    expired = Licence.objects.filter(
        **same, ended_at=None, valid_until__lt=licence.granted_at.date()
    )
    expired.update(ended_at=licence.granted_at, ending=Licence.Ending.EXPIRED)
    try:
        with transaction.atomic():
            licence.save()
    except IntegrityError as error:
        raise DomainError("licence_exists", IN_FORCE_ALREADY.format(**about)) from error
    _record(
        licence,
        StudyEvent.Verb.GRANT_LICENCE,
        by=licence.granted_by,
        until=licence.valid_until.isoformat(),
        evidence=licence.evidence["sentence"],
    )


def revoke_licence(*, licence: Licence, reason: str = "", by: User | None = None) -> Licence:
    """End a licence by hand. Raises `DomainError` if it has ended already."""
    if not _end(licence, Licence.Ending.REVOKED, StudyEvent.Verb.REVOKE_LICENCE, reason, by=by):
        raise DomainError("licence_ended", ENDED_ALREADY)
    return licence


def check_licences(*, study: Study) -> list[Licence]:
    """Compare new labels with the machine raters', and return the licences that this ended.

    A licence also ends if all ratings of its machine rater are excluded.

    Nothing is done for licences that were checked with the same ratings before.
    """
    # Which ratings each licence is checked with.
    states = {
        one: " ".join(map(watermark, [one.study, *opened_follow_ups(one)]))
        for one in in_force(study)
    }
    licences = [one for one, state in states.items() if one.checked.get("watermark") != state]
    drifts = dict(drifts_of(study, licences))
    return [one for one in licences if _is_ended_by(one, drifts.get(one), states[one])]


def _is_ended_by(licence: Licence, drift: AgreementDrift | None, state: str) -> bool:
    """Keep what was compared, and end the licence if agreement has dropped or nothing is left."""
    if drift is None:
        verb = StudyEvent.Verb.REVOKE_LICENCE
        return _end(licence, Licence.Ending.REVOKED, verb, NO_RATINGS_LEFT)
    licence.checked = {
        "labels": drift.labels,
        "agreement": drift.agreement if drift.labels else None,
        "at": database_now().isoformat(),
        "watermark": state,
    }
    Licence.objects.filter(pk=licence.pk).update(checked=licence.checked)
    if drift.dropped_after is None:
        return False
    sentence = DROPPED.format(
        before=f"{percent(licence.evidence['unweighted_agreement'])}",
        after=f"{percent(drift.agreement)}",
        labels=counted(drift.labels, "label"),
        shown=counted(drift.dropped_after, "label"),
    )
    return _end(licence, Licence.Ending.DRIFT, StudyEvent.Verb.LICENCE_DRIFT, sentence)


@transaction.atomic
def _end(
    licence: Licence,
    ending: Licence.Ending,
    verb: StudyEvent.Verb,
    reason: str,
    *,
    by: User | None = None,
) -> bool:
    """End a licence, and return whether it had not ended before."""
    licence.ended_at, licence.ended_by = database_now(), by
    licence.ending, licence.reason = ending, reason
    fields = ("ended_at", "ended_by", "ending", "reason")
    ended = Licence.objects.filter(pk=licence.pk, ended_at__isnull=True).update(
        **{name: getattr(licence, name) for name in fields}
    )
    if ended:
        _record(licence, verb, by=by, reason=reason)
    return bool(ended)


def _record(licence: Licence, verb: StudyEvent.Verb, *, by: User | None, **details: Any) -> None:
    about = {
        "machine rater": licence.rater.pseudonym,
        "criterion": licence.criterion.name,
        "items": licence.items,
    }
    record_event(study=licence.study, verb=verb, by=by, details=about | details)
