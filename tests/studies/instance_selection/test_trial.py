"""A trial of a system: three texts that are shown and never stored as the study's."""

import pytest

from jobs.models import Job
from jobs.worker import run_job
from studies import model_servers
from studies.instance_selection.trial import TRIED, start_trial
from studies.models import Generation, System
from tests.jobs.scripted import Scripted, bare_study
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
OPTIONS = {"server": "lab", "samples": 4, "seed": 5, "prompt": "Sum up {source}"}


@pytest.fixture
def answers(settings, monkeypatch):
    """Let a function answer what the server `lab` is asked."""
    settings.TIEBREAK_MODEL_SERVERS = {"lab": {"provider": "http", "base_url": "http://lab:1/v1"}}

    def answered(answer) -> Scripted:
        models = Scripted(answer)
        monkeypatch.setattr(model_servers, "open_models", lambda spec: models)
        return models

    return answered


def text(number, request) -> Sampled:
    sample = Sample(f"Text {number}.", "length" if number == 3 else "stop", request.seed, 7)
    return Sampled(request.id, (sample,), "tiny", 11)


def tried(study, **options) -> Job:
    System.objects.update(language_model="tiny")
    job = start_trial(study=study, system="system-1", options=OPTIONS | options)
    job.refresh_from_db()
    return job


def test_three_texts_are_shown_beside_their_prompts_and_nothing_is_stored(answers):
    study = bare_study(9)
    models = answers(text)
    job = tried(study)
    assert (job.status, job.done, job.total, models.asked) == ("done", TRIED, TRIED, TRIED)
    assert not Generation.objects.exists()
    rows = job.result["texts"]
    assert [row["text"] for row in rows] == ["Text 1.", "Text 2.", "Text 3."]
    assert [row["is_cut"] for row in rows] == [False, False, True]
    assert {(row["prompt_tokens"], row["tokens"]) for row in rows} == {(11, 7)}
    assert all(row["seconds"] >= 0 for row in rows)
    keys = [row["instance"] for row in rows]
    sources = dict(study.dataset.instances.values_list("key", "source"))
    assert [row["prompt"] for row in rows] == [[["user", f"Sum up {sources[key]}"]] for key in keys]
    assert (job.result["total"], job.result["server"]) == (9 * 4, "lab")


def test_a_trial_shows_the_first_texts_that_the_job_would_make(answers):
    study, seeds = bare_study(3), []
    answers(lambda n, request: seeds.append(request.seed) or text(n, request))
    tried(study)
    System.objects.filter(name="system-1").update(decoding={"seed": 6, "samples": 2})
    job = tried(study)
    assert len(set(seeds)) == 6
    assert job.result["total"] == 3 * 2


def test_what_the_server_refuses_is_said_and_the_others_are_tried(answers):
    study = bare_study(3)
    too_long = GatewayError("too_long", "The prompt is too long.")
    answers(lambda n, request: Failed(request.id, too_long) if n == 2 else text(n, request))
    job = tried(study)
    assert (job.status, job.failed, job.problem) == ("failed", 1, too_long.message)
    assert len(job.result["texts"]) == 2


def test_a_server_that_refuses_the_key_is_asked_once(answers):
    study = bare_study(3)
    refusal = GatewayError("refused_key", "The key is refused.")
    models = answers(lambda n, request: Failed(request.id, refusal))
    job = tried(study)
    assert (job.status, job.problem, models.asked) == ("failed", refusal.message, 1)
    assert job.result == {}


def test_a_trial_is_refused_where_its_texts_could_not_be_made(answers):
    answers(text)
    study = bare_study(3)
    with refused("unknown_system"):
        start_trial(study=study, system="system-9", options=OPTIONS)
    with refused("no_server"):
        tried(study, server="")
    with refused("no_such_server"):
        tried(study, server="nowhere")
    with refused("unknown_placeholder"):
        tried(study, prompt="{source} {topic}")
    with refused("imported_texts"):
        tried(make_study(instances=2))
    with refused("not_a_draft"):
        tried(make_open_study(instances=2))
    Job.objects.create(
        owner=study.pk, kind="system-trial", exclusive_key=f"system-trial:{study.pk}"
    )
    with refused("job_unfinished"):
        tried(study)


def test_a_system_that_is_gone_ends_its_trial(answers):
    answers(text)
    study = bare_study(3)
    start = Job.objects.create(owner=study.pk, kind="system-trial", options={"system": "gone"})
    run_job(job_id=start.pk)
    start.refresh_from_db()
    assert start.status == "failed"
