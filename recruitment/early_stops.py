"""The pay of annotators who stop early, or fail the test: for the steps and before a study opens."""

from collections import defaultdict
from decimal import Decimal

from django.utils.text import get_text_list

from annotation.models import Participation
from annotation.services.screening import screening_of
from recruitment.admission import newcomers_pay
from recruitment.platforms import Platform, get_platform
from recruitment.terms import Agreed, can_fail, pass_mark_of, pay_of
from studies.models import Study
from tiebreak.digits import counted, money

PaidPer = Participation.PaidPer
PER_TASK = (
    "Annotators who stop early, or find no more tasks, are paid {} for each completed task, their"
    " share of the reward."
)
WHOLE = (
    "Annotators who stop early, after one task or more, are paid the whole reward, because no number"
    " of tasks per annotator is set."
)
NOT_AT_ALL = (
    "Nobody can stop early and be paid for a part, because one payment covers all tasks. If tasks run"
    " out, anyone who has completed at least one is paid the whole reward."
)
TEST = "The test has {}, of which {} must be right, in {}."
WHO_FAILS = "Whoever does not pass gets no task{}."


def failing_rules(study: Study) -> list[str]:
    """Return in sentences what must be right before the first task, and what becomes of those who fail."""
    screening = screening_of(study)
    if not can_fail(study, screening):
        return []
    mark, rules = pass_mark_of(screening), [who_fails(study)]
    if screening is not None and mark is not None:
        items = counted(screening.qualification_units, "item")
        attempts = counted(screening.qualification_tries, "attempt")
        rules.insert(0, TEST.format(items, mark, attempts))
    return rules


def who_fails(study: Study) -> str:
    """Say whether those who fail the questions or the test are paid, by any channel that is open."""
    if not study.reward:
        return WHO_FAILS.format("")
    channels = [channel for channel in study.channels.all() if channel.closed_at is None]
    amounts = {newcomers_pay(channel, 0).screen_out for channel in channels} or {Decimal(0)}
    listed = " or ".join(
        f"{money(one)} {study.currency}" if one else "nothing" for one in sorted(amounts)
    )
    return WHO_FAILS.format(f", and is paid {listed}")


def early_stop_rules(study: Study, tasks: int) -> list[str]:
    """Return in sentences the pay of those who stop early, by channel where the channels differ.

    ``tasks`` is the number of tasks in the study.
    """
    if not study.reward:
        return []
    titles: dict[str, list[str]] = defaultdict(list)
    open_channels = [channel for channel in study.channels.all() if channel.closed_at is None]
    # Without a channel, people come by the open link.
    for name in [channel.provider for channel in open_channels] or ["open-link"]:
        platform = get_platform(name)
        if rule := _rule(study, platform, tasks):
            titles[rule].append(platform.title)
    if len(titles) < 2:
        return list(titles)
    return [f"{get_text_list(names, 'and')}: {rule}" for rule, names in titles.items()]


def _rule(study: Study, platform: Platform, tasks: int) -> str:
    """Return the rule of one channel, or "" if annotators do one task each."""
    if study.hits_per_annotator is None:
        return NOT_AT_ALL if platform.paid_per == PaidPer.STUDY else WHOLE
    pay = pay_of(study, {}, Agreed(platform.paid_per), tasks)
    if study.hits_per_annotator == 1:
        return ""
    if pay.per_task is None:
        return NOT_AT_ALL
    return PER_TASK.format(
        f"about {pay.about_per_task} {study.currency}"
        if pay.is_rounded
        else f"{pay.per_task} {study.currency}"
    )
