"""Check that the study cannot cost more than its budget."""

from collections.abc import Iterator

from recruitment.admission import check_budget
from recruitment.launch.check import SIZE, LaunchCheck, error
from studies.models import Study
from tiebreak.errors import DomainError


def within_budget(study: Study) -> Iterator[LaunchCheck]:
    if study.budget is None:
        return
    try:
        check_budget(study)
    except DomainError as refusal:
        yield error(refusal.code, refusal.message, SIZE)
