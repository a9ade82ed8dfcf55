"""Erases a person: the one exception to the rule that nothing is deleted or changed.

What identifies the person, and what they wrote, is removed wherever it is stored. By the rule of each
study, the ratings stay without anything that says whose they are, or are deleted. What was paid stays.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.dispatch import Signal

from annotation.exports.export_jobs import remove_exports
from annotation.imports.kept_uploads import remove_uploads
from annotation.models import Participation, Place, Rater, Rating
from annotation.services.exclusion import exclude_work, release, stop_work
from annotation.services.tallies import set_flags
from jobs.clock import database_now
from jobs.models import UNFINISHED, Job
from recruitment.admission import PAID
from recruitment.identities import erased_name
from recruitment.messages import ERASED_ALREADY, JOB_WITH_PERSON, NOT_A_PERSON, STILL_OWED
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform
from recruitment.services.personal_data import (
    Model,
    Rows,
    batches_of,
    events_about,
    names_in,
    rows_about,
    rows_leading_to,
    rows_of,
    studies_of_person,
)
from recruitment.terms import earned
from studies.freshness import changes_noted, note_change
from studies.models import Generation, Instance, Study, StudyEvent
from studies.models.lasting_key import lasting_keys
from studies.services import record_event
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

ERASED = "(erased)"
REMOVED = "(removed on {:%Y-%m-%d}, as this server keeps it for {} days)"
GONE = r"^\((erased|removed on [0-9-]{10}, as this server keeps it for [0-9]+ days)\)$"
# Sent when a person was erased from ``studies``: what was made from their ratings is made anew.
person_erased = Signal()
# Texts in rows about a person that say what was done and not who did it. All others are erased.
KEPT = {
    *("provider", "pseudonym", "public_id", "earlier_status", "order_seed", "run", "order"),
    *("label", "side_a", "layout", "client_key", "excluded_reason"),
    *("platform_status", "currency", "request_key"),
}
# Digests of addresses and browsers.
DIGESTS = {"address", "browser"}
# What another name takes the place of, by which the platform's reports about the person are known.
RENAMED = {(Rater, "external_id"), (Participation, "submission_id")}
# An identifier that is shorter may be a part of any text; it is replaced in the person's own rows.
SHORTEST = 6
# So many are looked for in one statement, whose expression PostgreSQL has to keep.
AT_ONCE = 1_000
# Texts that people rate are about others, and changing one would make its ratings false.
RATED = {Instance, Generation}


def check_erasable(rater: Rater) -> None:
    """Raise `DomainError` if it is no person, was erased, or if something still needs the identity."""
    if rater.kind != Rater.Kind.HUMAN:
        raise DomainError("not_a_person", NOT_A_PERSON, status=400)
    if rater.is_erased:
        raise DomainError("erased_already", ERASED_ALREADY)
    check_not_needed(rater)


def check_not_needed(rater: Rater) -> None:
    """Raise `DomainError` if a payment or a job still needs the ids of a person."""
    if any(_is_owed(participation) for participation in _entered(rater)):
        raise DomainError("still_owed", STILL_OWED)
    owners = studies_of_person(rater).values("pk")
    if Job.objects.filter(owner__in=owners, status__in=UNFINISHED).exists():
        raise DomainError("job_unfinished", JOB_WITH_PERSON)


def _is_owed(participation: Participation) -> bool:
    """Whether a payment was requested, or is due and neither made nor settled."""
    payments = participation.payments.all()
    if payments.filter(status=Payment.Status.ASKED).exists():
        return True
    is_paid = payments.filter(status__in=PAID).exclude(kind=Payment.Kind.BONUS).exists()
    is_over = is_paid or participation.submission.settled_at is not None
    is_rejected = participation.status == Participation.Status.REJECTED
    return not is_over and not is_rejected and earned(participation) > 0


@changes_noted()
def erase_participant(
    *, rater: Rater, by: User | None = None, now: datetime | None = None
) -> list[Study]:
    """Erase a person from all studies of this server, and return these studies.

    The log of each study says that somebody was erased, but not who it was. Exports and uploads that
    wait on the server are deleted, and reports are made anew.
    """
    now = now or database_now()
    rater = Rater.objects.select_for_update().get(pk=rater.pk)
    check_erasable(rater)
    studies = list(studies_of_person(rater))
    # The pseudonym is the name itself where ratings were imported from a file.
    pseudonym = new_public_id() if rater.pseudonym == rater.external_id else rater.pseudonym
    for event in events_about(rater):
        erase_words(event, {rater.pseudonym: pseudonym})
    for study in studies:
        _end_work(study, rater, now)
    remove_ids([rater], now)
    erase_in(rows_about(rater))
    rater.pseudonym, rater.erased_at, rater.kept_days = pseudonym, now, None
    rater.save(update_fields=["pseudonym", "erased_at", "kept_days"])
    for study in studies:
        details = {"ratings": study.erasure}
        record_event(study=study, verb=StudyEvent.Verb.ERASE, by=by, details=details)
        note_change(study.pk)
    # The exports of their studies, and what these studies' members uploaded and have not imported.
    owners = [study.pk for study in studies]
    members = list(User.objects.filter(memberships__study__in=owners).values_list("pk", flat=True))
    # Until then, others read what is erased, and may write it into a file.
    transaction.on_commit(partial(remove_exports, owners))
    transaction.on_commit(partial(remove_uploads, members))
    person_erased.send(Rater, studies=studies)
    return studies


def remove_ids(raters: Sequence[Rater], now: datetime, kept_days: int | None = None) -> None:
    """Remove what identifies these people wherever it stands, if it is still there."""
    raters = [rater for rater in raters if rater.erased_at is None]
    identifiers = set().union(*map(_identifiers, raters))
    for rater in raters:
        for channel in Channel.objects.filter(submissions__participation__rater=rater).distinct():
            get_platform(channel.provider).forget(channel, rater.external_id)
    rows = rows_leading_to(Rater, [rater.pk for rater in raters])
    erase_in(rows, {"ids", "addresses"}, removed(now, kept_days))
    for rater in raters:
        _rename(rater, now, kept_days)
    _erase_elsewhere({one for one in identifiers if len(one) >= SHORTEST})


def removed(now: datetime, kept_days: int | None) -> str:
    """Return what stands in place of a text that is not there any more."""
    return ERASED if kept_days is None else REMOVED.format(now, kept_days)


def _entered(rater: Rater) -> QuerySet[Participation]:
    related = ("study", "consented_version", "submission__channel")
    return rater.participations.filter(submission__isnull=False).select_related(*related)


def _end_work(study: Study, rater: Rater, now: datetime) -> None:
    """End the person's work in a study, and delete the ratings if that is the study's rule."""
    for participation in rater.participations.filter(study=study):
        stop_work(participation=participation, status=Participation.Status.LEFT, now=now)
        if study.erasure == Study.Erasure.DELETE:
            status = Participation.Status.ERASED
            exclude_work(participation=participation, status=status, now=now)
    if study.erasure == Study.Erasure.DELETE:
        # Imported ratings have no participation whose exclusion would free their places.
        held = Place.objects.filter(study=study, assignment__rater=rater)
        for place in held.select_for_update(of=("self",)).order_by("hit", "number"):
            release(place)
        ratings = Rating.objects.filter(rater=rater, unit__study=study)
        set_flags(ratings=ratings, excluded=True, excluded_reason=Participation.Status.ERASED)
        keys = list(ratings.values_list("pk", flat=True))
        rows_of(Rating, keys).update(supersedes=None)
        for some in batches_of(keys):
            rows_of(Rating, some).delete()


def _identifiers(rater: Rater) -> set[str]:
    """Return what identifies the person wherever it stands."""
    submissions = rater.participations.values_list("submission_id", flat=True)
    codes = (one.submission.completion_code for one in _entered(rater))
    return {rater.external_id, *submissions, *codes} - {""}


def erase_words(event: StudyEvent, names: Mapping[str, str], words: str = ERASED) -> None:
    """Erase what researchers wrote about people in an entry, such as the message of a rejection."""
    details = {name: _without(words, name, value) for name, value in event.details.items()}
    named = [names.get(name, name) for name in names_in(event)]
    details["annotator"] = named[0] if isinstance(event.details["annotator"], str) else named
    rows_of(StudyEvent, [event.pk]).update(details=details)


def _without(words: str, name: str, value: Any) -> Any:
    is_kept = name == "annotator" or not isinstance(value, str)
    return value if is_kept or re.fullmatch(rf"[\d.]*|{GONE}", value) else words


def kind_of(model: Model, field: "models.Field[Any, Any]") -> str | None:
    """Return by which kind of `TIEBREAK_KEEP` a text about a person goes; None if it stays."""
    if field.name in KEPT or field.choices:
        return None
    if field.name in DIGESTS:
        return "addresses"
    return "comments" if model._meta.app_label == "annotation" else "ids"


KINDS = frozenset({"ids", "addresses", "comments"})


def erase_in(rows: Rows, kinds: Collection[str] = KINDS, words: str = ERASED) -> int:
    """Erase the texts of some kinds in rows about people. Returns how many there were."""
    n = 0
    for model, keys in rows.items():
        for field in _text_fields(model):
            if (model, field.name) not in RENAMED and kind_of(model, field) in kinds:
                n += sum(_erase(rows_of(model, some), field, words) for some in batches_of(keys))
    return n


def _erase(rows: QuerySet[Any], field: "models.Field[Any, Any]", words: str) -> int:
    written = rows.exclude(**{f"{field.name}__isnull": True})
    if isinstance(field, models.JSONField):
        empty = field.get_default()
        return written.exclude(**{field.name: empty}).update(**{field.name: empty})
    fits = field.max_length is None or len(words) <= field.max_length
    written = written.exclude(**{field.name: ""}).exclude(**{f"{field.name}__regex": GONE})
    return written.update(**{field.name: words if fits else ERASED})


def _text_fields(model: Model) -> Iterator["models.Field[Any, Any]"]:
    kinds = (models.CharField, models.TextField, models.JSONField)
    for field in model._meta.concrete_fields:
        if isinstance(field, kinds) and not field.primary_key:
            yield field


def _rename(rater: Rater, now: datetime, kept_days: int | None) -> None:
    """Give the person names that nobody knows, and the browser that took part none."""
    key = lasting_keys()[0]
    for participation in rater.participations.all():
        participation.submission_id = erased_name(participation.submission_id, key)
        participation.public_id = new_public_id()
        participation.save(update_fields=["submission_id", "public_id"])
    # Whoever takes part again, in another study, can be erased again.
    rater.external_id = f"{erased_name(rater.external_id, key)}-{rater.pk}"
    rater.erased_at, rater.kept_days = now, kept_days
    rater.save(update_fields=["external_id", "erased_at", "kept_days"])


def _erase_elsewhere(identifiers: Collection[str]) -> None:
    """Replace the identifiers in every text that is not rated, such as a log or a job's problem."""
    longest_first = sorted(identifiers, key=len, reverse=True)
    for start in range(0, len(longest_first), AT_ONCE):
        _replace_everywhere(longest_first[start : start + AT_ONCE])


def _replace_everywhere(longest_first: Sequence[str]) -> None:
    any_of_them = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    key = lasting_keys()[0]

    def erased(text: str) -> str:
        return any_of_them.sub(lambda found: erased_name(found.group(), key), text)

    for model in set(apps.get_models()) - RATED:
        for field in _text_fields(model):
            for row, value in _with_any_of(model, field, longest_first):
                replaced = _replaced(value, erased, field.max_length)
                rows_of(model, [row]).update(**{field.name: replaced})


def _with_any_of(
    model: Model, field: "models.Field[Any, Any]", identifiers: Collection[str]
) -> list[tuple[Any, Any]]:
    """Return keys and values of the rows in which one of the identifiers stands."""
    # Databases store JSON as it was escaped, or not escaped.
    spelt = {*identifiers, *(json.dumps(one)[1:-1] for one in identifiers)}
    rows = model._base_manager.annotate(as_text=Cast(field.name, TextField()))
    found = rows.filter(as_text__regex="|".join(map(re.escape, spelt)))
    return list(found.values_list("pk", field.name))


def _replaced(value: Any, erased: Callable[[str], str], longest: int | None = None) -> Any:
    if isinstance(value, str):
        return erased(value)[:longest]
    if isinstance(value, list):
        return [_replaced(one, erased) for one in value]
    if isinstance(value, dict):
        return {_replaced(name, erased): _replaced(one, erased) for name, one in value.items()}
    return value
