"""Variants of systems at other temperatures, to see whether separability depends on them."""

import pytest

from annotation.exports.study_export import export_study
from jobs.models import Job
from jobs.worker import run_job
from studies.instance_selection.robustness import similarity_of_parts, variants
from studies.instance_selection.temperatures import pairs_at_temperatures, some_instances
from studies.model_servers import FAKE
from studies.models import Generation, Instance, SeparabilityScore, Study, System
from studies.services import use_dataset_systems
from tests.studies.factories import make_study
from tiebreak.similarity import LEXICAL, SIMILARITIES

pytestmark = pytest.mark.django_db


def run(study: Study, kind: str, **options) -> Job:
    if kind == "sampling":
        options = {"server": FAKE} | options
    job = Job.objects.create(owner=study.pk, kind=kind, options=options)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.problem) == ("done", "")
    return job


def sampled(study: Study, *temperatures: float, n: int = 6) -> Job:
    return run(study, "sampling", temperatures=list(temperatures), instances=n, samples=3, seed=1)


@pytest.fixture
def study() -> Study:
    study = make_study(instances=12)
    Generation.objects.all().delete()
    Instance.objects.update(source="A greenhouse burnt down. Nobody was in it. The plants died.")
    run(study, "sampling", samples=3)
    return study


def test_it_works(study):
    job = sampled(study, 0.3, 1.5)
    assert (job.done, job.total) == (72, 72)  # 2 systems × 2 temperatures × 6 × 3 samples
    names = set(System.objects.exclude(variant_of=None).values_list("name", flat=True))
    assert names == {f"system-{n} @ τ={t}" for n in (0, 1) for t in (0.3, 1.5)}
    warm = Generation.objects.filter(system__name="system-0 @ τ=1.5")
    assert {row.params["temperature"] for row in warm} == {1.5}
    assert set(warm.values_list("instance", flat=True)) == set(
        some_instances(study.dataset, 6, seed=1)
    )
    run(study, "scoring", similarity="rouge1")
    assert SeparabilityScore.objects.count() == 12 + 2 * 6
    (pair,) = study.system_pairs()
    by_name = {
        variant.name: variant for variant in variants(study, pair) if variant.name.startswith("τ")
    }
    assert {name: variant.n for name, variant in by_name.items()} == {"τ = 0.3": 6, "τ = 1.5": 6}
    assert all(variant.difference > 0 and -1 <= variant.rho <= 1 for variant in by_name.values())
    # The lower the temperature, the more similar are the generations of a system.
    assert by_name["τ = 0.3"].mean > by_name["τ = 1.5"].mean


def test_asked_again_nothing_is_made_again(study):
    sampled(study, 0.3)
    before = list(Generation.objects.values_list("pk", "text"))
    sampled(study, 0.3)
    assert list(Generation.objects.values_list("pk", "text")) == before


def test_a_variant_is_not_compared(study):
    systems = list(study.systems.all())
    sampled(study, 0.3)
    study.study_systems.all().delete()
    use_dataset_systems(study=study)
    assert list(study.systems.all()) == systems
    assert len(pairs_at_temperatures(study)) == 1


def test_a_variant_is_in_no_export(study, tmp_path):
    sampled(study, 0.3)
    export_study(study=study, out=tmp_path / "bundle")
    assert "τ=" not in (tmp_path / "bundle" / "generations.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SIMILARITIES)
def test_parts_are_scored_by_the_studys_similarity_if_it_needs_no_model(name):
    assert similarity_of_parts(Study(similarity=name)) == (name if name in LEXICAL else "rouge1")
