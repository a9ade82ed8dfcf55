"""What people are paid: the one model from which forecasts, pages and the ledger are derived.

Nothing here reads the database; `terms` and `admission` describe a study and its channels for it.
"""

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from tiebreak.digits import in_cents

CENT = Decimal("0.01")
WORDS_PER_MINUTE = 200
MINUTES_PER_QUESTION = 0.5


@dataclass(frozen=True)
class Cost:
    """What annotators get, and the platforms' fees on it."""

    amount: Decimal = Decimal("0.00")
    fees: Decimal = Decimal("0.00")

    @property
    def total(self) -> Decimal:
        """Both rounded so that they add up as they are shown."""
        return self.in_cents.amount + self.in_cents.fees

    @property
    def in_cents(self) -> "Cost":
        return Cost(in_cents(self.amount), in_cents(self.fees))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.amount + other.amount, self.fees + other.fees)

    def at_most(self, total: Decimal) -> "Cost":
        """Return the cost, or if it is more than this total, the total in the same proportion."""
        limit = max(total, Decimal(0))  # more may have been paid than people could earn
        if self.total <= limit:
            return self
        fees = in_cents(self.fees * limit / self.total)
        return Cost(limit - fees, fees)

    @classmethod
    def of(cls, amount: Decimal, fee_percent: Decimal) -> "Cost":
        return cls(amount, amount * fee_percent / 100)


@dataclass(frozen=True)
class Pay:
    """What one channel of a study pays one person, without the platform's fee.

    `tasks` is how many tasks the reward pays for, None if it pays for any number from one on. Nobody
    can do more than the `planned` tasks, 0 if they are not known. Where `is_one_payment`, the platform pays the whole reward
    or nothing; elsewhere each task is paid. `screen_out` is for who fails the questions or the test.
    """

    reward: Decimal
    tasks: int | None
    planned: int
    is_one_payment: bool = False
    screen_out: Decimal = Decimal(0)
    fee_percent: Decimal = Decimal(0)

    @property
    def tasks_each(self) -> int:
        """The most tasks that one person can do; 0 if that is not known."""
        return min(filter(None, (self.tasks, self.planned)), default=0)

    @property
    def per_task(self) -> Decimal | None:
        """The pay for one task, rounded up to a cent; None if tasks are not paid one by one."""
        is_by_task = self.reward and not self.is_one_payment and (self.tasks or 0) > 1
        return self.for_tasks(1) if is_by_task else None

    @property
    def about_per_task(self) -> Decimal:
        """About what one task is paid: some cents less, not more, than any number of tasks come to."""
        return (self.reward / (self.tasks or 1)).quantize(CENT, ROUND_DOWN)

    @property
    def is_rounded(self) -> bool:
        return self.for_tasks(1) * (self.tasks or 1) != self.reward

    def for_tasks(self, done: int) -> Decimal:
        """Return the pay for completed tasks: their share of the reward, rounded up to a cent."""
        if self.is_one_payment or (done and done >= (self.tasks or 1)):
            return self.reward
        return (self.reward * done / (self.tasks or 1)).quantize(CENT, ROUND_UP)

    @property
    def most(self) -> Decimal:
        """The most that one person can be owed."""
        return max(self.for_all_tasks, self.screen_out)

    @property
    def for_all_tasks(self) -> Decimal:
        return self.for_tasks(self.tasks_each or 1)

    def expected(self, collection: "Collection") -> Decimal | None:
        """Return what all responses cost, without fees; None if no number of tasks is set."""
        if self.tasks is None:
            return None
        if self.is_one_payment:
            return self.reward * collection.people
        return in_cents(self.reward * collection.responses / self.tasks)

    def with_fees(self, amount: Decimal) -> Decimal:
        return Cost.of(amount, self.fee_percent).total


@dataclass(frozen=True)
class Collection:
    """How much a study collects: responses for all `places` of its `hits` tasks."""

    hits: int
    places: int
    tasks: int | None = None
    most_answers: int | None = None

    @property
    def responses(self) -> int:
        return self.places if self.most_answers is None else min(self.places, self.most_answers)

    @property
    def people(self) -> int:
        """The people needed if each does all tasks they may; one task each if there is no limit."""
        return -(-self.responses // (min(self.tasks or 1, self.hits) or 1))

    @property
    def people_admitted(self) -> int:
        """The default maximum of a channel: a tenth more than needed, rounded up."""
        return -(-11 * self.people // 10)


@dataclass(frozen=True)
class Asked:
    """Everything that one person is asked to do, for the hourly pay."""

    minutes_per_task: float
    items_per_task: int
    tasks: int
    words: int = 0
    questions: int = 0
    practice: int = 0
    test: int = 0
    check_rate: float = 0.0

    @property
    def parts(self) -> dict[str, float]:
        """The minutes of each part that there is, in tenths, in the order in which people meet them.

        They read consent and guidelines at `WORDS_PER_MINUTE`; an item of any kind takes as long as one
        of a task.
        """
        per_item = self.minutes_per_task / max(1, self.items_per_task)
        minutes = {
            "consent and guidelines": self.words / WORDS_PER_MINUTE,
            "questions": self.questions * MINUTES_PER_QUESTION,
            "practice": self.practice * per_item,
            "test": self.test * per_item,
            "gold checks": self.check_rate * self.tasks * per_item,
            "tasks": self.tasks * self.minutes_per_task,
        }
        return {name: round(amount, 1) for name, amount in minutes.items() if amount}

    @property
    def minutes(self) -> float:
        """The minutes of everything: what the parts add up to as they are shown."""
        return round(sum(self.parts.values()), 1)

    @property
    def items(self) -> int:
        """About how many items there are in all, without practice; checks are not told apart."""
        return self.test + self.task_items + self.checks

    @property
    def task_items(self) -> int:
        return self.tasks * self.items_per_task

    @property
    def checks(self) -> int:
        """About how many items of the tasks have a right answer that is known."""
        return round(self.tasks * self.check_rate)
