"""Check that the study cannot cost more than its budget, and pays nobody for tasks that do not exist."""

from collections.abc import Iterator
from copy import copy

from django.utils.text import get_text_list

from recruitment.admission import check_budget, collection_of, maximum
from recruitment.costs import forecast
from recruitment.launch.check import SIZE, LaunchCheck, error, warning
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.errors import DomainError


def within_budget(study: Study) -> Iterator[LaunchCheck]:
    if study.budget is None:
        return
    try:
        check_budget(study)
    except DomainError as refusal:
        yield error(refusal.code, refusal.message, SIZE)


def pay_as_promised(study: Study) -> Iterator[LaunchCheck]:
    if study.promised_hourly_rate is None:
        return
    # A copy, because a forecast keeps the channels that it reads with its study.
    found = forecast(copy(study), hits=study.hits.main().count())
    for code, sentence in found.against_the_promise:
        yield warning(code, sentence, SIZE)


def tasks_for_each_payment(study: Study) -> Iterator[LaunchCheck]:
    """Where one payment covers all tasks, it is not smaller for people who find fewer of them."""
    if not study.channels.all():  # by the open link, each task is paid
        return
    collection, tasks = collection_of(study), study.hits_per_annotator or 1
    one_payment = [
        one
        for one in maximum(study, collection.hits).channels
        if one.pay.is_one_payment and one.amount
    ]
    people = sum(one.most_people or 0 for one in one_payment)
    if one_payment and (people > collection.people_admitted or tasks > collection.hits):
        yield warning(
            "pays_for_missing_tasks",
            f"{get_text_list([one.title for one in one_payment], 'and')} may send"
            f" {counted(people, 'person', 'people')} for up to {counted(tasks, 'task')} each, but only"
            f" {counted(collection.responses, 'response')} to {counted(collection.hits, 'task')} are"
            " collected. People who find fewer tasks are paid the whole reward. Lower the maximum of"
            " people on Recruit, or the tasks per annotator.",
            SIZE,
        )
