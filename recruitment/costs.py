"""What a study will cost, and what studies have cost: for the steps and the list of studies."""

from collections.abc import Collection as Many, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import OuterRef, Q, Sum, prefetch_related_objects
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Now

from annotation.counts import StudyCounts, number_of_hits, number_of_places
from annotation.models import Place
from annotation.services.screening import screening_of
from recruitment.admission import (
    OPEN_LINK,
    PAID,
    Maximum,
    admitted_groups,
    collection_of,
    maximum,
    maximum_of,
    newcomers_pay,
)
from recruitment.fair_pay import (
    FAR_BEYOND,
    Proposal,
    Terms,
    fair_minutes,
    fair_pay,
    fair_promise,
)
from recruitment.ledger import Due, Ledger, due, ledger
from recruitment.messages import (
    BEYOND_BUDGET,
    DIVIDES_NOT,
    FAIR_TOGETHER,
    LAST_IS_PAID_LESS,
    ONE_TASK_PAYS_LESS,
    PAYS_LESS,
    PAYS_MORE,
    PROMISED,
    UNDER_PROMISE,
)
from recruitment.models import Channel, Payment
from recruitment.pay import Asked, Collection, Cost, Pay
from recruitment.terms import amount_in, asked_of_one
from studies.design.steps import count_of
from studies.models import Study
from tiebreak.digits import counted, in_cents, money

NOTHING = Cost()
# Who stops after a task earns less an hour than for all; so many times less should be known before.
FAR_BELOW = 2


class FewTasks(NamedTuple):
    """The hourly pay of somebody who does so few tasks: whoever stops, or finds no more."""

    tasks: int
    rate: Decimal
    is_for_the_last: bool


@dataclass(frozen=True)
class Forecast:
    """What a study is expected to cost, and at most. A value is None if `missing` says what it needs."""

    currency: str
    responses: int
    people: int | None
    cost: Cost | None
    maximum: Maximum
    budget: Decimal | None
    hourly_rate: Decimal | None
    asked: Asked | None
    promised_hourly_rate: Decimal | None
    fee_percent: Decimal
    paid: Cost = NOTHING
    lowest: Sequence[FewTasks] = ()
    missing: tuple[str, ...] = ()
    fair: Proposal | None = None

    @property
    def total(self) -> Decimal | None:
        return None if self.cost is None else self.cost.total

    @property
    def last(self) -> FewTasks | None:
        """What the last person earns who finds fewer tasks; None if that is not less an hour."""
        return next((one for one in self.lowest if one.is_for_the_last), None)

    @property
    def leaves_too_few(self) -> bool:
        """Whether the tasks that are left for the last person are paid below the promise."""
        return self.last is not None and self._is_under(self.last.rate)

    @property
    def some_are_under(self) -> bool:
        """Whether somebody who does few tasks is paid below the promise."""
        return any(self._is_under(one.rate) for one in self.lowest)

    def _is_under(self, rate: Decimal) -> bool:
        return self.promised_hourly_rate is not None and rate < self.promised_hourly_rate

    @property
    def shares(self) -> tuple[int, int] | None:
        """The expected and the highest cost in percent of the budget; None if one is not known."""
        if not self.budget or self.total is None:
            return None
        expected, most = (
            min(100, round(100 * x / self.budget)) for x in (self.total, self.maximum.total)
        )
        return expected, most

    @property
    def is_over_budget(self) -> bool:
        return self.budget is not None and self.maximum.total > self.budget

    @property
    def other_than_promised(self) -> tuple[str, str] | None:
        """The code and the sentence if the hourly pay is below the promise, or far beyond it."""
        rate, promise = self.hourly_rate, self.promised_hourly_rate
        if rate is None or promise is None or promise <= rate <= FAR_BEYOND * promise:
            return None
        code, what_to_do = (
            ("under_promise", self._way_out) if rate < promise else ("over_promise", PAYS_MORE)
        )
        return code, PROMISED.format(money(rate), money(promise), self.currency, what_to_do)

    @property
    def against_the_promise(self) -> list[tuple[str, str]]:
        """The codes and sentences if everybody or the last person is paid other than promised."""
        if self.other_than_promised:
            return [self.other_than_promised]
        promise = self.promised_hourly_rate or Decimal(0)
        last = self.last
        if last is None or not self.leaves_too_few:
            return []
        sentence = LAST_IS_PAID_LESS.format(
            counted(last.tasks, "task"),
            money(last.rate),
            money(promise),
            self.currency,
            self._way_out,
        )
        return [("last_is_under_promise", sentence)]

    @property
    def _way_out(self) -> str:
        """The reward, and where it needs one the maximum of tasks, with which all are paid as promised."""
        if self.fair is None:
            return DIVIDES_NOT
        reward = money(self.fair.value)
        if self.fair.maximum:
            return FAIR_TOGETHER.format(reward, self.currency, counted(self.fair.maximum, "task"))
        return PAYS_LESS.format(reward, self.currency)

    @property
    def of_who_stops(self) -> str:
        """What one task earns if all are paid as promised, but the time before it is most of its hour; or ""."""
        promise, least = self.promised_hourly_rate, next(iter(self.lowest), None)
        if promise is None or least is None or least.rate * FAR_BELOW >= promise:
            return ""
        if self.against_the_promise:
            return ""
        return ONE_TASK_PAYS_LESS.format(money(least.rate), money(promise), self.currency)


def forecast(
    study: Study, *, hits: int, completed: int | None = None, entries: Ledger | None = None
) -> Forecast:
    """Return what collecting all responses to this number of HITs costs with the study's settings.

    ``completed`` is how many there are and ``entries`` the study's ledger, if they are known: to count
    the responses of an opened study and what is due takes time.
    Who entered an opened study costs what they agreed to, and what is left what newcomers are paid.
    What people cannot do because the channels do not admit enough of them costs nothing.
    """
    needs = {
        "the maximum tasks per annotator": study.hits_per_annotator,
        "the reward": study.reward,
        "the minutes per task": study.minutes_per_hit,
    }
    collection = collection_of(study, hits)
    prefetch_related_objects([study], "channels")
    most, terms = maximum(study, hits), _terms(study, collection)
    is_draft = study.status == Study.Status.DRAFT
    so_far = None if is_draft else _so_far(study, collection, most, completed, entries)
    return Forecast(
        currency=study.currency,
        responses=collection.responses,
        people=collection.people if study.hits_per_annotator else None,
        cost=_whole_cost(study, collection, most, so_far),
        paid=so_far.paid if so_far else NOTHING,
        maximum=most,
        budget=study.budget,
        hourly_rate=terms.hourly_rate() if terms and study.reward is not None else None,
        asked=terms.asked if terms else None,
        promised_hourly_rate=study.promised_hourly_rate,
        fee_percent=highest_fee(study.channels.all()),
        lowest=_lowest(terms) if terms and study.reward else (),
        missing=tuple(name for name, value in needs.items() if value is None),
        fair=_proposed_reward(terms, study) if terms else None,
    )


def _so_far(
    study: Study,
    collection: Collection,
    most: Maximum,
    completed: int | None,
    entries: Ledger | None,
) -> "Spending":
    if completed is None:
        completed = completed_places(_with_plan(study))
    paid = _paid([study.pk]).get(study.pk, NOTHING)
    left = _left(study, collection, completed)
    people = entries.due if entries else due([study])[study.pk]
    return _spending(study, left, paid, people, most)


def _whole_cost(
    study: Study, collection: Collection, most: Maximum, so_far: "Spending | None"
) -> Cost | None:
    if so_far is None:
        cost = _to_collect(study, collection)
        return cost and cost.at_most(most.total)
    if so_far.committed is None:
        return None
    return so_far.paid.in_cents + so_far.committed.in_cents  # as pages show the two parts


def _with_plan(study: Study, **more: Any) -> Any:
    """Return a copy of a study with its `plan_counts`, and more that is read with them."""
    plan = copy(study)
    read = Study.objects.filter(pk=study.pk).values(**plan_counts(), **more)
    vars(plan).update(read.get())
    return plan


def _pays(study: Study, hits: int) -> list[Pay]:
    """Return what each channel that is not closed pays newcomers; without any, the open link."""
    channels = [channel for channel in study.channels.all() if not channel.closed_at]
    implied = Channel(study=study, provider=OPEN_LINK)
    return [newcomers_pay(channel, hits) for channel in channels or [implied]]


def _to_collect(study: Study, left: Collection, people: Due | None = None) -> Cost | None:
    """Return what responses that nobody has given cost: those of ``people`` what they agreed to.

    What they leave is paid as newcomers are now, on the channel where that is most.
    """
    tasks, agreed = _at_older_terms(study, left, people or Due())
    left = replace(left, most_answers=left.responses - tasks)
    if study.reward is None:
        return agreed
    amounts = [(pay.expected(left), pay.fee_percent) for pay in _pays(study, left.hits)]
    costs = [Cost.of(amount, fee) for amount, fee in amounts if amount is not None]
    return agreed + max(costs, key=lambda cost: cost.total) if costs else None


def _at_older_terms(study: Study, left: Collection, people: Due) -> tuple[int, Cost]:
    """Return how many responses people who agreed to other terms than today's give, and their cost.

    If they may give more than are left, those that cost most count.
    """
    today, rests = (study.reward, study.hits_per_annotator), []
    for n, pay, done in people.working:
        if not pay.tasks or (pay.reward, pay.tasks) == today:
            continue
        rest = min(filter(None, (pay.tasks, study.hits_per_annotator, left.hits))) - done
        if rest > 0:
            each = (pay.for_tasks(done + rest) - pay.for_tasks(done)) / rest
            rests.append((each, n * rest, pay.fee_percent))
    open_, cost = left.responses, NOTHING
    for each, tasks, fee_percent in sorted(rests, reverse=True):
        cost += Cost.of(each * min(tasks, open_), fee_percent)
        open_ -= min(tasks, open_)
    return left.responses - open_, cost


def _lowest(terms: Terms) -> list[FewTasks]:
    """Return the hourly pay of one task, and of those left for the last person, if it is lower than for all."""
    whole, tasks, last = terms.hourly_rate(), terms.asked.tasks, terms.last
    if whole is None:
        return []
    rates = {n: terms.hourly_rate(n) for n in {1, last}}
    return [
        FewTasks(n, rate, n == last)
        for n, rate in sorted(rates.items())
        if n < tasks and rate is not None and rate < whole
    ]


def _terms(study: Study, left: Collection) -> Terms | None:
    """Return the terms of newcomers; None if the study does not say how long the tasks of one take."""
    asked = asked_of_one(study, left.hits, screening_of(study))
    return None if asked is None else Terms(_pays(study, left.hits), asked, left)


def proposal_for(study: Study, *, hits: int) -> Proposal | None:
    """Return the third of minutes per task, hourly pay and reward where two are entered.

    Where all are and the reward is too small, also for the last person, return one that is not. With what is
    returned there is nothing more to propose.
    """
    minutes, reward, promise = study.minutes_per_hit, study.reward, study.promised_hourly_rate
    if [minutes, reward, promise].count(None) > 1:
        return None
    typed = copy(study)
    typed.minutes_per_hit = minutes or 1.0
    terms = _terms(typed, collection_of(study, hits))
    if terms is None:
        return None
    if promise is None:
        return fair_promise(terms)
    if minutes is None:
        return fair_minutes(terms, promise) if reward and promise else None
    return _proposed_reward(terms, study)


def _proposed_reward(terms: Terms, study: Study) -> Proposal | None:
    """Return the reward that everybody needs, or at least who does all tasks; None if this one is enough."""
    promise, rate = study.promised_hourly_rate, terms.hourly_rate()
    if not promise or rate is None or rate > FAR_BEYOND * promise:
        return None
    if study.reward is not None and terms.lowest_rate >= promise:
        return None
    fair = fair_pay(terms, promise, study.reward or Decimal(0))
    least = Proposal("reward", terms.least_reward(promise))
    return fair or (least if rate < promise else None)


def channel_cost(channel: Channel, participants: int) -> Cost | None:
    """Return what participants cost if all are paid the reward; None if the study states none."""
    reward = channel.study.reward
    if reward is None:
        return None
    return Cost.of(participants * reward, amount_in(channel.settings, "fee_percent"))


def per_response(study: Study) -> Decimal | None:
    """Return the reward for one response without fees; None if the settings do not say."""
    if study.reward is None or not study.hits_per_annotator:
        return None
    return study.reward / study.hits_per_annotator


def highest_fee(channels: Many[Channel]) -> Decimal:
    """Return the highest fee of the channels that are not closed, in percent."""
    fees = (amount_in(one.settings, "fee_percent") for one in channels if not one.closed_at)
    return max(fees, default=Decimal(0))


class Spending(NamedTuple):
    """What was paid, and what is owed or still to come, with fees, and the most that it can be in all.

    `committed` is None if the study does not say what a response costs, `most` once nothing can come.
    """

    paid: Cost
    committed: Cost | None = NOTHING
    most: Decimal | None = None


@dataclass(frozen=True)
class StudyCosts:
    """What a study has cost and will cost, each with fees.

    `to_come` is for responses of the plan that nobody has to be paid for yet. It is None if the
    study does not say what a response costs.
    """

    currency: str
    spent: Decimal
    fees: Decimal
    owed: Decimal
    owed_to: int
    to_come: Decimal | None

    @property
    def total(self) -> Decimal | None:
        """The forecast of what the study will have cost once everything is collected and paid."""
        return None if self.to_come is None else self.spent + self.owed + self.to_come


@dataclass(frozen=True)
class Accounts:
    """A study's ledger with its costs, which is what pages about money show.

    `plan` is the study with its `plan_counts`.
    """

    ledger: Ledger
    plan: Any

    @cached_property
    def costs(self) -> StudyCosts | None:
        """What the study has cost and will cost; None if it states no reward, or only bots work.

        A draft has cost nothing; what it will cost is the forecast of its step Size & pay.
        """
        has_none = self.plan.dry_run_of_id is not None or self.plan.status == Study.Status.DRAFT
        if self.plan.reward is None or has_none:
            return None
        plan, money, owed = self.plan, self.ledger.money, self.ledger.owed.total
        paid = Cost(money.rewards, money.fees)
        left = _left(plan, _collection(plan), completed_places(plan))
        so_far = _spending(plan, left, paid, self.ledger.due, self.maximum)
        committed = so_far.committed
        return StudyCosts(
            currency=self.plan.currency,
            spent=so_far.paid.total,
            fees=in_cents(so_far.paid.fees),
            owed=owed,
            owed_to=self.ledger.unpaid,
            to_come=None if committed is None else max(Decimal(0), committed.total - owed),
        )

    @cached_property
    def maximum(self) -> Maximum:
        is_draft = self.plan.status == Study.Status.DRAFT  # whose tasks may be planned anew
        return maximum(self.plan, None if is_draft else self.plan.hits_total)

    @property
    def responses_left(self) -> int:
        return _left(self.plan, _collection(self.plan), completed_places(self.plan)).responses

    @property
    def all_completed(self) -> bool:
        return bool(places_total(self.plan)) and not self.plan.places_open

    @cached_property
    def beyond_budget(self) -> str:
        """What to do about payments beyond the budget, which only platforms report; "" without any."""
        budget = self.plan.budget
        over = 0 if budget is None else self.maximum.reserved - budget
        return BEYOND_BUDGET.format(money(over), self.plan.currency) if over > 0 else ""

    @property
    def under_promise(self) -> str:
        """What to do if people earn less an hour than the study promised; "" if they do not."""
        is_under = self.costs is not None and self.ledger.money.is_under_promise
        return UNDER_PROMISE if is_under else ""


def accounts(study: Study, wanted: Q | None = None) -> Accounts:
    """Return the current ledger of a study, in which `wanted` searches, with what it costs.

    What `note_counted` has noted of the study is not counted again.
    """
    is_counted = hasattr(study, "counted_at")
    plan: Any = copy(study) if is_counted else _with_plan(study, read_at=Now())
    prefetch_related_objects([plan], "channels")
    now = getattr(study, "counted_at", None) or plan.read_at
    return Accounts(ledger(study, now, wanted), plan)


def plan_counts() -> dict[str, Any]:
    """Return what `spending_of` needs to know about studies, as expressions of a query."""
    still_open = Place.objects.filter(study=OuterRef("pk"), completed_at__isnull=True)
    return {
        "places_counted": number_of_places(),
        "hits_total": number_of_hits(),
        # Few places are open while a study is large, and an index finds them.
        "places_open": count_of(still_open),
    }


def note_counted(study: Study, counts: StudyCounts, now: datetime) -> None:
    """Note what a page has counted at this time, so that its `accounts` do not count it again."""
    vars(study).update(places_counted=counts.places, places_open=counts.remaining)
    vars(study).update(hits_total=counts.hits, counted_at=now)


def spending_of(studies: Many[Any]) -> dict[str, Spending]:
    """Return the spending of studies that were read with `plan_counts`, by key."""
    paid, of_people = _paid([study.pk for study in studies]), due(studies)
    prefetch_related_objects(list(studies), "channels")
    admitted = admitted_groups(studies)
    return {
        key: _spending(
            study,
            _left(study, _collection(study), completed_places(study)),
            paid.get(key, NOTHING),
            of_people[key],
            maximum_of(study, _collection(study), admitted[key]),
        )
        for study in studies
        for key in [study.pk]
    }


def _collection(study: Any) -> Collection:
    return collection_of(study, study.hits_total, places_total(study))


def _left(study: Study, collection: Collection, completed: int) -> Collection:
    """Return what is left to collect; a closed study collects nothing more."""
    left = 0 if study.status == Study.Status.CLOSED else collection.responses - completed
    return replace(collection, most_answers=max(0, left))


def _spending(study: Study, left: Collection, spent: Cost, people: Due, most: Maximum) -> Spending:
    """Return the spending for what is left to collect, which the maximum limits."""
    if study.status == Study.Status.DRAFT or study.dry_run_of_id is not None:
        return Spending(spent, most=most.total if study.status == Study.Status.DRAFT else None)
    total = None if study.status == Study.Status.CLOSED else most.total
    to_collect = _to_collect(study, left, people)
    if to_collect is None:
        return Spending(spent, None, total)
    # Who is paid once for all tasks may do some of the rest.
    committed = max(people.once_they_stop, people.so_far + to_collect, key=lambda cost: cost.total)
    return Spending(spent, committed.at_most(most.total - spent.total), total)


def _paid(studies: list[str]) -> dict[str, Cost]:
    of_channel = "participation__submission__channel__settings"
    rows = (
        Payment.objects.filter(participation__study__in=studies, status__in=PAID)
        .order_by()
        .annotate(fee_percent=KeyTextTransform("fee_percent", of_channel))
        .values_list("participation__study", "fee_percent")
        .annotate(amount=Sum("amount"))
    )
    totals: dict[str, Cost] = {}
    for study, stated, summed in rows:
        # SQLite sums money as floats.
        amount = in_cents(Decimal(str(summed)))
        totals[study] = totals.get(study, NOTHING) + Cost.of(amount, Decimal(str(stated or 0)))
    return totals


def completed_places(study: Any) -> int:
    """Return the number of completed places of a study that was read with `plan_counts`."""
    return places_total(study) - int(study.places_open)


def places_total(study: Any) -> int:
    """Return the number of all places of such a study."""
    counted = study.places_counted
    return int(study.places_of(study.hits_total) if counted is None else counted)
