"""Pages of a study's ratings, which a program can read while ratings arrive."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from django.db import transaction

from annotation.models import Rating
from annotation.models.rating import RatingQuerySet
from jobs.clock import database_now
from studies.models import Study

# A rating that was stored this long ago has no predecessor in an unfinished transaction.
SETTLED_AFTER = timedelta(seconds=10)


@dataclass(frozen=True)
class RatingPage:
    """Ratings after a cursor, the cursor of the next page, and whether there are more already."""

    ratings: RatingQuerySet
    cursor: int
    has_more: bool


def rating_page(
    study: Study, *, after: int = 0, limit: int, now: datetime | None = None
) -> RatingPage:
    """Return up to ``limit`` ratings after the cursor ``after``, oldest first.

    A reader that passes each page's cursor to the next call gets every rating once. Keys are handed
    out before transactions end, so the newest ratings are left out until those with smaller keys
    must have been committed. An upload may take longer, so it is waited for.
    """
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    now = now or database_now()
    rows = Rating.objects.filter(unit__study=study, pk__gt=after).order_by("pk")
    times = rows.values_list("pk", "created_at")[: limit + 1]
    # Files may name times in the future, which say nothing about when a rating was stored.
    settled = [pk for pk, _ in takewhile(lambda row: abs(row[1] - now) > SETTLED_AFTER, times)]
    cursor = settled[:limit][-1] if settled else after
    return RatingPage(rows.filter(pk__lte=cursor), cursor, len(settled) > limit)
