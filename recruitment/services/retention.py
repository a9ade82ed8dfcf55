"""Removes what a server keeps about people for a time only, as its owner says in `TIEBREAK_KEEP`.

The time begins when a study is closed; for ids, when the last study is closed in which the person took
part. What results are made of stays.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotation.exports.export_jobs import remove_exports
from annotation.models import Participation, Rater
from jobs.clock import database_now
from recruitment.services.erasure import (
    check_not_needed,
    erase_in,
    erase_words,
    remove_ids,
    removed,
)
from recruitment.services.personal_data import rows_leading_to
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

# So many people lose their ids in one transaction, which replaces them in all texts of the database.
AT_ONCE = 200


def remove_what_is_due(now: datetime | None = None) -> None:
    """Remove each kind of data whose time is over, and note it in the log of each study."""
    now = now or database_now()
    for kind, days in settings.TIEBREAK_KEEP.items():
        if kind == "ids":
            _remove_due_ids(now, days)
            continue
        for study in _due_studies(kind, now - timedelta(days=days)):
            with transaction.atomic():
                n = REMOVALS[kind](study, removed(now, days))
                _record(study, kind, n, days)


def _record(study: Study, kind: str, n: int, days: int) -> None:
    details = {"what": kind, "removed": n, "after_days": days}
    record_event(study=study, verb=StudyEvent.Verb.FORGET, details=details)


def _due_studies(kind: str, limit: datetime) -> QuerySet[Study]:
    """Return studies with people that were closed long enough ago, and from which it is not removed."""
    since = {"study": OuterRef("pk"), "at__gte": OuterRef("closed_at")}
    done = StudyEvent.objects.filter(verb=StudyEvent.Verb.FORGET, details__what=kind, **since)
    people = Participation.objects.filter(study=OuterRef("pk"), simulated=False)
    return _closed(limit).filter(Exists(people), ~Exists(done)).order_by("pk")


def _closed(limit: datetime) -> QuerySet[Study]:
    return Study.objects.filter(status=Study.Status.CLOSED, closed_at__lte=limit)


def _remove_due_ids(now: datetime, days: int) -> None:
    due = [one.pk for one in _with_due_ids(now - timedelta(days=days)) if not _is_needed(one)]
    for start in range(0, len(due), AT_ONCE):
        with transaction.atomic():
            some = Rater.objects.select_for_update().filter(pk__in=due[start : start + AT_ONCE])
            raters = list(some.filter(erased_at=None).order_by("pk"))
            remove_ids(raters, now, days)
            studies = Study.objects.filter(participations__rater__in=raters).order_by("pk")
            for study, n in Counter(studies).items():
                _record(study, "ids", n, days)


def _with_due_ids(limit: datetime) -> QuerySet[Rater]:
    """Return the people all of whose studies were closed long enough ago."""
    took_part = Participation.objects.filter(rater=OuterRef("pk"), simulated=False)
    others = took_part.exclude(study__in=_closed(limit))
    have_ids = Rater.objects.filter(kind=Rater.Kind.HUMAN, erased_at=None)
    return have_ids.filter(Exists(took_part), ~Exists(others)).order_by("pk")


def _is_needed(rater: Rater) -> bool:
    """Whether somebody has to be paid, or a job runs, for which the ids are needed."""
    try:
        check_not_needed(rater)
    except DomainError:
        return True
    return False


def _from_participations(kind: str) -> Callable[[Study, str], int]:
    def remove(study: Study, words: str) -> int:
        keys = study.participations.values_list("pk", flat=True)
        return erase_in(rows_leading_to(Participation, keys), {kind}, words)

    return remove


def _comments(study: Study, words: str) -> int:
    remove_exports([study.pk])  # which may have them
    return _from_participations("comments")(study, words)


def _words_in_log(study: Study, words: str) -> int:
    about_people = [one for one in study.events.all() if "annotator" in one.details]
    for event in about_people:
        erase_words(event, {}, words)
    return len(about_people)


@dataclass(frozen=True)
class Kept:
    """A kind of data, for how many days it is kept, and the newest entry in a log about its removal."""

    kind: str
    what: str
    days: int | None
    last: StudyEvent | None


WHAT = {
    "ids": "Ids of platforms and links, completion codes, and messages with payments",
    "addresses": "Digests of addresses and browsers",
    "comments": "Comments, reasons, and answers to questions",
    "log": "What researchers wrote about people in the logs of studies",
}


def retention() -> list[Kept]:
    """Return what this server keeps for how long, for its owner."""
    entries = StudyEvent.objects.filter(verb=StudyEvent.Verb.FORGET, details__removed__gt=0)
    entries = entries.select_related("study")
    return [
        Kept(
            kind, what, settings.TIEBREAK_KEEP.get(kind), entries.filter(details__what=kind).first()
        )
        for kind, what in WHAT.items()
    ]


REMOVALS: Mapping[str, Callable[[Study, str], int]] = MappingProxyType(
    {
        "addresses": _from_participations("addresses"),
        "comments": _comments,
        "log": _words_in_log,
    }
)
