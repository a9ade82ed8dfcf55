"""What a study promises and what its people are owed, read from the database for `pay`."""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Q, QuerySet

from annotation.models import Assignment, Participation
from annotation.selectors import PAID_TASK
from recruitment.pay import Asked, Pay
from studies.models import Screening, Study

Status = Participation.Status
# The platform has closed such a submission, so its one payment is not made; a bonus pays the tasks.
CLOSED_BY_PLATFORM = {Status.RETURNED.value, Status.TIMED_OUT.value}

# Who fails the test is paid here.
PAYS_SCREEN_OUT = Q(submission__channel__settings__screen_out_reward__isnull=False) | Q(
    submission__screen_out_reward__isnull=False
)


class Agreed(NamedTuple):
    """How someone is paid, and what they were promised; what was not promised is as it is now."""

    paid_per: str
    reward: Decimal | None = None
    tasks: int | None = None
    screen_out: Decimal | None = None


# The columns of a participation that say it.
AGREED = (
    *("paid_per", "consented_version__reward", "consented_version__hits_per_annotator"),
    "submission__screen_out_reward",
)


def pay_of(study: Study, settings: Mapping[str, object], agreed: Agreed, planned: int = 0) -> Pay:
    """Return what a channel with these settings pays newcomers, or those who agreed to this."""
    is_new, screen_out = agreed.reward is None, amount_in(settings, "screen_out_reward")
    return Pay(
        reward=(study.reward if is_new else agreed.reward) or Decimal(0),
        tasks=study.hits_per_annotator if is_new else agreed.tasks,
        planned=planned,
        is_one_payment=agreed.paid_per != Participation.PaidPer.HIT,
        screen_out=screen_out if agreed.screen_out is None else agreed.screen_out,
        fee_percent=amount_in(settings, "fee_percent"),
    )


def amount_in(settings: Mapping[str, object], name: str) -> Decimal:
    return Decimal(str(settings.get(name) or 0))


def owed(participation: Participation) -> Decimal | None:
    """Return the promised payment for a participation; None if the study promises none."""
    if participation.status == Status.SCREENED_OUT:
        return screen_out_reward(participation)
    if participation.agreed.reward is None or participation.simulated:
        return None
    return agreed_pay(participation).for_tasks(_done(participation))


def earned(participation: Participation) -> Decimal:
    """Return what is owed for completed tasks or the test; other payments are not reserved."""
    has_earned = participation.status == Status.SCREENED_OUT or _done(participation)
    return (owed(participation) if has_earned else None) or Decimal(0)


def agreed_pay(participation: Participation) -> Pay:
    """Return the pay that someone agreed to."""
    terms, submission = participation.agreed, participation.submission
    settings = submission.channel.settings if submission.channel else {}
    per = paid_per(participation.status, participation.paid_per)
    promised = (terms.reward, terms.hits_per_annotator, submission.screen_out_reward)
    return pay_of(participation.study, settings, Agreed(per, *promised))


def paid_per(status: str, stated: str) -> str:
    return Participation.PaidPer.HIT if status in CLOSED_BY_PLATFORM else stated


def screen_out_reward(participation: Participation) -> Decimal | None:
    """Return what is paid to this participant for failing the test; None if it is nothing."""
    return None if participation.simulated else agreed_pay(participation).screen_out or None


def _done(participation: Participation) -> int:
    """Return how many tasks are paid, as the ledger has counted them or by counting them now."""
    counted: int | None = vars(participation).get("hits")
    return paid_tasks(participation).count() if counted is None else counted


def paid_tasks(participation: Participation) -> QuerySet[Assignment]:
    return Assignment.objects.filter(PAID_TASK, participation=participation.pk)


def asked_of_one(study: Study, planned: int, screening: Screening | None) -> Asked | None:
    """Return all that one person is asked to do; None if the study does not say how long it takes."""
    tasks, screening = study.hits_per_annotator, screening or Screening()
    if study.minutes_per_hit is None or tasks is None:
        return None
    return Asked(
        minutes_per_task=study.minutes_per_hit,
        items_per_task=study.comparisons_per_hit + study.repeats_per_hit,
        tasks=min(tasks, planned) if planned else tasks,
        words=len(study.consent.split()) + len(study.guidelines.split()),
        questions=study.comprehension.count(),
        practice=screening.training_units,
        test=screening.qualification_units,
        check_rate=screening.check_rate,
    )


def checks_can_end_work(screening: Screening | None) -> bool:
    """Whether somebody who fails gold checks gets no more tasks."""
    ends = {Screening.CheckAction.STOP, Screening.CheckAction.EXCLUDE}
    return bool(screening and screening.check_rate and screening.check_action in ends)


def pass_mark_of(screening: Screening | None) -> int | None:
    """Return how many items of the test must be right; None without a test."""
    return screening.pass_mark if screening and screening.qualification_units else None


def can_fail(study: Study, screening: Screening | None) -> bool:
    """Whether a test or questions decide who may take part."""
    return bool(screening and screening.qualification_units) or study.comprehension.exists()
