"""The table of participants: their work, their pay, and what each waits for."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from math import inf

from django.db.models import QuerySet

from annotation.models import Participation
from annotation.participant_evidence import (
    MAX_AT_ONCE,
    Sign,
    are_too_many,
    unusual_signs,
    worth_a_look,
)
from annotation.services.screening import CheckRecord, check_records
from recruitment.ledger import Ledger, LedgerRow, pays_by_platform, platform_title
from recruitment.models import Channel
from recruitment.terms import agreed_pay, owed


@dataclass(frozen=True)
class WaitingList:
    """People who need a decision, and the one action that settles a row."""

    name: str
    title: str
    sentence: str
    action: str

    @property
    def is_paid(self) -> bool:
        return self.action == "approve"


WAITING = {
    one.name: one
    for one in (
        WaitingList(
            "awaiting_payment",
            "Awaiting payment",
            "These participants completed work that has not been paid yet.",
            "approve",
        ),
        WaitingList(
            "screened_out",
            "Screened out, awaiting payment",
            "These participants did not pass the screening and were promised payment for taking it.",
            "approve",
        ),
        WaitingList(
            "paid_without_data",
            "Paid without data",
            "These participants were paid but have no completed work here. Payments cannot be undone.",
            "settle",
        ),
        WaitingList(
            "surplus",
            "Surplus",
            "This work was completed after all responses had been collected. Pay for it; it is left"
            " out of the statistics.",
            "settle",
        ),
        WaitingList(
            "late",
            "Late",
            "These participants sent answers after the study was closed.",
            "settle",
        ),
        WaitingList(
            "stuck",
            "Stuck",
            "The time for these participants' task has run out, or they submitted on the platform"
            " without finishing here. Free their places so that others can take them.",
            "release",
        ),
    )
}
LABELS = {
    "settle": "Mark as settled",
    "release": "Free the place",
    "ask-to-return": "Ask to return submission",
}


def pay_label(channel: Channel | None) -> str:
    """Return the button that pays a participant, or records that the researcher has."""
    return "Pay…" if pays_by_platform(channel) else "Mark as paid…"


@dataclass(frozen=True)
class Person:
    """A row of the table."""

    row: LedgerRow
    checks: CheckRecord | None
    # Why the person is worth a look.
    unusual: list[Sign] = field(default_factory=list)
    now: datetime | None = None

    @property
    def participation(self) -> Participation:
        return self.row.participation

    @property
    def name(self) -> str:
        return self.participation.rater.pseudonym

    @property
    def source(self) -> str:
        return platform_title(self.participation)

    @cached_property
    def waits(self) -> list[WaitingList]:
        return [one for name, one in WAITING.items() if name in self.row.lists]

    @property
    def can_be_paid(self) -> bool:
        return any(one.is_paid for one in self.waits)

    @cached_property
    def actions(self) -> dict[str, str]:
        """What settles the row, with the labels of the buttons."""
        return dict(self._action(one.action) for one in self.waits)

    def _action(self, action: str) -> tuple[str, str]:
        by_platform = pays_by_platform(self.participation.submission.channel)
        if action == "release" and not self.row.hits and by_platform:
            action = "ask-to-return"  # without work
        return action, LABELS.get(action) or pay_label(self.participation.submission.channel)

    @property
    def if_they_stop(self) -> str:
        """What somebody who still works and is paid by task gets if they stop now, with the currency."""
        one = self.participation
        works = one.status == Participation.Status.ACTIVE and self.row.hits and not self.row.paid
        if not works or self.can_be_paid or agreed_pay(one).is_one_payment:
            return ""
        amount = owed(one)
        return f"{amount} {one.study.currency}" if amount else ""

    @property
    def due(self) -> str:
        """What a row waits for that is paid, with the currency."""
        amount = owed(self.participation) if self.can_be_paid else None
        return "" if amount is None else f"{amount} {self.participation.study.currency}"

    @property
    def waited(self) -> str:
        """How long the last answer lies back, in short; "" if there is none."""
        last = self.row.last_at
        return _in_short(self.now - last) if self.now and last else ""


def _in_short(time: timedelta) -> str:
    hours = time.total_seconds() / 3600
    if hours < 1:
        return f"{max(1, round(hours * 60))} min"
    return f"{round(hours)} h" if hours < 48 else f"{round(hours / 24)} days"


def first_people(entries: Ledger, most: int) -> list[Person]:
    """Return the first rows of the whole ledger: who is worth a look for most reasons, then who needs a decision."""
    looked_at = entries.matches.exclude(status=Participation.Status.EXCLUDED)
    if are_too_many(looked_at.order_by().values("pk")):
        return people_on(entries, entries.page(0, most), {})
    everybody = list(entries.matches.only("rater", "status", "study"))
    unusual = unusual_signs(everybody)
    first = sorted(everybody, key=lambda one: -len(unusual.get(one.pk, [])))[:most]
    page = entries.people.filter(pk__in=[one.pk for one in first])
    return people_on(entries, page, unusual)


def people_on(
    entries: Ledger, page: QuerySet[Participation], unusual: dict[int, list[Sign]] | None = None
) -> list[Person]:
    """Return the rows of a page of the ledger's matches, in few statements.

    Who is worth a look, which `unusual` has if it is known, stands before the others, the one with
    most reasons first, and then who has waited longest for payment.
    """
    rows = entries.rows_on_page(page)
    raters = [row.participation.rater_id for row in rows]
    records = check_records(entries.study.pk, raters=raters) if raters else {}
    if unusual is None:
        # Their ratings were counted, so that nobody asks again whether they are too many.
        are_few = sum(row.ratings for row in rows) <= MAX_AT_ONCE
        unusual = worth_a_look([row.participation for row in rows]) if are_few else {}
    people = [
        Person(row, records.get(one.rater_id), unusual.get(one.pk, []), entries.now)
        for row in rows
        for one in [row.participation]
    ]
    return sorted(people, key=_place)


def _place(person: Person) -> tuple[int, float]:
    since = person.row.last_at if person.can_be_paid else None
    return -len(person.unusual), since.timestamp() if since else inf


def lists_with_people(entries: Ledger) -> list[tuple[WaitingList, int]]:
    """Return each list that somebody is on, with their number."""
    listed = entries.totals.listed
    return [(one, listed[name]) for name, one in WAITING.items() if listed[name]]
