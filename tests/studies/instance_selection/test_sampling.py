"""Sampling: which texts are asked for, what is stored of them, and what servers refuse."""

import json
import re
from importlib.util import find_spec

import pytest

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from jobs.services import (
    resume_job,
)
from jobs.worker import run_job
from studies import model_servers
from studies.data.dataset_jobs import start_dataset_job
from studies.model_servers import FAKE
from studies.models import Generation, SeparabilityScore, Study, System
from studies.systems.prompts import template_of
from tests.jobs.scripted import Scripted, bare_study, queued, scripted, texts
from tiebreak.asking import samples
from tiebreak.asking.samples import prompt_for, seed_for
from tiebreak.gateway import Failed, GatewayError

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_it_works():
    study = bare_study()
    job = start_dataset_job(study=study, kind="sampling", options={"server": FAKE, "samples": 3})
    job.refresh_from_db()
    assert (job.status, job.done, job.total, job.problem) == ("done", 72, 72, "")
    assert Generation.objects.count() == 72
    row = Generation.objects.first()
    assert row.text
    assert row.seed is not None
    assert row.params["model"]
    scoring = start_dataset_job(study=study, kind="scoring", options={"similarity": "rouge1"})
    scoring.refresh_from_db()
    assert (scoring.status, scoring.done) == ("done", 12)
    assert SeparabilityScore.objects.count() == 12


def test_the_same_job_makes_the_same_texts_and_nothing_twice():
    study = bare_study(4)
    run_job(job_id=queued(study, samples=2, seed=7).pk)
    first = dict(Generation.objects.values_list("pk", "text"))
    run_job(job_id=queued(study, samples=2, seed=7).pk)
    assert dict(Generation.objects.values_list("pk", "text")) == first
    Generation.objects.filter(sample_index=1).delete()
    run_job(job_id=queued(study, samples=2, seed=7).pk)
    assert sorted(Generation.objects.values_list("text", flat=True)) == sorted(first.values())


def test_a_seed_belongs_to_its_instance_and_system():
    study = bare_study(2)
    job = queued(study, seed=1)
    seeds = {
        seed_for(job.options["seed"], instance.key, system.name)
        for instance in study.dataset.instances.all()
        for system in study.systems.all()
    }
    assert len(seeds) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_failures_are_reported_and_the_rest_is_stored(monkeypatch):
    study = bare_study(30)
    busy = GatewayError("busy", "The server asks to wait. Try again later.", is_retryable=True)
    scripted(monkeypatch, lambda n, r: Failed(r.id, busy) if n % 10 == 0 else texts(r))
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.failed, job.done) == ("failed", 6, 54)
    assert job.problem == busy.message
    scripted(monkeypatch, lambda n, r: texts(r))
    resume_job(job=job)
    job.refresh_from_db()
    assert (job.status, job.failed, Generation.objects.count()) == ("done", 0, 60)


def test_a_server_that_will_never_do_it_is_not_asked_for_ever(monkeypatch):
    study = bare_study(500)
    wrong = GatewayError("unknown_model", "The server has no such model.")
    models = scripted(monkeypatch, lambda n, r: Failed(r.id, wrong))
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == "failed"
    assert models.asked <= 60
    assert models.closed == 1


@pytest.mark.parametrize("code", ["refused", "bad_request"])
def test_what_a_server_refuses_for_its_own_sake_stops_no_other(monkeypatch, code):
    study = bare_study(200)
    wrong = GatewayError(code, "The text is longer than the model's window.")
    models = scripted(
        monkeypatch, lambda n, r: Failed(r.id, wrong) if n <= 60 or n % 10 == 0 else texts(r)
    )
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.failed, job.done) == ("failed", 94, 306)
    assert models.asked == 400
    assert job.problem == wrong.message


@pytest.mark.sampled(1)
@pytest.mark.parametrize("code", ["busy", "too_few"])
def test_what_may_be_the_servers_fault_stops_the_job_after_so_many_in_a_row(monkeypatch, code):
    study = bare_study(500)
    request_fault = GatewayError("refused", "Too long.")
    failing = GatewayError(code, "Not this time.", is_retryable=code == "busy")
    models = scripted(monkeypatch, lambda n, r: Failed(r.id, request_fault if n % 2 else failing))
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.failed, job.problem) == ("failed", 50, failing.message)
    assert models.asked == 50


@pytest.mark.sampled(1)
@pytest.mark.parametrize("code", ["refused_key", "other_model", "engine_failed", "bad_settings"])
def test_what_all_others_would_get_stops_the_job_at_once_and_is_what_is_said(monkeypatch, code):
    study = bare_study(500)
    last, request_fault = GatewayError(code, "Never."), GatewayError("refused", "Too long.")
    models = scripted(monkeypatch, lambda n, r: Failed(r.id, last if n == 1 else request_fault))
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.problem, models.asked) == ("failed", last.message, 50)


def test_a_text_that_cannot_be_sent_fails_alone():
    study = bare_study(30)
    empty = study.dataset.instances.filter(key__in=["note-3", "note-29"])
    empty.update(source="")
    job = queued(study, samples=2)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.failed, job.done) == ("failed", 4, 2 * 2 * 28)
    assert re.search(r"system-1\b.*note-29\b.*prompt", job.problem)
    assert not Generation.objects.filter(instance__in=empty).exists()


@pytest.mark.parametrize(
    "decoding", [{"temperature": 0}, {"temperature": "hot"}, {"max_tokens": 0}, {"stop": 5}]
)
def test_settings_that_are_wrong_stop_the_job_before_anything_is_asked(monkeypatch, decoding):
    study = bare_study(3)
    System.objects.update(decoding=decoding)
    models = scripted(monkeypatch, lambda n, request: texts(request))
    job = queued(study, samples=2)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.failed, models.asked) == ("failed", 0, 0)
    assert re.search(r"system-0\b.*note-0\b", job.problem)


def test_what_is_done_is_what_is_there_though_others_imported_meanwhile(monkeypatch):
    study = bare_study(30)

    instance, second = study.dataset.instances.first(), study.ordered_systems()[1]

    def importing(n, request):
        if n == 1:  # before the second system is sampled, so that this text is not requested
            Generation.objects.create(
                instance=instance, system=second, sample_index=0, text="Imported.", is_dummy=True
            )
        return texts(request)

    scripted(monkeypatch, importing)
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, Generation.objects.count()) == ("done", 60, 60)
    assert Generation.objects.filter(text="Imported.").count() == 1


def test_an_unknown_server_is_refused_with_those_there_are():
    job = queued(bare_study(), server="elsewhere")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == "failed"
    assert "'elsewhere'" in job.problem
    assert "TIEBREAK_MODEL_SERVERS" in job.problem


def test_nothing_in_a_prompt_is_executed():
    study = bare_study(1)
    instance, system = study.dataset.instances.get(), study.systems.first()
    instance.source = "{{7*7}} {reference} {0.__class__} {% load x %}"
    system.prompt_template = "Summarise: {source} {unknown} {0}"
    filled = prompt_for(instance, template_of(system, ""))
    assert filled.startswith("Summarise: {{7*7}}")
    assert filled.endswith("{unknown} {0}")
    assert "{0.__class__}" in filled


def test_a_conversation_is_sent_as_turns():
    study = bare_study(1)
    instance, system = study.dataset.instances.get(), study.systems.first()
    instance.messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
    ]
    assert [(m.role, m.content) for m in prompt_for(instance, template_of(system, ""))] == [
        ("user", "Hi"),
        ("assistant", "Yes?"),
    ]
    system.prompt_template = "Be brief."
    assert prompt_for(instance, template_of(system, ""))[0].role == "system"


def test_each_system_is_asked_of_its_own_server(settings, monkeypatch):
    settings.TIEBREAK_MODEL_SERVERS = {
        "one": {
            "provider": "http",
            "base_url": "http://one:8000/v1",
            "allowed_hosts": ("one:8000",),
        },
        "here": {"provider": "vllm", "model": "/weights/llama", "options": {"seed": 1}},
    }
    opened = []
    monkeypatch.setattr(
        model_servers,
        "open_models",
        lambda spec: opened.append(spec) or Scripted(lambda n, request: texts(request)),
    )
    study = bare_study(2)
    first, second = study.systems.order_by("pk")
    System.objects.filter(pk=first.pk).update(language_model="mistral-7b")
    System.objects.filter(pk=second.pk).update(server="here")
    run_job(job_id=queued(study, samples=1, server="one").pk)
    assert [(s.provider, s.model, s.base_url) for s in opened] == [
        ("http", "mistral-7b", "http://one:8000/v1"),
        ("vllm", "/weights/llama", ""),
    ]
    assert opened[1].options == {"seed": 1}
    assert Generation.objects.count() == 4


def made_with(settings, monkeypatch, decoding, template="", **options) -> list[dict[str, object]]:
    """Sample with a server that has a key and a private address. Return the stored parameters."""
    settings.TIEBREAK_MODEL_SERVERS = {
        "gpu1": {"provider": "http", "base_url": "http://10.0.0.5:1/v1", "api_key": "sesame"}
    }
    monkeypatch.setattr(
        model_servers, "open_models", lambda spec: Scripted(lambda n, request: texts(request))
    )
    study = bare_study(1)
    System.objects.update(language_model="m", decoding=decoding, prompt_template=template)
    run_job(job_id=queued(study, samples=2, server="gpu1", **options).pk)
    return [row.params for row in Generation.objects.all()]


def test_what_made_a_text_is_stored_with_it_after_defaults(settings, monkeypatch):
    made = made_with(settings, monkeypatch, {})
    wanted = {
        "model": "scripted",
        "server": "gpu1",
        "prompt": "{source}",
        "temperature": samples.TEMPERATURE,
        "top_p": 1.0,
        "max_tokens": samples.MAX_TOKENS,
        "stop": [],
        "finish_reason": "stop",
    }
    assert made == [wanted] * 4
    assert not any(secret in str(made) for secret in ("sesame", "10.0.0.5"))


def test_what_made_a_text_is_what_was_really_asked_for(settings, monkeypatch):
    decoding = {"temperature": "0.9", "max_tokens": 7, "top_p": 0.5, "stop": ["\n"]}
    made = made_with(settings, monkeypatch, decoding, prompt="Sum up {source}")
    assert {(m["temperature"], m["max_tokens"], m["top_p"], *m["stop"]) for m in made} == {
        (0.9, 7, 0.5, "\n")
    }
    assert {m["prompt"] for m in made} == {"Sum up {source}"}


def test_the_prompt_that_is_stored_is_the_systems_own_where_it_has_one(settings, monkeypatch):
    made = made_with(settings, monkeypatch, {}, "Shorten {source}", prompt="Sum up {source}")
    assert {m["prompt"] for m in made} == {"Shorten {source}"}


def test_what_made_a_text_leaves_with_it_and_comes_back(settings, monkeypatch, tmp_path):
    made = made_with(settings, monkeypatch, {"temperature": 0.0})
    export_study(study=Study.objects.get(), out=tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out/generations.jsonl").open()]
    assert [row["params"] for row in rows] == made
    copy = import_study(path=tmp_path / "out").study
    texts = Generation.objects.filter(instance__dataset=copy.dataset)
    assert [row.params for row in texts] == made
    assert all(row.seed is not None for row in texts)


def test_a_missing_model_name_is_reported(settings):
    settings.TIEBREAK_MODEL_SERVERS = {"one": {"provider": "http", "base_url": "http://one:1/v1"}}
    job = queued(bare_study(1), server="one")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert "system-0" in job.problem


def test_vllm_that_is_not_installed_says_what_to_install(settings):
    if find_spec("vllm"):
        pytest.skip("vLLM is installed here.")
    settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "vllm", "model": "/weights/llama"}}
    job = queued(bare_study(1), server="here")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done) == ("failed", 0)
    assert "tiebreak[gpu]" in job.problem


def test_the_seed_of_a_sample_does_not_depend_on_which_others_are_there(monkeypatch, settings):
    settings.TIEBREAK_MODEL_SERVERS = {"gpu1": {"provider": "http", "base_url": "http://one:1/v1"}}
    study = bare_study(1)
    System.objects.update(language_model="m")
    system = study.ordered_systems()[0]
    instance = study.dataset.instances.get()
    Generation.objects.create(
        instance=instance, system=system, sample_index=1, text="before", params={"server": "gpu1"}
    )
    scripted(monkeypatch, lambda n, request: texts(request))
    job = queued(study, samples=4, server="gpu1")
    run_job(job_id=job.pk)
    base = seed_for(0, instance.key, system.name)
    rows = Generation.objects.filter(system=system).exclude(text="before")
    assert {row.sample_index: row.seed - base for row in rows} == {0: 0, 2: 2, 3: 3}
