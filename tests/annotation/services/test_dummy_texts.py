"""Dummy texts: requested by name, marked, kept apart from real ones, and removed completely."""

import json

import pytest

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import HITUnit
from annotation.services.dummy_texts import dummy_texts, remove_dummy_generations
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from jobs.models import Job
from jobs.worker import run_job
from studies.instance_selection.drawing import draw_instances
from studies.instance_selection.sampling import start_sampling
from studies.instance_selection.scoring import score_separability
from studies.model_servers import FAKE
from studies.models import (
    Generation,
    Instance,
    InstanceSelection,
    SeparabilityScore,
    Study,
    System,
    Unit,
)
from tests.refusals import refused
from tests.studies.factories import make_study, open_knowingly
from tiebreak.formats import FormatError

pytestmark = pytest.mark.django_db
PROSE = "A greenhouse burnt down on Monday. Nobody was in it then. All of the plants died at once."


@pytest.fixture
def study() -> Study:
    """Return a study with dummy texts only."""
    study = make_study(instances=4, samples=3)
    Generation.objects.all().delete()
    Instance.objects.update(source=PROSE)
    start_sampling(study=study, options={"server": FAKE, "samples": 3})
    return study


def test_every_invented_text_is_marked(study):
    assert Generation.objects.count() == 24
    assert not Generation.objects.filter(is_dummy=False).exists()


def test_without_a_server_nothing_is_sampled():
    study = make_study(instances=1)
    Generation.objects.all().delete()
    for options in ({}, {"server": ""}):
        with refused("no_server"):
            start_sampling(study=study, options=options)
    # A job that was queued without a server does not run either.
    job = Job.objects.create(owner=study.pk, kind="sampling", options={})
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == "failed"
    assert not Generation.objects.exists()


def test_dummy_texts_asked_for_are_dummy_texts_for_systems_with_a_server_of_their_own(settings):
    settings.TIEBREAK_MODEL_SERVERS = {"gpu1": {"provider": "http", "base_url": "http://g:1/v1"}}
    study = make_study(instances=1)
    Generation.objects.all().delete()
    System.objects.update(server="gpu1")
    start_sampling(study=study, options={"server": FAKE, "samples": 2})
    assert set(Generation.objects.values_list("is_dummy", "params__server")) == {(True, FAKE)}


def test_no_text_is_generated_for_a_study_that_somebody_opened_meanwhile():
    study = make_study(instances=1)
    Study.objects.update(status=Study.Status.OPEN)
    with refused("not_a_draft"):
        start_sampling(study=study, options={"server": FAKE, "samples": 2})
    assert not Job.objects.exists()


@pytest.mark.parametrize("options", [{}, {"temperatures": [0.3], "instances": 3}])
def test_dummy_and_real_texts_of_a_system_never_mix(study, options):
    real, dummy = {"server": "gpu1", **options}, {"server": FAKE, **options}
    with refused("real_into_dummy"):
        start_sampling(study=study, options=real)
    Generation.objects.update(is_dummy=False)
    with refused("dummy_into_real"):
        start_sampling(study=study, options=dummy)
    # A job that was queued before there were real texts is refused, too.
    job = Job.objects.create(owner=study.pk, kind="sampling", options=dummy)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done) == ("failed", 0)
    assert Generation.objects.count() == 24


def test_dummy_texts_leave_with_their_mark_and_come_back_with_it(study, tmp_path):
    Generation.objects.filter(system__name="system-1").update(is_dummy=False)
    export_study(study=study, out=tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out/generations.jsonl").open()]
    assert {row["system"] for row in rows if row.get("is_dummy") is True} == {"system-0"}
    assert all("is_dummy" not in row for row in rows if row["system"] == "system-1")
    copy = import_study(path=tmp_path / "out").study
    texts = Generation.objects.filter(instance__dataset=copy.dataset)
    assert set(texts.values_list("system__name", "is_dummy")) == {
        ("system-0", True),
        ("system-1", False),
    }


@pytest.mark.parametrize("value", ["true", 1, None, [True]])
def test_a_mark_that_is_no_truth_value_is_refused(study, tmp_path, value):
    export_study(study=study, out=tmp_path / "out")
    path = tmp_path / "out/generations.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"is_dummy": value}), *others]))
    with pytest.raises(FormatError) as refusal:
        import_study(path=tmp_path / "out")
    assert "is_dummy" in str(refusal.value)


def test_a_bundle_that_mixes_dummy_and_real_texts_of_a_system_is_refused(study, tmp_path):
    Generation.objects.filter(pk=Generation.objects.first().pk).update(is_dummy=False)
    export_study(study=study, out=tmp_path / "out")
    with pytest.raises(FormatError) as refusal:
        import_study(path=tmp_path / "out")
    assert "system-0" in str(refusal.value)


def test_removing_dummy_texts_takes_all_that_was_made_of_them(study):
    Generation.objects.all().delete()
    for temperatures in ([], [0.3]):
        options = {"server": FAKE, "samples": 3, "temperatures": temperatures, "instances": 3}
        start_sampling(study=study, options=options)
    score_separability(study=study)
    draw_instances(study=study, design=InstanceSelection(study=study, design="top", instances=2))
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.TRAINING, n=1)
    dummies = dummy_texts(study.dataset)
    assert (dummies.draws, dummies.plans, dummies.scores) == (
        1,
        1,
        SeparabilityScore.objects.count(),
    )
    assert remove_dummy_generations(dataset=study.dataset, confirmed=dummies.texts) == dummies
    for gone in (Generation, SeparabilityScore, InstanceSelection, Unit, HITUnit):
        assert not gone.objects.exists(), gone
    assert study.selected.count() == study.hits.count() == 0
    assert not System.objects.exclude(variant_of=None).exists()
    assert System.objects.competing().count() == 2
    # Real texts can be sampled now. The job fails only because the server does not exist.
    job = start_sampling(study=study, options={"server": "gpu1"})
    job.refresh_from_db()
    assert "'gpu1'" in job.problem


def test_removing_dummy_texts_leaves_real_ones_and_what_was_made_of_them(study):
    Generation.objects.filter(system__name="system-1").update(is_dummy=False)
    other = make_study(instances=2)
    score_separability(study=other)
    plan_hits(study=other)
    remove_dummy_generations(dataset=study.dataset, confirmed=12)
    assert set(
        Generation.objects.filter(instance__dataset=study.dataset).values_list("system__name")
    ) == {("system-1",)}
    assert SeparabilityScore.objects.count() == other.hits.count() == 2


def test_only_the_number_that_was_confirmed_is_removed(study):
    with refused("dummies_changed"):
        remove_dummy_generations(dataset=study.dataset, confirmed=23)
    Job.objects.create(owner=study.pk, kind="sampling")
    with refused("job_unfinished"):
        remove_dummy_generations(dataset=study.dataset, confirmed=24)
    assert Generation.objects.count() == 24


def test_what_people_were_shown_is_not_removed(study):
    Generation.objects.update(is_dummy=False)
    plan_hits(study=study)
    open_knowingly(study)
    Generation.objects.update(is_dummy=True)
    with refused("dummies_in_use"):
        remove_dummy_generations(dataset=study.dataset, confirmed=24)
    assert Generation.objects.count() == 24
    assert study.hits.exists()
