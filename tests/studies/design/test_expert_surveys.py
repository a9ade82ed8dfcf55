"""A survey of experts, made from a scoring study: what it has, when it is refused, and only once."""

import pytest

from annotation.services.planning import plan_hits
from studies.data.perturbed_copies import add_perturbed_copies
from studies.design.expert_surveys import make_expert_survey
from studies.models import Criterion, Generation, Instance, Membership, Study, StudyEvent, System
from tests.refusals import refused
from tests.studies.data.test_perturbed_copies import ENDING, TYPOS, scoring_study
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db
FLUENCY = "Is the *text* fluent?"


@pytest.fixture
def ruth(django_user_model):
    return django_user_model.objects.create_user("ruth", is_staff=True)


def with_criteria(*names: str, copies=(TYPOS, ENDING), **options) -> Study:
    """Return a scoring study with these criteria and with perturbed copies."""
    study = scoring_study(**options)
    study.criteria.all().delete()
    for position, name in enumerate(names):
        Criterion.objects.create(
            study=study, name=name, question=FLUENCY, scale="ordinal:1..5", position=position
        )
    if copies:
        add_perturbed_copies(study=study, names=copies)
    return study


def test_the_survey_asks_about_one_example_of_each_perturbation(ruth):
    study = with_criteria("fluency", "relevance", generation_format="markdown")
    made = make_expert_survey(study=study, owner=ruth)
    survey = Study.objects.get(pk=made.survey.pk)
    assert made.is_new
    assert (survey.status, survey.unit_kind, survey.survey_for) == ("draft", "generation", study)
    assert survey.source_format == survey.generation_format == "markdown"
    assert list(survey.memberships.values_list("user", "role")) == [(ruth.pk, "owner")]
    assert survey.dataset.created_by == ruth
    assert survey.criteria.get().parsed_scale.labels == ("fluency", "relevance", "none")
    assert "**fluency**: Is the \\*text\\* fluent?" in survey.guidelines
    assert {system.name for system in survey.ordered_systems()} == {TYPOS, ENDING}
    for example in Generation.objects.filter(instance__dataset=survey.dataset):
        about = example.params["perturbation"]
        assert about["name"] == example.system.name == example.instance.key
        copies = study.systems.get(perturbation=about["name"]).generations
        instance = Instance.objects.get(
            dataset=study.dataset, key=example.instance.metadata["instance"]
        )
        assert copies.filter(text=example.text, instance=instance).exists()
        originals = study.systems.get(perturbed_from=None).generations
        assert originals.filter(text=example.instance.source, instance=instance).exists()
    plan = plan_hits(study=survey)
    assert (plan.units, plan.hits, plan.places) == (2, 1, 10)


def test_a_study_has_one_survey_and_both_logs_say_so(ruth):
    study = with_criteria("fluency", "relevance")
    survey = make_expert_survey(study=study, owner=ruth).survey
    again = make_expert_survey(study=study, owner=ruth)
    assert (again.survey, again.is_new) == (survey, False)
    assert Study.objects.filter(survey_for=study).count() == 1
    events = StudyEvent.objects.filter(verb="expert-survey")
    assert {event.study_id for event in events} == {study.pk, survey.pk}
    assert {event.by for event in events} == {ruth}
    assert events[0].details["perturbations"] == sorted((TYPOS, ENDING))


def test_a_survey_of_people_who_did_not_invite_is_not_shown(ruth, django_user_model):
    study = with_criteria("fluency", "relevance")
    survey = make_expert_survey(study=study, owner=ruth).survey
    other = django_user_model.objects.create_user("other", is_staff=True)
    Membership.objects.create(study=study, user=other)
    with refused("survey_of_others"):
        make_expert_survey(study=study, owner=other)
    Membership.objects.create(study=survey, user=other, role="viewer")
    with refused("survey_of_others"):
        make_expert_survey(study=study, owner=other)
    survey.memberships.filter(user=other).update(role="analyst")
    assert make_expert_survey(study=study, owner=other).survey == survey


def test_a_new_survey_is_made_once_the_draft_was_deleted(ruth):
    study = with_criteria("fluency", "relevance")
    make_expert_survey(study=study, owner=ruth).survey.delete()
    assert make_expert_survey(study=study, owner=ruth).is_new


@pytest.mark.parametrize(
    "names",
    [("a,b", "c"), ("a\nb", "c"), ("None", "fluency"), ("x" * 200, "y" * 200, "z" * 100)],
    ids=["comma", "lines", "none", "long"],
)
def test_names_that_cannot_be_choices_are_refused(ruth, names):
    with refused("names_are_no_labels"):
        make_expert_survey(study=with_criteria(*names), owner=ruth)
    assert Study.objects.count() == 1


def test_studies_that_cannot_have_a_survey_are_refused(ruth):
    with refused("not_a_scoring_study"):
        make_expert_survey(study=make_study(), owner=ruth)
    with refused("too_few_criteria"):
        make_expert_survey(study=with_criteria("fluency"), owner=ruth)
    with refused("no_perturbed_copies"):
        make_expert_survey(study=with_criteria("fluency", "relevance", copies=()), owner=ruth)
    without = with_criteria("fluency", "relevance")
    Generation.objects.filter(system__in=without.systems.filter(perturbed_from=None)).delete()
    with refused("no_perturbed_copies"):
        make_expert_survey(study=without, owner=ruth)
    assert not Study.objects.exclude(survey_for=None).exists()


def test_invented_texts_and_copies_without_a_difference_are_no_examples(ruth):
    study = with_criteria("fluency", "relevance")
    ending = System.objects.get(perturbation=ENDING).generations
    ending.update(is_dummy=True)
    first = System.objects.get(perturbation=TYPOS).generations.order_by("instance", "pk").first()
    original = first.instance.generations.get(
        system__perturbed_from=None, sample_index=first.sample_index
    )
    Generation.objects.filter(pk=first.pk).update(text=original.text)
    survey = make_expert_survey(study=study, owner=ruth).survey
    assert [system.name for system in survey.ordered_systems()] == [TYPOS]
    example = Generation.objects.get(instance__dataset=survey.dataset)
    assert example.text != example.instance.source
