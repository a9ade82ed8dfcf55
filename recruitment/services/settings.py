"""Saving a study's settings within its budget; the number of ratings per HIT may add places to its plan."""

from django.contrib.auth.models import User

from annotation.services.planning import grow_ratings_per_hit
from recruitment.admission import within_budget
from studies.models import Study
from studies.services import is_frozen, save_design


def save_settings(*, study: Study, by: User | None = None) -> int | None:
    """Save an edited study. In one that was opened, more ratings per HIT add places.

    Returns how many places were added, or None if the number of ratings per HIT is what it was.
    Raises `DomainError` if a setting was changed that is frozen, R was decreased, or an opened study
    could then cost more than its budget.
    """
    with within_budget(study.pk):
        stored = Study.objects.filter(pk=study.pk).first()
        added = None
        if stored is not None and is_frozen(stored):
            wanted = study.ratings_per_hit
            if wanted != stored.ratings_per_hit:
                added = grow_ratings_per_hit(study=stored, ratings_per_hit=wanted)
        save_design(study=study, by=by)
        return added
