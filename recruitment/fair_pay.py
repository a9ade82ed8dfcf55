"""Pay with which everybody earns what is promised, also the last person, who may find fewer tasks.

Nothing here reads the database.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_UP, Decimal
from typing import NamedTuple

from recruitment.pay import CENT, Asked, Collection, Pay
from tiebreak.digits import in_cents

TENTH = Decimal("0.1")
# More than so many times the promised hourly pay is rather a slip than generosity.
FAR_BEYOND = 3


class Proposal(NamedTuple):
    """A value for one of reward, minutes per task and hourly pay, and the maximum of tasks that it needs.

    `maximum` is None where the maximum of tasks stays as it is.
    """

    field: str
    value: Decimal
    maximum: int | None = None


@dataclass(frozen=True)
class Terms:
    """What each channel pays newcomers, what one of them is asked to do, and how much is collected."""

    pays: Sequence[Pay]
    asked: Asked
    left: Collection

    @property
    def last(self) -> int:
        """How many tasks the last person finds if all others do as many as they may."""
        tasks = self.asked.tasks
        return self.left.responses % tasks or tasks if tasks else 0

    def hourly_rate(self, tasks: int | None = None) -> Decimal | None:
        """Return the pay for an hour of all that is asked, or of fewer tasks, on the channel that pays least."""
        asked = self.asked if tasks is None else replace(self.asked, tasks=tasks)
        if not asked.minutes:
            return None
        hours = Decimal(asked.minutes) / 60
        return in_cents(min(pay.for_tasks(asked.tasks) for pay in self.pays) / hours)

    @property
    def lowest_rate(self) -> Decimal:
        """The hourly pay of all tasks, or of those of the last person if that is less."""
        rates = (self.hourly_rate(), self.hourly_rate(self.last))
        return min((rate for rate in rates if rate is not None), default=Decimal(0))

    def keeps(self, promise: Decimal) -> bool:
        """Whether everybody is paid as promised, and nobody far more."""
        return self.lowest_rate >= promise and (self.hourly_rate() or 0) <= FAR_BEYOND * promise

    def least_reward(self, promise: Decimal, tasks: int | None = None) -> Decimal:
        """Return the smallest reward with which all tasks, or fewer of them, earn what is promised."""
        asked = self.asked if tasks is None else replace(self.asked, tasks=tasks)
        share = min(_share(pay, asked.tasks) for pay in self.pays)
        return (promise * Decimal(asked.minutes) / 60 / share).quantize(CENT, ROUND_UP)

    def fair_reward(self, promise: Decimal) -> Decimal:
        """Return the smallest reward that pays everybody as promised, also the last person."""
        return max(self.least_reward(promise), self.least_reward(promise, self.last))

    def with_reward(self, reward: Decimal) -> "Terms":
        return replace(self, pays=[replace(pay, reward=reward) for pay in self.pays])

    def with_minutes(self, minutes: float) -> "Terms":
        return replace(self, asked=replace(self.asked, minutes_per_task=minutes))

    def with_maximum(self, tasks: int) -> "Terms":
        pays = [replace(pay, tasks=tasks) for pay in self.pays]
        asked = replace(self.asked, tasks=tasks)
        return Terms(pays, asked, replace(self.left, tasks=tasks))

    def other_maxima(self) -> Iterator["Terms"]:
        """Yield the terms with other maxima of tasks, from half to double as many, the nearest first."""
        tasks = self.asked.tasks
        low, high = max(1, tasks // 2), min(2 * tasks, self.left.hits)
        for n in sorted(range(low, high + 1), key=lambda n: abs(n - tasks)):
            if n != tasks:
                yield self.with_maximum(n)

    def that_divide(self) -> "Terms | None":
        """Return the terms with the nearest maximum of tasks that leaves nobody with fewer.

        Whoever has even one task fewer earns less an hour, as what comes before the first takes as long.
        """
        return next((one for one in self.other_maxima() if one.last == one.asked.tasks), None)


def _share(pay: Pay, tasks: int) -> Decimal:
    """Return the share of the reward that somebody gets who does so many tasks."""
    return Decimal(1) if pay.is_one_payment else Decimal(min(1, tasks / (pay.tasks or 1)))


def fair_pay(terms: Terms, promise: Decimal, reward: Decimal = Decimal(0)) -> Proposal | None:
    """Return the reward and the maximum of tasks with which everybody is paid as promised.

    The maximum stays if the last person costs nothing more; otherwise it is the nearest that leaves nobody
    with fewer tasks, or where there is none, that with which the last person costs least. Nobody gets less
    for a task than of this ``reward``. None if no reward pays the last person without paying all others far more.
    """
    chosen = _chosen(terms, promise)
    needed = chosen.fair_reward(promise)
    tasks, maximum = chosen.pays[0].tasks or 1, terms.pays[0].tasks or 1
    kept = max(needed, (reward * tasks / maximum).quantize(CENT, ROUND_UP))
    for value in (kept, needed):
        if chosen.with_reward(value).keeps(promise):
            return Proposal("reward", value, None if tasks == maximum else tasks)
    return None


def _chosen(terms: Terms, promise: Decimal) -> Terms:
    def extra(one: Terms) -> Decimal:
        return one.fair_reward(promise) / one.least_reward(promise)

    if extra(terms) == 1:
        return terms
    return terms.that_divide() or min((terms, *terms.other_maxima()), key=extra)


def fair_promise(terms: Terms) -> Proposal | None:
    """Return the hourly pay that everybody is paid; None if it is far less for the last person."""
    for one, maximum in _with_and_without_fewer(terms):
        if one.lowest_rate and one.keeps(one.lowest_rate):
            return Proposal("promised_hourly_rate", one.lowest_rate, maximum)
    return None


def fair_minutes(terms: Terms, promise: Decimal) -> Proposal | None:
    """Return the minutes per task that the reward pays for; None if it does not pay for what comes before."""
    for one, maximum in _with_and_without_fewer(terms):
        minutes = min(_minutes(one, promise, n) for n in (one.asked.tasks, one.last))
        for each in (minutes, minutes - TENTH):  # by the rounding of the parts
            if each > 0 and one.with_minutes(float(each)).keeps(promise):
                return Proposal("minutes_per_hit", each, maximum)
    return None


def _with_and_without_fewer(terms: Terms) -> Iterator[tuple[Terms, int | None]]:
    yield terms, None
    if divided := terms.that_divide():
        yield divided, divided.asked.tasks


def _minutes(terms: Terms, promise: Decimal, tasks: int) -> Decimal:
    """Return the minutes per task for which so many tasks pay what is promised."""
    asked = replace(terms.asked, tasks=tasks)
    before = replace(asked, minutes_per_task=0.0).minutes
    each = replace(asked, minutes_per_task=1.0).minutes - before
    paid = min(pay.reward * _share(pay, tasks) for pay in terms.pays)
    return Decimal(float(60 * paid / promise - Decimal(before)) / each).quantize(TENTH, ROUND_DOWN)
