"""Answers that came while a study was closed: taken all or not at all, without seeing what they say.

While the study is closed they are kept and flagged. Reopening sets them aside, so that whoever
comes back, or takes the place over, finds the HIT as it was when the study was closed. Then a
researcher takes them in, where places are left, or declines them for good.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.contrib.auth.models import User

from annotation.models import Assignment, Rating
from annotation.models.rating import RatingQuerySet
from annotation.services.places import LockedPlaces, complete_if_full, lock_places, place_for_unit
from annotation.services.ratings import complete_set
from annotation.services.screening import is_right
from annotation.services.tallies import TallyKey, apply_tally_deltas, set_flags, tally_key
from studies.clock import database_now
from studies.freshness import changes_noted, note_change
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

DECLINED = "declined as late"
Slot = tuple[int, int, int]


@dataclass(frozen=True)
class LateAnswers:
    """Answers that wait for a decision: how many, and how good, but not what they say.

    `agreement` is the share of pairs of a late answer and another person's counted one, on the
    same unit and criterion, that say the same; `usual_agreement` that of counted ones among
    themselves on those units. None where there is no pair, no check or no time.
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
    """Late answers of which nobody decided yet. Whether one is current says nothing here."""
    late = Rating.objects.filter(assignment__hit__study=study, late=True)
    return late.exclude(excluded_reason=DECLINED)


def late_answers(study: Study) -> LateAnswers | None:
    """What a researcher may know before deciding; None where nothing waits."""
    rows = list(pending(study).select_related("unit", "criterion", "rater").order_by("pk"))
    latest = list({_whole_slot(row): row for row in rows}.values())
    if not latest:
        return None
    units = {row.unit_id for row in latest}
    usual = list(Rating.objects.counted().filter(unit__in=units, repeat=0))
    verdicts = [is_right(row) for row in latest if row.criterion.name in row.unit.known_labels]
    return LateAnswers(
        answers=len(latest),
        people=len({row.rater_id for row in latest}),
        hits=len({row.assignment_id for row in latest}),
        agreement=_agreement([row for row in latest if not row.repeat], usual),
        usual_agreement=_agreement(usual, usual),
        checks_right=sum(verdicts),
        checks=len(verdicts),
        seconds=_seconds(latest),
        usual_seconds=_seconds(Rating.objects.counted().filter(assignment__hit__study=study)),
    )


def set_late_answers_aside(*, study: Study) -> int:
    """Nobody's current answers any more; they were not counted, so that no tally changes.

    Returns how many answers wait for a decision now.
    """
    waiting = pending(study)
    waiting.filter(superseded=False).update(superseded=True)
    return len({_whole_slot(row) for row in waiting})


@changes_noted()
def accept_late_answers(
    *, study: Study, by: User | None = None, now: datetime | None = None
) -> int:
    """Count the late answers as if they had come in time, where a place is left for them.

    A HIT that they make whole takes its place, or another that is free; where none is, the set is
    surplus, so that nobody's answers exceed R. Who answered a unit anew since has said the last
    word on it. Returns how many answers were taken in. Raises `DomainError` while the study is
    closed, or where nothing waits. Locks the study, then places HIT by HIT.
    """
    now = now or database_now()
    study = _locked(study)
    rows = pending(study).select_related("rater", "criterion").order_by("assignment__hit", "pk")
    by_assignment: dict[int, list[Rating]] = defaultdict(list)
    for row in rows:
        by_assignment[row.assignment_id].append(row)
    assignments = Assignment.objects.select_related("hit__study", "participation")
    found = assignments.in_bulk(by_assignment)
    taken = 0
    for pk, own in by_assignment.items():
        taken += _take_in(found[pk], own, now)
    note_change(study.pk)
    details = {"answers": taken, "people": len({row.rater_id for row in rows})}
    record_event(study=study, verb=StudyEvent.Verb.ACCEPT_LATE, by=by, details=details)
    return taken


@changes_noted()
def decline_late_answers(*, study: Study, by: User | None = None) -> int:
    """Leave the late answers out for good; they stay in the record. Returns how many."""
    study = _locked(study)
    rows = list(pending(study))
    own = Rating.objects.filter(pk__in=[row.pk for row in rows])
    own.update(superseded=True, excluded=True, excluded_reason=DECLINED)
    note_change(study.pk)
    n = len({_whole_slot(row) for row in rows})
    details = {"answers": n, "people": len({row.rater_id for row in rows})}
    record_event(study=study, verb=StudyEvent.Verb.DECLINE_LATE, by=by, details=details)
    return n


def _locked(study: Study) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status == Study.Status.CLOSED:
        raise DomainError(
            "still_closed",
            "The study is closed, so more answers may come. Reopen it before you decide on them.",
        )
    if not pending(study).exists():
        raise DomainError("nothing_late", "No late answers wait for a decision.")
    return study


def _take_in(assignment: Assignment, late: list[Rating], now: datetime) -> int:
    """One person's late answers on one HIT, while its places are locked."""
    places = lock_places(assignment=assignment, now=now)
    assignment.refresh_from_db(fields=["status", "completed_at"])
    Rating.objects.filter(pk__in=[row.pk for row in late]).update(late=False)
    current = {_slot(row): row for row in _current(assignment)}
    last = {_slot(row): row for row in late}
    wanted = [row for slot, row in last.items() if _is_last_word(row, current.get(slot))]
    for row in wanted:
        _take_back(current.get(_slot(row)))
        _make_current(row, current.get(_slot(row)), assignment, places)
    _complete(assignment, places, now)
    return len(wanted)


def _is_last_word(late: Rating, current: Rating | None) -> bool:
    return current is None or current.pk <= late.pk


def _current(assignment: Assignment) -> Iterable[Rating]:
    own = Rating.objects.filter(assignment=assignment, superseded=False)
    return own.select_related("rater")


def _take_back(earlier: Rating | None) -> None:
    if earlier is not None:
        set_flags(ratings=Rating.objects.filter(pk=earlier.pk), superseded=True)


def _make_current(
    row: Rating,
    earlier: Rating | None,
    assignment: Assignment,
    places: LockedPlaces,
) -> None:
    """Flags as if it were given now; one that corrects an answer stands where that one stood."""
    is_by_units = assignment.hit.study.abandoned == Study.Abandoned.UNITS
    row.late = row.superseded = row.partial = row.surplus = row.excluded = False
    row.excluded_reason, row.place = "", places.held
    if earlier is not None and earlier.pk != row.pk:
        for name in ("surplus", "partial", "excluded", "excluded_reason", "place"):
            setattr(row, name, getattr(earlier, name))
    elif assignment.status == Assignment.Status.EXCLUDED:
        participation = assignment.participation
        row.excluded, row.place = True, None
        row.excluded_reason = participation.status if participation else ""
    elif is_by_units:
        row.place = place_for_unit([places.held] if places.held else places.free, row)
        row.surplus = row.place is None
    else:
        row.partial = places.held is None
    _write(row)


def _write(row: Rating) -> None:
    """The flags and the tally together."""
    names = ("late", "superseded", "partial", "surplus", "excluded", "excluded_reason", "place")
    row.save(update_fields=names)
    if row.repeat == 0 and row.is_counted:
        apply_tally_deltas(Counter[TallyKey]({tally_key(row): 1}))


def _complete(assignment: Assignment, places: LockedPlaces, now: datetime) -> None:
    held, free = places.held, places.free
    if assignment.status in {Assignment.Status.EXCLUDED, Assignment.Status.COMPLETED}:
        return
    if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
        for place in [held] if held else free:
            complete_if_full(place, assignment, now)
        return
    if held is None or held.completed_at is None:
        complete_set(assignment, list(_current(assignment)), held or next(iter(free), None), now)


def _slot(row: Rating) -> Slot:
    return row.unit_id, row.criterion_id, row.repeat


def _whole_slot(row: Rating) -> tuple[int, Slot]:
    return row.assignment_id, _slot(row)


def _agreement(rows: Iterable[Rating], others: Iterable[Rating]) -> float | None:
    """The share of pairs by two people, on one unit and criterion, that say the same."""
    given: dict[tuple[int, int], list[Rating]] = defaultdict(list)
    for other in others:
        given[other.unit_id, other.criterion_id].append(other)
    same = [
        row.label == other.label
        for row in rows
        for other in given[row.unit_id, row.criterion_id]
        if other.rater_id != row.rater_id
    ]
    return sum(same) / len(same) if same else None


def _seconds(rows: Iterable[Rating]) -> float | None:
    times = [row.duration_ms / 1000 for row in rows if row.duration_ms is not None]
    return median(times) if times else None
