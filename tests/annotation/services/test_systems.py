"""A system is removed from a draft while nobody else compares it and nothing was rated."""

import pytest

from annotation.services.planning import plan_hits
from annotation.services.systems import remove_system
from jobs.models import Job
from studies.instance_selection.scoring import score_separability
from studies.models import Generation, SeparabilityScore, Study, StudySystem, System, Unit
from studies.services import copy_design
from tests.annotation.annotators import annotator
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_a_system_is_removed_with_its_texts_scores_copies_and_plan():
    study = make_study(instances=3, systems=3)
    score_separability(study=study)
    kept, gone = study.ordered_systems()[0], study.ordered_systems()[2]
    shown = {"dataset": study.dataset, "name": "worse", "perturbed_from": gone}
    StudySystem.objects.create(study=study, system=System.objects.create(**shown), position=9)
    plan_hits(study=study)
    remove_system(study=study, name=gone.name)
    assert [system.name for system in study.dataset.systems.all()] == ["system-0", "system-1"]
    assert Generation.objects.count() == 30
    assert SeparabilityScore.objects.count() == 3
    assert not Unit.objects.exists()
    assert kept.generations.count() == 15


def test_a_plan_without_the_system_stays():
    study = make_study(instances=2)
    plan_hits(study=study)
    System.objects.create(dataset=study.dataset, name="idle")
    remove_system(study=study, name="idle")
    assert Unit.objects.exists()


def test_a_system_stays_where_something_depends_on_it():
    opened = make_open_study(instances=2)
    with refused("not_a_draft"):
        remove_system(study=opened, name="system-0")
    draft = copy_design(study=opened)
    with refused("in_another_study"):
        remove_system(study=draft, name="system-0")
    annotator(rated := make_open_study(instances=2)).choose()
    Study.objects.filter(pk=rated.pk).update(status=Study.Status.DRAFT)
    with refused("rated"):
        remove_system(study=rated, name="system-0")
    study = make_study(instances=2)
    with refused("unknown_system"):
        remove_system(study=study, name="system-7")
    Job.objects.create(owner=study.pk, kind="scoring", status="queued")
    with refused("dataset_busy"):
        remove_system(study=study, name="system-0")
    assert System.objects.filter(name="system-0").count() == 3
