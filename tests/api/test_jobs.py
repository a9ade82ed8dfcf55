"""Jobs: start, follow, pause, resume, stop, download."""

import io
import json
import zipfile

import pytest

from api.models import ApiToken
from jobs import services
from jobs.models import Job
from studies.models import SeparabilityScore, Study
from tests.api.clients import at, problem_of, program
from tests.jobs.factories import make_job
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("export_folder")]


@pytest.fixture
def client(ruth):
    return program(ruth)


@pytest.fixture
def study(ruth) -> Study:
    return make_open_study(instances=2, member=ruth)


@pytest.fixture
def unsent(monkeypatch) -> list[str]:
    """Jobs are queued, and no worker hears of them."""
    sent: list[str] = []
    monkeypatch.setattr(services, "enqueue", lambda task, *_, queue: sent.append(task))
    return sent


def post(client, name: str, *arguments, **body):
    return client.post(at(name, *arguments), json.dumps(body), content_type="application/json")


def test_an_export_is_started_followed_and_downloaded(client, ruth, study):
    started = post(client, "job-export", study.pk, formats=["csv"])
    assert started.status_code == 201, started.content
    job = client.get(at("job-detail", study.pk, started.json()["id"])).json()
    assert (job["kind"], job["status"], job["done"], job["total"]) == ("export", "done", 1, 1)
    assert Job.objects.get().created_by == ruth
    file = client.get(at("job-download", study.pk, job["id"]))
    assert file["Content-Type"] == "application/zip"
    names = zipfile.ZipFile(io.BytesIO(b"".join(file.streaming_content))).namelist()
    assert "ratings.csv" in {name.rpartition("/")[2] for name in names}


def test_scoring_by_the_studys_own_similarity_or_another(client, study):
    assert post(client, "job-scoring", study.pk).json()["status"] == "done"
    assert post(client, "job-scoring", study.pk, similarity="bleu").status_code == 201
    similarities = set(SeparabilityScore.objects.values_list("similarity", flat=True))
    assert similarities == {study.similarity, "bleu"}


def test_sampling_with_dummy_texts(client, ruth):
    study = make_study(instances=1, samples=0, member=ruth)
    started = post(client, "job-sampling", study.pk, server="fake", samples=2)
    assert started.json()["status"] == "done", started.content
    assert started.json()["done"] == 4


def test_of_an_opened_study_no_texts_are_generated(client, study, unsent):
    assert problem_of(post(client, "job-sampling", study.pk, server="fake")) == (
        409,
        "not_a_draft",
    )
    assert unsent == []


def test_a_dry_run_is_started_and_stopped_with_its_copy(client, study, unsent):
    started = post(client, "job-dry-run", study.pk, raters=3)
    assert started.status_code == 201, started.content
    listed = client.get(at("job-list", study.pk)).json()
    assert [(job["id"], job["kind"]) for job in listed] == [(started.json()["id"], "dry_run")]
    assert problem_of(post(client, "job-dry-run", study.pk)) == (409, "dry_run_unfinished")
    stopped = post(client, "job-stop", study.pk, listed[0]["id"])
    assert stopped.json()["status"] == "stopped"


def test_a_job_is_paused_resumed_and_stopped(client, study, unsent):
    job = post(client, "job-scoring", study.pk).json()["id"]
    states = [
        post(client, name, study.pk, job).json()["status"]
        for name in ("job-pause", "job-resume", "job-stop")
    ]
    assert states == ["paused", "queued", "stopped"]
    assert problem_of(post(client, "job-resume", study.pk, job)) == (409, "not_stopped")


def test_a_second_job_of_a_kind_is_refused(client, study, unsent):
    assert post(client, "job-scoring", study.pk).status_code == 201
    assert problem_of(post(client, "job-scoring", study.pk)) == (409, "job_unfinished")


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("job-export", {"formats": ["exe"]}, "formats"),
        ("job-export", {"formats": []}, "formats"),
        ("job-scoring", {"similarity": "magic"}, "similarity"),
        ("job-sampling", {}, "server"),
        ("job-sampling", {"server": "nowhere"}, "server"),
        ("job-sampling", {"server": "fake", "samples": 1}, "samples"),
        ("job-sampling", {"server": "fake", "temperatures": [5]}, "temperatures"),
        ("job-sampling", {"server": "fake", "prompt": "no place"}, "prompt"),
        ("job-dry-run", {"raters": 0}, "raters"),
        ("job-dry-run", {"accuracy": 2}, "accuracy"),
    ],
)
def test_options_that_the_pages_refuse_are_refused(client, study, name, body, field):
    refusal = post(client, name, study.pk, **body)
    assert problem_of(refusal) == (400, "invalid")
    assert {problem["field"].partition(".")[0] for problem in refusal.json()["problems"]} == {field}
    assert not Job.objects.exists()


JOB_PATHS = ["job-detail", "job-pause", "job-resume", "job-stop", "job-download"]


@pytest.mark.parametrize("name", JOB_PATHS)
def test_a_job_of_another_study_is_not_there(client, ruth, omar, name):
    mine, other = make_study(instances=1, member=ruth), make_study(instances=1, member=omar)
    job = make_job(other, status="done")
    for study, code in ((mine, None), (other, "unknown_study")):
        url = at(name, study.pk, job.public_id)
        answer = client.get(url) if name in {"job-detail", "job-download"} else client.post(url)
        status, refusal = problem_of(answer)
        assert status == 404
        assert refusal == code or code is None
    job.refresh_from_db()
    assert job.status == "done"


@pytest.mark.parametrize("name", ["sampling", "scoring", "export", "dry-run"])
def test_a_token_that_may_only_read_starts_nothing(ruth, study, name):
    client = program(ruth, access=ApiToken.Access.READ)
    assert problem_of(post(client, f"job-{name}", study.pk)) == (403, "read_only_token")
    assert not Job.objects.exists()
