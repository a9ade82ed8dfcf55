"""Long jobs that are paused, killed and resumed, and never do the same work twice."""

from datetime import timedelta
from time import sleep

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from jobs.kinds import Progress, kind_named
from jobs.models import Job, JobChunk
from jobs.services import (
    LEASE,
    STOPPED,
    pace_of,
    pause_job,
    requeue_stale_jobs,
    resume_job,
    stop_job,
)
from jobs.tasks import work_task
from jobs.worker import UNFORESEEN, run_job
from studies.data.dataset_jobs import jobs_of, start_dataset_job
from studies.instance_selection.sampling import SamplingJob
from studies.model_servers import FAKE
from studies.models import Generation, SeparabilityScore, Study
from studies.models.study import StudySystem
from tests.jobs.scripted import bare_study, queued, scripted, texts
from tests.refusals import refused
from tests.studies.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


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
