"""How many people each channel admits, what they can cost at most, and the study's budget."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from django.db import transaction
from django.db.models import (
    Count,
    DecimalField,
    Exists,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce

from annotation.models import HIT, Assignment, Participation, Place, Rating, ScreeningAttempt
from annotation.selectors import PAID_TASK, has_any
from annotation.services.exclusion import stop_work
from annotation.services.places import lock_places
from annotation.services.planning import hits_to_collect
from jobs.clock import database_now
from recruitment.messages import (
    CHANNEL_FULL,
    COST_DIFFERS,
    OVER_BUDGET,
    OVER_BUDGET_AT_ENTRY,
    STUDY_FULL,
)
from recruitment.models import Channel, Payment
from recruitment.pay import Collection, Pay
from recruitment.platforms import get_platform
from recruitment.terms import AGREED, PAYS_SCREEN_OUT, Agreed, pay_of
from studies.models import Study
from tiebreak.digits import in_cents
from tiebreak.errors import DomainError, InvalidInput

Status = Participation.Status
# The channel that a study has even if nobody has set one up.
OPEN_LINK = "open-link"
PAID = (Payment.Status.PAID, Payment.Status.ASKED)


def is_open_to_all(study: Study, channels: Iterable[Channel] | None = None) -> bool:
    """Whether the open link works although nobody set it up, because no other channel is ready.

    A channel that is still being prepared leaves the open link open, or nobody could enter. A
    channel that was ready does not, even when it is closed: closing one must not open another.
    """
    channels = study.channels.all() if channels is None else channels
    return all(get_platform(one.provider).missing(one) for one in channels)


def collection_of(study: Study, hits: int | None = None, places: int | None = None) -> Collection:
    """Return what the study collects with its settings; a draft that cannot be planned has no HITs.

    ``places`` is the number of its places, if it is known.
    """
    if hits is None:
        with suppress(DomainError, InvalidInput):
            hits = hits_to_collect(study)
    return Collection(
        hits=hits or 0,
        places=study.places_of(hits or 0) if places is None else places,
        tasks=study.hits_per_annotator,
        most_answers=study.most_answers,
    )


@dataclass(frozen=True)
class ChannelLimit:
    """What a channel pays newcomers, how many people it admits at most, and how many use that up.

    `most_people` is None if no maximum is set and the channel pays nobody anything, or the tasks are
    not known yet. `known_groups` are all admitted people of the study; they are counted at first use
    if None, because they are not needed where nothing is limited.
    """

    channel: Channel
    pay: Pay
    most_people: int | None
    planned: int
    known_groups: Sequence["Group"] | None

    @cached_property
    def _groups(self) -> list["Group"]:
        known = self.known_groups
        groups = known if known is not None else _groups_of(admitted(self.channel))
        return [group for group in groups if group.came_by(self.channel)]

    @property
    def people(self) -> int:
        return sum(group.n for group in self._groups)

    @property
    def reserved(self) -> Decimal:
        """What the admitted can get at most, by the terms that each agreed to."""
        amounts = (one.reserved(self.channel, self.planned) for one in self._groups)
        return sum(amounts, Decimal(0))

    @property
    def title(self) -> str:
        return get_platform(self.channel.provider).title

    @property
    def amount(self) -> Decimal:
        """The most that everyone it can ever admit costs, with fees."""
        admits = 0 if self.channel.closed_at else self.most_people or 0
        return self.with_newcomers(max(0, admits - self.people))

    def with_newcomers(self, people: int) -> Decimal:
        """Return what the admitted and so many others cost at most, with fees."""
        return self.pay.with_fees(self.reserved + self.pay.most * people)

    @property
    def is_full(self) -> bool:
        return self.most_people is not None and self.people >= self.most_people


class Group(NamedTuple):
    """How many people of one channel agreed to the same and were paid the same, without bonuses.

    `bonuses` are those of all of them.
    """

    channel: int | None
    may_earn: bool
    rewarded: Decimal
    agreed: Agreed
    n: int
    bonuses: Decimal

    def reserved(self, channel: Channel, planned: int) -> Decimal:
        """Return what they get at most."""
        most = pay_of(channel.study, channel.settings, self.agreed, planned).most
        each = max(most if self.may_earn else self.rewarded, self.rewarded)
        return self.n * each + self.bonuses

    def came_by(self, channel: Channel) -> bool:
        return channel.provider == OPEN_LINK if self.channel is None else self.channel == channel.pk


def newcomers_pay(channel: Channel, planned: int) -> Pay:
    """Return what a channel pays people who enter now."""
    agreed = Agreed(get_platform(channel.provider).paid_per)
    return pay_of(channel.study, channel.settings, agreed, planned)


def limit_of(
    channel: Channel, collection: Collection, groups: Sequence[Group] | None = None
) -> ChannelLimit:
    """Return the limit of a channel; ``groups`` are all admitted people of the study, if known."""
    planned = collection.hits
    pay, stated = newcomers_pay(channel, planned), channel.settings.get("most_people")
    has_default = pay.most and planned and channel.study.dry_run_of_id is None
    most_people = stated or (collection.people_admitted if has_default else None)
    return ChannelLimit(channel, pay, most_people, planned, groups)


@dataclass(frozen=True)
class Maximum:
    """What a study can cost at most, by channel, with fees and the bonuses that were paid."""

    channels: tuple[ChannelLimit, ...]

    @property
    def total(self) -> Decimal:
        return sum((one.amount for one in self.channels), Decimal(0))

    @property
    def people(self) -> int:
        """How many people use up the channels' maxima."""
        return sum(one.people for one in self.channels)

    @property
    def most_people(self) -> int | None:
        """How many people can enter at most; None if a channel admits any number."""
        most = [one.people if one.channel.closed_at else one.most_people for one in self.channels]
        known = [n for n in most if n is not None]
        return sum(known) if len(known) == len(most) else None

    @property
    def reserved(self) -> Decimal:
        """What those who entered or were paid cost at most, with fees."""
        return sum((one.with_newcomers(0) for one in self.channels), Decimal(0))


def maximum(study: Study, hits: int | None = None) -> Maximum:
    """Return what the study can cost at most with its settings and channels.

    People that `note_admitted` has noted are not looked at again.
    """
    noted = vars(study).get("admitted")
    groups = admitted_groups([study])[study.pk] if noted is None else noted
    return maximum_of(study, collection_of(study, hits), groups)


def note_admitted(study: Study) -> None:
    """Note the admitted people with a study of which a page asks several times what it can cost."""
    vars(study).update(admitted=admitted_groups([study])[study.pk])


def maximum_of(study: Study, collection: Collection, groups: Sequence["Group"]) -> Maximum:
    """Return what a study can cost at most that collects so much and has admitted these people."""
    channels = list(study.channels.all())
    open_link, is_open = Channel(provider=OPEN_LINK), is_open_to_all(study, channels)
    # Who entered by the open link before another channel closed it is paid as before.
    open_link.closed_at = None if is_open else study.created_at
    is_used = is_open or any(group.came_by(open_link) for group in groups)
    if is_used and OPEN_LINK not in {one.provider for one in channels}:
        channels.append(open_link)
    for channel in channels:
        channel.study = study  # with its settings as they are typed
    return Maximum(tuple(limit_of(one, collection, groups) for one in channels))


def admitted_groups(studies: Iterable[Study]) -> dict[str, list[Group]]:
    """Return the admitted people of studies by key, in one statement."""
    groups: dict[str, list[Group]] = {study.pk: [] for study in studies}
    for key, group in _groups(_all_admitted(groups)):
        groups[key].append(group)
    return groups


def _groups_of(people: QuerySet[Participation]) -> list[Group]:
    return [group for _, group in _groups(people)]


def _groups(people: QuerySet[Participation]) -> list[tuple[str, Group]]:
    """Return admitted people by study and by what is reserved for each, in one statement."""
    keys = ("study", "submission__channel", "may_earn", *AGREED)
    # Who got several bonuses is in several rows.
    sums = {"n": Count("pk", distinct=True), "bonuses": Sum("paid_bonus__amount")}
    paid = {f"paid_{kind}": _paid(kind) for kind in Payment.Kind.values}
    rewards = [f"{name}__amount" for name in paid if name != "paid_bonus"]
    rows = people.order_by().alias(**paid).values_list(*keys, *rewards).annotate(**sums)
    found = []
    for study, channel, may_earn, *rest, n, bonuses in rows:
        agreed, amounts = Agreed(*rest[: len(AGREED)]), filter(None, rest[len(AGREED) :])
        # SQLite sums money as floats.
        extra = in_cents(bonuses or 0)
        found.append((study, Group(channel, may_earn, sum(amounts, Decimal(0)), agreed, n, extra)))
    return found


def _paid(kind: str) -> FilteredRelation:
    """Return the payments of a kind to somebody, joined: to look for them for each person takes longer.

    There is at most one of each kind but of bonuses, as `paid_once` says.
    """
    return FilteredRelation("payments", condition=Q(payments__kind=kind, payments__status__in=PAID))


def sum_of(payments: QuerySet[Payment]) -> Coalesce:
    """Return as an expression the sum of these payments that were made to a participant."""
    made = payments.filter(participation=OuterRef("pk"), status__in=PAID).order_by()
    sums = made.values("participation").annotate(sum=Sum("amount")).values("sum")
    return Coalesce(Subquery(sums), Decimal(0), output_field=DecimalField())


def admitted(channel: Channel) -> QuerySet[Participation]:
    """Return the people who use up a channel's maximum."""
    of_channel = Q(submission__channel=channel.pk) if channel.pk else Q(pk__in=())
    if channel.provider == OPEN_LINK:
        of_channel |= Q(submission__channel=None)
    return _all_admitted([channel.study_id]).filter(of_channel)


def _all_admitted(studies: Iterable[str]) -> QuerySet[Participation]:
    """Return all who may be owed something (`may_earn`), or were paid.

    Who agreed and ended without a task that can be paid has given the place back.
    """
    of_person = {"participation": OuterRef("pk")}
    goes_on = Q(status__in=(Status.ACTIVE, Status.FINISHED))
    is_paid_for_test = Q(status=Status.SCREENED_OUT) & PAYS_SCREEN_OUT
    has_worked = Q(has_any(Assignment.objects.filter(PAID_TASK, **of_person)))
    # Work is looked for last.
    may_earn = is_paid_for_test | (Q(consented_at__isnull=False) & (goes_on | has_worked))
    is_paid = Q(has_any(Payment.objects.filter(status__in=PAID, **of_person)))
    people = Participation.objects.filter(study__in=list(studies), simulated=False)
    return people.annotate(may_earn=may_earn).filter(Q(may_earn=True) | is_paid)


def check_room(channel: Channel, now: datetime) -> None:
    """Raise `DomainError` if a newcomer could do nothing, before anyone is asked to agree."""
    study = channel.study
    places = study.places.filter(completed_at=None)
    free = places.filter(Q(lease_until=None) | Q(lease_until__lte=now))
    most = study.most_answers
    if not free.exists() or (most is not None and study.places.count() - free.count() >= most):
        raise DomainError("study_full", STUDY_FULL)
    if is_full(limit_of(channel, collection_of(study)), now):
        raise DomainError("channel_full", CHANNEL_FULL)


def is_full(limit: ChannelLimit, now: datetime | None = None) -> bool:
    """Whether a channel can admit nobody now: nobody who entered has gone without a task."""
    return limit.is_full and not _gone(limit.channel, now or database_now()).exists()


def reserve(channel: Channel, now: datetime) -> None:
    """Make sure that one more person may enter, or raise `DomainError`. Must run in a transaction.

    Locks the study so that two newcomers never get the last place. Someone who agreed, completed
    no task and has been silent for the length of a lease gives their place to the newcomer.
    """
    # `no_key` does not block inserts of rows that only reference the study.
    channel.study = Study.objects.select_for_update(no_key=True).get(pk=channel.study_id)
    if not channel.study.places.filter(completed_at=None).exists():
        raise DomainError("study_full", STUDY_FULL)
    limit = limit_of(channel, collection_of(channel.study))
    silent = _gone(channel, now) if limit.is_full else Participation.objects.none()
    for participation in silent.select_for_update(skip_locked=True, of=("self",)):
        _release(channel, participation, now)
        limit = limit_of(channel, collection_of(channel.study))
        if not limit.is_full:
            break
    if limit.is_full:
        raise DomainError("channel_full", CHANNEL_FULL)
    _check_budget_at_entry(channel.study, limit)


def _check_budget_at_entry(study: Study, limit: ChannelLimit) -> None:
    if study.budget is None or study.dry_run_of_id is not None:
        return
    channels = maximum(study).channels
    reserved = sum(one.with_newcomers(int(one.channel.pk == limit.channel.pk)) for one in channels)
    if reserved > study.budget:
        raise DomainError("over_budget", OVER_BUDGET_AT_ENTRY)


@transaction.atomic
def keep_maximum(*, participation: Participation, now: datetime | None = None) -> None:
    """End a reinstated participation without a paid task if others have taken its place meanwhile."""
    study = Study.objects.select_for_update(no_key=True).get(pk=participation.study_id)
    channel = participation.submission.channel or Channel(study=study, provider=OPEN_LINK)
    limit = limit_of(channel, collection_of(study))
    if limit.most_people is None or limit.people <= limit.most_people:
        return
    if not Assignment.objects.filter(PAID_TASK, participation=participation.pk).exists():
        stop_work(participation=participation, status=Status.RELEASED, now=now)


def _gone(channel: Channel, now: datetime) -> QuerySet[Participation]:
    """Return who agreed and left without a completed task: they hold no task and are silent."""
    since = now - timedelta(minutes=channel.study.lease_minutes)
    of_person = {"participation": OuterRef("pk")}
    of_task = {"assignment__participation": OuterRef("pk")}
    signs = (
        Exists(Assignment.objects.filter(PAID_TASK, **of_person)),
        Exists(Assignment.objects.filter(created_at__gt=since, **of_person)),
        Exists(ScreeningAttempt.objects.filter(created_at__gt=since, **of_person)),
        Exists(Rating.objects.filter(created_at__gt=since, **of_task)),
        Exists(Place.objects.filter(completed_at=None, lease_until__gt=now, **of_task)),
        Exists(Payment.objects.filter(status__in=PAID, **of_person)),
    )
    silent = admitted(channel).filter(status=Status.ACTIVE, consented_at__lte=since)
    silent = silent.exclude(guidelines_read_at__gt=since)
    for sign in signs:
        silent = silent.exclude(sign)
    return silent.order_by("consented_at", "pk")


def _release(channel: Channel, participation: Participation, now: datetime) -> None:
    """End a silent participation, unless an answer has completed its task by now.

    The locks on its tasks make such an answer come before, and count, or after, and be refused.
    """
    tasks = participation.assignments.filter(hit__kind=HIT.Kind.MAIN).select_related("hit__study")
    for assignment in tasks.order_by("hit"):
        lock_places(assignment=assignment, now=now)
    if _gone(channel, now).filter(pk=participation.pk).exists():
        stop_work(participation=participation, status=Status.RELEASED, now=now)


def check_budget(study: Study, allowed: Decimal | None = None) -> None:
    """Raise `DomainError` if the study can cost more than its budget, and more than ``allowed``."""
    cost = maximum(study).total
    if study.budget is not None and cost > max(study.budget, allowed or Decimal(0)):
        raise DomainError("over_budget", OVER_BUDGET.format(cost, study.budget, study.currency))


def check_cost(study: Study, expected: Decimal) -> None:
    """Raise `DomainError` if the study can cost another sum at most than a researcher has seen."""
    cost = maximum(study).total
    if cost != expected:
        raise DomainError("cost_differs", COST_DIFFERS.format(cost, study.currency, expected))


@contextmanager
def within_budget(study_id: str) -> Iterator[None]:
    """Undo what is changed in an opened study if it then can cost more than its budget.

    A study that is beyond its budget may change as long as that costs no more than before.
    """
    with transaction.atomic():
        stood = Study.objects.select_for_update().filter(pk=study_id).first()
        before = maximum(stood).total if stood is not None else None
        yield
        study = Study.objects.filter(pk=study_id).exclude(status=Study.Status.DRAFT).first()
        if stood is not None and study is not None:
            check_budget(study, before if study.budget == stood.budget else None)
