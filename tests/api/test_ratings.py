"""Ratings and scores as streams, and cursors while ratings arrive."""

import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.exports.rating_pages import SETTLED_AFTER, rating_page
from annotation.exports.ratings import rating_rows
from annotation.exports.tables import separability_rows
from annotation.imports.study_import import import_study
from annotation.models import Rating
from jobs.clock import database_now
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, SeparabilityScore, Study
from tests.annotation.annotators import annotator
from tests.api.clients import at, problem_of, program, rows_of
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(ruth):
    return program(ruth)


@pytest.fixture
def rated(tmp_path, ruth) -> Study:
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    Membership.objects.create(study=study, user=ruth)
    settle(study)
    return study


def settle(study: Study) -> None:
    """Make the study's ratings older than those that may have unfinished predecessors."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_rating SET created_at = %s WHERE unit_id IN"
            " (SELECT id FROM studies_unit WHERE study_id = %s)",
            [database_now() - 2 * SETTLED_AFTER, study.pk],
        )


def test_the_rows_are_those_of_the_export(client, rated):
    answer = client.get(at("rating-list", rated.pk))
    assert answer["Content-Type"] == "application/jsonl"
    assert rows_of(answer) == list(rating_rows(rated))


def test_pages_have_each_rating_once(client, rated):
    seen, after = [], "0"
    while True:
        answer = client.get(at("rating-list", rated.pk), {"after": after, "limit": 5})
        seen += rows_of(answer)
        after = answer["Tiebreak-Cursor"]
        if answer["Tiebreak-More"] == "false":
            break
    assert seen == list(rating_rows(rated))
    last = client.get(at("rating-list", rated.pk), {"after": after})
    assert (rows_of(last), last["Tiebreak-Cursor"]) == ([], after)


def test_ratings_that_arrive_between_two_pages_follow_on_a_later_one(client, ruth):
    study = make_open_study(instances=3, comparisons_per_hit=3, ratings_per_hit=2, member=ruth)
    ann, ben = annotator(study), annotator(study)
    ann.choose()
    ben.choose()
    settle(study)
    first = client.get(at("rating-list", study.pk), {"limit": 1})
    seen = rows_of(first)
    ann.choose()
    settle(study)
    second = client.get(at("rating-list", study.pk), {"after": first["Tiebreak-Cursor"]})
    seen += rows_of(second)
    keys = [(row["unit"], row["rater"]) for row in seen]
    assert keys == [(row["unit"], row["rater"]) for row in rating_rows(study)]
    assert len(keys) == 3


def test_a_rating_waits_for_those_that_may_be_committed_before_it(ruth):
    """A smaller key may still be in an unfinished transaction when a larger one is visible."""
    study = make_open_study(instances=1, comparisons_per_hit=2, member=ruth)
    annotator(study).choose()
    now = database_now()
    assert rating_page(study, limit=10, now=now).ratings.count() == 0
    later = rating_page(study, limit=10, now=now + SETTLED_AFTER + timedelta(seconds=1))
    assert later.ratings.count() == 1


def test_a_time_in_the_future_holds_nothing_back(rated):
    with connection.cursor() as cursor:
        future = database_now() + timedelta(days=400)
        cursor.execute("UPDATE annotation_rating SET created_at = %s", [future])
    assert rating_page(rated, limit=100).ratings.count() == Rating.objects.count()


def test_a_stream_asks_the_database_as_often_for_many_rows_as_for_few(client, rated):
    def statements(limit: int) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            rows_of(client.get(at("rating-list", rated.pk), {"limit": limit}))
        return len(queries)

    rows_of(client.get(at("rating-list", rated.pk), {"limit": 1}))
    assert statements(1) == statements(12)


def test_a_stream_sends_rows_while_it_reads_them(client, rated, monkeypatch):
    monkeypatch.setattr("api.views.ratings.ROWS_A_WRITE", 2)
    read = []

    def counted(*arguments):
        for row in rating_rows(*arguments):
            read.append(row)
            yield row

    monkeypatch.setattr("api.views.ratings.rating_rows", counted)
    answer = client.get(at("rating-list", rated.pk))
    assert read == []
    next(iter(answer.streaming_content))
    assert len(read) == 2
    answer.close()  # as a server does when the client goes away


def test_scores_are_read_page_by_page(client, rated):
    score_separability(study=rated)
    last = SeparabilityScore.objects.order_by("pk").last()
    SeparabilityScore.objects.filter(pk=last.pk).update(self_alignment_a=0.99, cross_alignment=0.01)
    first = client.get(at("score-list", rated.pk), {"limit": 1})
    rest = client.get(at("score-list", rated.pk), {"after": first["Tiebreak-Cursor"]})
    rows = rows_of(first) + rows_of(rest)
    stored = SeparabilityScore.objects.order_by("pk")
    assert [row["delta"] for row in rows] == [score.delta for score in stored]
    assert [row["instance"] for row in rows] == [score.instance.key for score in stored]
    # On the scale of all scores, whatever is on the page.
    exported = {row["instance"]: row for row in separability_rows(rated)}
    assert len(exported) == len(rows) > 1
    for row in rows:
        on_scale = exported[row["instance"]]["separability"], exported[row["instance"]]["scenario"]
        assert (row["delta_normalised"], row["scenario"]) == on_scale
    assert any(row["delta_normalised"] for row in rows)
    assert first["Tiebreak-More"] == "true"
    other = client.get(at("score-list", rated.pk), {"similarity": "bleu"})
    assert rows_of(other) == []


def upload(client, study, *rows, name="judge.jsonl"):
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return client.post(
        at("machine-rating-list", study.pk), {"ratings": SimpleUploadedFile(name, content)}
    )


def machine_row(study, **more):
    return {"unit": study.units.first().key, "rater": "judge", "kind": "machine", "label": 1} | more


def test_machine_ratings_are_added_once(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    row = machine_row(study)
    answers = [upload(client, study, row).json() for _ in range(2)]
    assert answers == [{"added": 1, "known": 0}, {"added": 0, "known": 1}]
    assert Rating.objects.get().rater.kind == "machine"


def test_a_large_file_of_machine_ratings_is_added_by_a_job(client, ruth, settings, tmp_path):
    settings.TIEBREAK_UPLOAD_FOLDER, settings.TIEBREAK_IMPORT_AT_ONCE_BYTES = str(tmp_path), 10
    study = make_open_study(instances=1, member=ruth)
    answer = upload(client, study, machine_row(study))
    assert answer.status_code == 202
    assert client.get(answer["Location"]).json()["result"] == {"added": 1, "known": 0}


def test_a_humans_row_is_refused_with_its_line(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    answer = upload(client, study, machine_row(study), machine_row(study, kind="human", rater="me"))
    assert problem_of(answer) == (400, "bad_file")
    problems = [(problem["line"], problem["code"]) for problem in answer.json()["problems"]]
    assert problems == [(2, "human_rating")]
    assert not Rating.objects.exists()


@pytest.mark.parametrize("name", ["judge.exe", "judge", "../../judge.parquet"])
def test_only_known_formats_are_uploaded(client, ruth, name):
    study = make_open_study(instances=1, member=ruth)
    assert problem_of(upload(client, study, machine_row(study), name=name)) == (400, "invalid")


def test_an_upload_has_the_limits_of_the_pages(client, ruth, settings):
    study = make_open_study(instances=1, member=ruth)
    settings.TIEBREAK_MAX_UPLOAD_ROWS = 1
    rows = [machine_row(study, run=str(run)) for run in range(2)]
    assert problem_of(upload(client, study, *rows)) == (400, "bad_file")


@pytest.mark.parametrize("access", ["read", "write"])
def test_nobody_else_adds_ratings(ruth, omar, access):
    study = make_open_study(instances=1, member=ruth)
    client = program(ruth, access="read") if access == "read" else program(omar)
    codes = {"read": (403, "read_only_token"), "write": (404, "unknown_study")}
    assert problem_of(upload(client, study, machine_row(study))) == codes[access]
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    "name",
    ["rating-list", "score-list", "study-progress", "study-report", "study-detail", "job-list"],
)
def test_nobody_else_reads_a_study(omar, rated, name):
    assert problem_of(program(omar).get(at(name, rated.pk))) == (404, "unknown_study")
