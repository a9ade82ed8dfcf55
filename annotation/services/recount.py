"""Counts the ratings of studies again, and raises an alarm where what is kept beside them differs.

A rating, its tally and the completion of its place are written in one transaction, and all places of a
plan, so they agree unless the database lost something, or somebody changed it by hand.
"""

import logging
from collections.abc import Iterator

from django.db import connection

from annotation.models.rating import EXCLUDING_FLAGS
from studies.models import Study, StudyEvent
from studies.services import record_event

log = logging.getLogger(__name__)

COLLECTING = (Study.Status.OPEN, Study.Status.PAUSED)
Differences = dict[str, int]


def recount_studies() -> dict[str, Differences]:
    """Recount the studies that collect ratings, or differed before; return those that differ.

    A difference is an error in the log of the process, and, unless it was known, an event in the log of
    the study.
    """
    known, found = known_differences(), {}
    for study in Study.objects.filter(status__in=COLLECTING) | Study.objects.filter(pk__in=known):
        differences = recount(study)
        if differences != known.get(study.pk, {}):
            record_event(study=study, verb=StudyEvent.Verb.RECOUNT, details=differences)
        if differences:
            log.error("a recount of the ratings of study %s differs: %s", study.pk, differences)
            found[study.pk] = differences
    return found


def known_differences() -> dict[str, Differences]:
    """Return what the last recount of each study found, without studies in which all agreed."""
    events = StudyEvent.objects.filter(verb=StudyEvent.Verb.RECOUNT).order_by("pk")
    newest = dict(events.values_list("study", "details"))
    return {study: details for study, details in newest.items() if details}


def recount(study: Study) -> Differences:
    """Return how many tallies and completed places differ from the ratings, and places are missing; only if any do.

    The database counts, in one statement for each, so that annotators may go on meanwhile.
    """
    return dict(_differences(study))


def _differences(study: Study) -> Iterator[tuple[str, int]]:
    for name, statement in {"wrong_tallies": _TALLIES, "wrong_places": _PLACES}.items():
        with connection.cursor() as cursor:
            cursor.execute(statement, {"study": study.pk})
            (n,) = cursor.fetchone()
        if n:
            yield name, n
    # Pages take the number of places from the plan.
    there, planned = study.places.count(), study.places_of(study.hits.main().count())
    if study.status in COLLECTING and there != planned:
        yield "missing_places", planned - there


_COUNTED = " AND ".join(f"NOT r.{flag}" for flag in EXCLUDING_FLAGS)
_TALLIES = f"""
SELECT count(*) FROM (SELECT 1 FROM (
    SELECT t.unit_id, t.criterion_id, t.rater_id, t.label, t.n
    FROM annotation_tally t JOIN studies_unit u ON u.id = t.unit_id WHERE u.study_id = %(study)s
    UNION ALL
    SELECT r.unit_id, r.criterion_id, CASE WHEN w.kind = 'machine' THEN r.rater_id END,
        coalesce(r.label, ''), -1
    FROM annotation_rating r
    JOIN studies_unit u ON u.id = r.unit_id JOIN annotation_rater w ON w.id = r.rater_id
    WHERE u.study_id = %(study)s AND r.repeat = 0 AND r.nonresponse = '' AND {_COUNTED}
) AS counts GROUP BY unit_id, criterion_id, rater_id, label HAVING sum(n) <> 0) AS different
"""  # noqa: S608  the names are constants of this module
# A completed place has one answer to each question about each item; those to gold checks come on top.
# Imported answers name no place, but their assignment holds it. Both sides are read once, as a search for
# the answers of each place would read all that one question has where the database has no statistics.
_PLACES = f"""
SELECT count(DISTINCT place_id) FROM (SELECT place_id FROM (
    SELECT p.id AS place_id, h.unit_id, h.repeat, c.id AS criterion_id, 1 AS n
    FROM annotation_place p JOIN annotation_hitunit h ON h.hit_id = p.hit_id
    JOIN studies_criterion c ON c.study_id = p.study_id
    WHERE p.study_id = %(study)s AND p.completed_at IS NOT NULL
    UNION ALL
    SELECT coalesce(r.place_id, held.id), r.unit_id, r.repeat, r.criterion_id, -1
    FROM annotation_rating r JOIN studies_unit u ON u.id = r.unit_id
    LEFT JOIN annotation_place held ON r.place_id IS NULL AND held.assignment_id = r.assignment_id
    WHERE u.study_id = %(study)s AND {_COUNTED}
) AS counts GROUP BY place_id, unit_id, repeat, criterion_id HAVING max(n) = 1 AND sum(n) <> 0) AS different
"""  # noqa: S608
