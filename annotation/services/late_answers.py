"""Answers that arrived while a study was closed, and how a researcher decides about them.

While the study is closed, late answers are stored and flagged. Reopening supersedes them so that
annotators find their HITs as they were when the study closed. A researcher then accepts all of them
or declines all of them for good, without seeing their labels. Accepted answers count if a place is
free.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from annotation.models import Assignment, Rating
from annotation.models.rating import RatingQuerySet
from annotation.participant_evidence import pair_agreement, typical_seconds
from annotation.selectors import worksheet
from annotation.services.places import (
    LockedPlaces,
    complete_if_full,
    complete_set,
    lock_places,
    place_for_unit,
)
from annotation.services.screening import is_right
from annotation.services.tallies import TallyKey, apply_tally_deltas, set_flags, tally_key
from jobs.clock import database_now
from studies.freshness import changes_noted, note_change
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

DECLINED = "declined as late"
# The ids of the unit and the criterion, and the number of the repeat.
Question = tuple[int, int, int]


@dataclass(frozen=True)
class LateAnswers:
    """The number and quality of undecided late answers, without their labels.

    `agreement` is the proportion of pairs of a late answer and another annotator's counted answer
    to the same unit and criterion that have equal labels. `usual_agreement` is the same among
    counted answers to those units. Both are None if there is no such pair, and the times are None
    if no answer has a duration.
    """

    answers: int
    people: int
    hits: int
    agreement: float | None
    usual_agreement: float | None
    checks_right: int
    checks: int
    seconds: float | None
    usual_seconds: float | None


def pending(study: Study) -> RatingQuerySet:
    """Return late answers that were neither accepted nor declined, including superseded ones."""
    late = Rating.objects.filter(assignment__hit__study=study, late=True)
    return late.exclude(excluded_reason=DECLINED)


def late_answers(study: Study) -> LateAnswers | None:
    """Summarise the pending late answers for the researcher, or return None if there are none."""
    rows = list(pending(study).select_related("unit", "criterion", "rater").order_by("pk"))
    latest = list({_answer_key(row): row for row in rows}.values())
    if not latest:
        return None
    units = {row.unit_id for row in latest}
    usual = list(Rating.objects.counted().filter(unit__in=units, repeat=0))
    verdicts = [
        is_right(row)
        for row in latest
        if not row.nonresponse and row.criterion.name in row.unit.known_labels
    ]
    return LateAnswers(
        answers=len(latest),
        people=len({row.rater_id for row in latest}),
        hits=len({row.assignment_id for row in latest}),
        agreement=pair_agreement([row for row in latest if not row.repeat], usual).share,
        usual_agreement=pair_agreement(usual, usual).share,
        checks_right=sum(verdicts),
        checks=len(verdicts),
        seconds=typical_seconds(latest),
        usual_seconds=typical_seconds(
            Rating.objects.counted().filter(assignment__hit__study=study)
        ),
    )


def set_late_answers_aside(*, study: Study) -> int:
    """Supersede the pending late answers. They were not counted, so no tally changes.

    Returns how many answers are pending.
    """
    rows = pending(study)
    rows.filter(superseded=False).update(superseded=True)
    return len({_answer_key(row) for row in rows})


@changes_noted()
def accept_late_answers(
    *, study: Study, by: User | None = None, now: datetime | None = None
) -> int:
    """Accept the pending late answers, which then count if a place is free.

    If late answers complete a HIT, they fill the annotator's place or another free place. If no
    place is free, the answers are surplus so that no HIT gets more than R responses. A newer
    answer by the same annotator takes precedence. Returns how many answers were accepted. Raises
    `DomainError` while the study is closed, or if no late answers are pending. Locks the study, and
    then the places HIT by HIT.
    """
    now = now or database_now()
    study = _locked(study)
    rows = pending(study).select_related("rater", "criterion").order_by("assignment__hit", "pk")
    by_assignment: dict[int, list[Rating]] = defaultdict(list)
    for row in rows:
        by_assignment[row.assignment_id].append(row)
    assignments = Assignment.objects.select_related("hit__study", "participation")
    by_id = assignments.in_bulk(by_assignment)
    accepted = sum(_accept(by_id[pk], late, now) for pk, late in by_assignment.items())
    note_change(study.pk)
    details = {"answers": accepted, "people": len({row.rater_id for row in rows})}
    record_event(study=study, verb=StudyEvent.Verb.ACCEPT_LATE, by=by, details=details)
    return accepted


@changes_noted()
def decline_late_answers(*, study: Study, by: User | None = None) -> int:
    """Exclude the late answers for good but keep their rows. Returns how many were declined."""
    study = _locked(study)
    rows = list(pending(study))
    ratings = Rating.objects.filter(pk__in=[row.pk for row in rows])
    ratings.update(superseded=True, excluded=True, excluded_reason=DECLINED)
    note_change(study.pk)
    n = len({_answer_key(row) for row in rows})
    details = {"answers": n, "people": len({row.rater_id for row in rows})}
    record_event(study=study, verb=StudyEvent.Verb.DECLINE_LATE, by=by, details=details)
    return n


def _locked(study: Study) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status == Study.Status.CLOSED:
        raise DomainError(
            "still_closed",
            "The study is closed, so more late answers may arrive. Reopen it before you accept or"
            " decline them.",
        )
    if not pending(study).exists():
        raise DomainError(
            "nothing_late",
            "There are no late answers to accept or decline. Reload the page to see the study's"
            " current state.",
        )
    return study


def _accept(assignment: Assignment, late: list[Rating], now: datetime) -> int:
    """Accept one annotator's late answers on one HIT, with its places locked."""
    places = lock_places(assignment=assignment, now=now)
    assignment.refresh_from_db(fields=["status", "completed_at"])
    Rating.objects.filter(pk__in=[row.pk for row in late]).update(late=False)
    rows = Rating.objects.filter(assignment=assignment, superseded=False).select_related("rater")
    current = {_question(row): row for row in rows}
    latest = {_question(row): row for row in late}
    accepted = [k for k, row in latest.items() if k not in current or current[k].pk <= row.pk]
    for question in accepted:
        earlier = current.get(question)
        if earlier is not None:
            set_flags(ratings=Rating.objects.filter(pk=earlier.pk), superseded=True)
        _make_current(latest[question], earlier, assignment, places)
    _complete(assignment, places, now)
    return len(accepted)


def _make_current(
    row: Rating,
    earlier: Rating | None,
    assignment: Assignment,
    places: LockedPlaces,
) -> None:
    """Set the flags of an accepted answer.

    If it replaces an earlier answer, it takes over the flags and the place of that answer.
    """
    is_by_units = assignment.hit.study.abandoned == Study.Abandoned.UNITS
    row.late = row.superseded = row.partial = row.surplus = row.excluded = False
    row.excluded_reason, row.place = "", places.held
    if earlier is not None and earlier.pk != row.pk:
        for name in ("surplus", "partial", "excluded", "excluded_reason", "place"):
            setattr(row, name, getattr(earlier, name))
        # A task without a label was offered again, so a label may be one too many.
        row.surplus |= bool(earlier.nonresponse and row.label is not None and row.place is None)
    elif assignment.status == Assignment.Status.EXCLUDED:
        participation = assignment.participation
        row.excluded, row.place = True, None
        row.excluded_reason = participation.status if participation else ""
    elif is_by_units:
        row.place = place_for_unit(places.usable, row)
        row.surplus = row.place is None
    else:
        row.partial = places.held is None
    _write(row)


def _write(row: Rating) -> None:
    """Save the flags and update the tally."""
    names = ("late", "superseded", "partial", "surplus", "excluded", "excluded_reason", "place")
    row.save(update_fields=names)
    if row.is_tallied:
        apply_tally_deltas(Counter[TallyKey]({tally_key(row): 1}))


def _complete(assignment: Assignment, places: LockedPlaces, now: datetime) -> None:
    if assignment.status in {Assignment.Status.EXCLUDED, Assignment.Status.COMPLETED}:
        return
    if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
        for place in places.usable:
            complete_if_full(place, assignment, now)
        return
    is_completed = places.held is not None and places.held.completed_at is not None
    if not is_completed and worksheet(assignment).is_rated:
        complete_set(assignment, next(iter(places.usable), None), now)


def _question(row: Rating) -> Question:
    return row.unit_id, row.criterion_id, row.repeat


def _answer_key(row: Rating) -> tuple[int, Question]:
    return row.assignment_id, _question(row)
