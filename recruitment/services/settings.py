"""Saving a study's settings within its budget."""

from django.contrib.auth.models import User

from annotation.services import settings
from recruitment.admission import within_budget
from studies.models import Study


def save_settings(*, study: Study, by: User | None = None) -> int | None:
    """Save an edited study as `annotation.services.settings` does, and return how many places it added.

    Raises `DomainError` too if an opened study could then cost more than its budget.
    """
    with within_budget(study.pk):
        return settings.save_settings(study=study, by=by)
