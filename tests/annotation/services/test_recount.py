"""The nightly recount: an alarm for whatever is taken away or added behind the services' back."""

import logging

import pytest
from django.core.cache import cache
from django.db import connection

from annotation.models import Rating
from annotation.services.recount import known_differences, recount_studies
from annotation.tasks import recount_studies_task
from studies.models import Study, StudyEvent
from tests.annotation.annotators import annotator
from tests.config.test_monitoring import read
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db
EVENTS = StudyEvent.objects.filter(verb=StudyEvent.Verb.RECOUNT)


@pytest.fixture
def _no_alarm() -> None:
    """Here rows are changed by hand."""


@pytest.fixture
def study() -> Study:
    """A study with a complete task of two comparisons, and one under way."""
    study = make_open_study(instances=2, comparisons_per_hit=2)
    first, second = annotator(study), annotator(study)
    for person in (first, first, second):
        person.choose()
    assert Rating.objects.count() == 3
    return study


def execute(statement: str, *parameters: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def test_honest_study_raises_no_alarm(study, caplog):
    recount_studies_task()
    assert (known_differences(), EVENTS.count(), caplog.records) == ({}, 0, [])


COMPLETE = (
    "UPDATE annotation_place SET completed_at = lease_until, lease_until = NULL"
    " WHERE lease_until IS NOT NULL"
)
REMOVE = "DELETE FROM annotation_rating WHERE id = %s"


def test_a_rating_taken_away_raises_an_alarm_once_until_it_is_back(study, client, caplog):
    first = Rating.objects.filter(place__completed_at__isnull=False).earliest("pk")
    execute(REMOVE, first.pk)
    wrong = {"wrong_tallies": 1, "wrong_places": 1}
    for _ in range(2):
        assert recount_studies() == {study.pk: wrong}
    assert [(r.levelno, r.args) for r in caplog.records] == [(logging.ERROR, (study.pk, wrong))] * 2
    assert [event.details for event in EVENTS.all()] == [wrong]
    cache.clear()
    assert read(client)["recount_differences", study.pk] == 2
    Rating.objects.bulk_create([first])
    assert recount_studies() == {}
    assert ("recount_differences", study.pk) not in read(client)
    assert [event.details for event in EVENTS.all()] == [{}, wrong]


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        (
            "UPDATE annotation_tally SET n = n + 1 WHERE id = (SELECT min(id) FROM annotation_tally)",
            {"wrong_tallies": 1},
        ),
        (
            "UPDATE annotation_rating SET nonresponse = 'broken', label = NULL WHERE id ="
            " (SELECT min(id) FROM annotation_rating)",
            {"wrong_tallies": 1},
        ),
        (COMPLETE, {"wrong_places": 1}),
        (
            "DELETE FROM annotation_place WHERE id = (SELECT max(id) FROM annotation_place"
            " WHERE assignment_id IS NULL)",
            {"missing_places": 1},
        ),
        (
            "UPDATE annotation_rating SET place_id ="
            " (SELECT id FROM annotation_place WHERE completed_at IS NOT NULL)",
            {"wrong_places": 1},
        ),
    ],
)
def test_every_kind_of_change_by_hand_is_found(study, statement, wrong):
    execute(statement)
    assert recount_studies() == {study.pk: wrong}


def test_answers_that_name_no_place_are_those_of_their_assignments_place(study):
    execute("UPDATE annotation_rating SET place_id = NULL")
    assert recount_studies() == {}


def test_only_studies_that_collect_are_counted_unless_they_differed(study):
    execute(COMPLETE)
    Study.objects.update(status=Study.Status.CLOSED)
    assert recount_studies() == {}
    Study.objects.update(status=Study.Status.PAUSED)
    assert recount_studies() == {study.pk: {"wrong_places": 1}}
    Study.objects.update(status=Study.Status.CLOSED)
    assert recount_studies() == {study.pk: {"wrong_places": 1}}
