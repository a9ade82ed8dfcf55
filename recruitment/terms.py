"""What a study promises and what its people are owed, read from the database for `pay`."""

from collections.abc import Mapping
from decimal import Decimal

from django.db.models import Q, QuerySet

from annotation.models import HIT, Assignment, Participation
from annotation.services.screening import screening_of
from recruitment.pay import Asked, Pay
from studies.models import Screening, Study

Status = Participation.Status
# The platform has closed such a submission, so its one payment is not made; a bonus pays the tasks.
CLOSED_BY_PLATFORM = {Status.RETURNED.value, Status.TIMED_OUT.value}
# An answered task is paid, also if its answers came late, are surplus or were excluded.
PAID_TASK = Q(completed_at__isnull=False, hit__kind=HIT.Kind.MAIN)


def pay_of(study: Study, settings: Mapping[str, object], *, paid_per: str, planned: int) -> Pay:
    """Return what a channel with these settings pays."""
    return Pay(
        reward=study.reward or Decimal(0),
        tasks=study.hits_per_annotator,
        planned=planned,
        is_one_payment=paid_per != Participation.PaidPer.HIT,
        screen_out=_amount(settings, "screen_out_reward"),
        fee_percent=_amount(settings, "fee_percent"),
    )


def _amount(settings: Mapping[str, object], name: str) -> Decimal:
    return Decimal(str(settings.get(name) or 0))


def owed(participation: Participation) -> Decimal | None:
    """Return the promised payment for a participation; None if the study promises none."""
    study, submission = participation.study, participation.submission
    settings = submission.channel.settings if submission.channel else {}
    if participation.status == Status.SCREENED_OUT:
        return screen_out_reward(participation)
    if study.reward is None or participation.simulated:
        return None
    per = paid_per(participation.status, participation.paid_per)
    pay = pay_of(study, settings, paid_per=per, planned=0)
    return pay.for_tasks(_done(participation)) if submission.owed is None else submission.owed


def paid_per(status: str, stated: str) -> str:
    return Participation.PaidPer.HIT if status in CLOSED_BY_PLATFORM else stated


def screen_out_reward(participation: Participation) -> Decimal | None:
    """Return what the channel pays participants who fail the test; None if it pays nothing."""
    channel = participation.submission.channel
    if channel is None or participation.simulated:
        return None
    return _amount(channel.settings, "screen_out_reward") or None


def _done(participation: Participation) -> int:
    """Return how many tasks are paid, as the ledger has counted them or by counting them now."""
    counted: int | None = vars(participation).get("hits")
    return paid_tasks(participation).count() if counted is None else counted


def paid_tasks(participation: Participation) -> QuerySet[Assignment]:
    return Assignment.objects.filter(PAID_TASK, participation=participation.pk)


def asked_of_one(study: Study, planned: int) -> Asked | None:
    """Return all that one person is asked to do; None if the study does not say how long it takes."""
    tasks, screening = study.hits_per_annotator, screening_of(study) or Screening()
    if study.minutes_per_hit is None or tasks is None:
        return None
    return Asked(
        minutes_per_task=study.minutes_per_hit,
        items_per_task=study.comparisons_per_hit + study.repeats_per_hit,
        tasks=min(tasks, planned) if planned else tasks,
        words=len(study.guidelines.split()),
        questions=study.comprehension.count(),
        practice=screening.training_units,
        test=screening.qualification_units,
        check_rate=screening.check_rate,
    )


def can_fail(study: Study) -> bool:
    """Whether a test or questions decide who may take part."""
    screening = screening_of(study)
    return bool(screening and screening.qualification_units) or study.comprehension.exists()
