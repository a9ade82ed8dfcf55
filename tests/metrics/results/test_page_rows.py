"""The rows that are stored beside a report, for ratings in any form."""

import json
import random

import pytest

from annotation.services.screening import CheckRecord
from metrics.results.rater_rows import page_rows, rows_of
from tests.metrics.studies import odd_study, preferences
from tiebreak.formats import RatingTable
from tiebreak.report.source import Source


def stored(rows, scales, **records):
    """Return the rows of pages after they were written as JSON."""
    source = Source(RatingTable.from_rows(rows), scales)
    return json.loads(json.dumps(page_rows(source, records), allow_nan=False))


@pytest.mark.sampled(50)
@pytest.mark.parametrize("seed", range(150))
def test_odd_ratings_have_rows(seed):
    ratings, scales = odd_study(random.Random(seed))
    written = stored(ratings, scales)
    for name in written:
        rows = rows_of(written, name)
        people = {row["rater"] for row in ratings if row.get("kind") != "machine"}
        assert {rater.name for rater in rows.raters} == people
        assert all(0 < unit.share <= 1 < unit.n for unit in rows.contested.units)


def test_units_with_the_same_agreement_are_ordered_by_their_ratings():
    ratings = preferences([[1, -1], [1, -1, 1, -1], [1, 1, 1], [1]])
    listed = rows_of(stored(ratings, {}), "preference").contested.units
    assert [(unit.unit, unit.n, unit.top) for unit in listed] == [
        ("u1", 4, 2),
        ("u0", 2, 1),
        ("u2", 3, 3),
    ]


def test_both_bad_is_a_label_like_others():
    ratings = preferences([["bad", 1, "bad"], ["bad", "bad"]])
    listed = rows_of(stored(ratings, {"preference": "preference:tie+bad"}), "preference")
    assert [(unit.unit, unit.top) for unit in listed.contested.units] == [("u0", 2), ("u1", 2)]


def test_checks_belong_to_their_annotator():
    rows = rows_of(stored(preferences([[1, 1]]), {}, r1=CheckRecord(1, 2)), "preference")
    assert [(rater.checks_right, rater.checks) for rater in rows.raters] == [(0, 0), (1, 3)]


def test_a_criterion_without_stored_rows_has_none():
    assert rows_of({}, "preference").raters == ()
