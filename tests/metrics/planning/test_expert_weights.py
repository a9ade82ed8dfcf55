"""Experts' weights: the votes of a survey weigh the criteria of discernment scores."""

import json

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.models import Rating
from annotation.services.planning import plan_hits
from metrics.planning.expert_weights import surveys_for, use_expert_weights, weights_of
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report
from studies.data.perturbed_copies import add_perturbed_copies
from studies.design.expert_surveys import make_expert_survey
from studies.models import Criterion, Membership, Study, StudyEvent, System
from tests.annotation.annotators import annotator
from tests.pages import send
from tests.refusals import refused
from tests.studies.data.test_perturbed_copies import TYPOS, scoring_study
from tests.studies.factories import make_study, open_knowingly
from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.report.sections.machines.expert_weights import expert_weights

pytestmark = pytest.mark.django_db
# Reading the ratings of a survey takes seven of them, whatever their number.
STATEMENTS = 20


def vote(label, *, name=TYPOS, rater="r", **row):
    about = {"unit": f"u-{name}", "rater": rater, "label": label, "criterion": "damaged"}
    return about | {"system_a": name} | row


def test_weights_are_shares_of_peoples_counted_votes():
    table = RatingTable.from_rows(
        [
            *(vote("fluency", rater=f"r{n}") for n in range(3)),
            vote("none", rater="r3"),
            vote("relevance", rater="r4", excluded=True),
            vote("relevance", rater="judge", kind="machine"),
            vote("relevance", rater="r5", role="gold"),
            vote("relevance", rater="r6", role="training"),
            vote("relevance", name="x [perturbed]", perturbation="words/grammar/minor"),
        ]
    )
    assert expert_weights(table) == {
        TYPOS: {"fluency": 0.75, "none": 0.25},
        "words/grammar/minor": {"relevance": 1.0},
    }
    with refused("no_votes"):
        expert_weights(RatingTable.from_rows([vote("fluency", kind="machine")]))


def survey(name: str = TYPOS, **options) -> Study:
    """A survey in which one expert says for each of two copies that it damages fluency."""
    study = make_study(
        instances=2, systems=1, samples=1, scale="nominal:fluency,none", unit_kind="generation",
        ratings_per_hit=1, **options,
    )  # fmt: skip
    System.objects.filter(dataset=study.dataset).update(name=name)
    plan_hits(study=study)
    open_knowingly(study)
    person = annotator(study)
    for answer in range(2):
        person.choose(answer)
    return study


def with_copies(**options) -> Study:
    study = scoring_study(**options)
    Criterion.objects.filter(study=study).update(name="fluency")
    add_perturbed_copies(study=study, names=[TYPOS])
    return study


def test_only_surveys_that_can_weigh_the_criteria_are_offered(admin_user):
    study = with_copies()
    of_criteria, of_perturbations = survey("else"), survey()
    Criterion.objects.filter(study=of_perturbations).update(scale="nominal:x,y")
    rag = survey("rag-1")
    Criterion.objects.filter(study=rag).update(scale="nominal:yes,no")
    assert set(surveys_for(admin_user, study)) == {of_criteria, of_perturbations}
    study.weights_from = rag
    assert rag in surveys_for(admin_user, study)


def test_one_click_makes_votes_the_weights(admin_client, admin_user):
    study, votes = with_copies(ratings_per_hit=1, comparisons_per_hit=12), survey()
    address = reverse("metrics:expert-weights", args=[study.pk])
    assert "all criteria have equal weights" in admin_client.get(address).content.decode()
    page = send(admin_client, address, {"survey": votes.pk}, follow=True).content.decode()
    assert TYPOS in page
    assert "0.50" in page
    study.refresh_from_db()
    assert weights_of(study) == {TYPOS: {"fluency": 0.5, "none": 0.5}}
    event = StudyEvent.objects.filter(study=study).first()
    assert (event.verb, event.details["perturbations"]) == ("expert-weights", 1)
    plan_hits(study=study)
    open_knowingly(study)
    person = annotator(study)
    for answer in range(12):
        person.choose(answer % 5)
    refresh_report(study=study)
    content = refresh_section(study=Study.objects.get(pk=study.pk), name="discernment").content
    expert = content["fluency"]["part"]["expert_weighted"]["annotators"]["tests"][TYPOS]
    assert expert["weights"] == {"fluency": 1.0}
    send(admin_client, address, {"survey": ""})
    assert weights_of(Study.objects.get(pk=study.pk)) == {}


def test_a_survey_about_other_changes_or_without_votes_is_refused():
    study = with_copies()
    with refused("other_perturbations"):
        use_expert_weights(study=study, survey=survey("words/grammar/minor"))
    with refused("no_votes"):
        use_expert_weights(study=study, survey=make_study(scale="nominal:x,y"))
    study.refresh_from_db()
    assert study.weights_from is None


def test_votes_that_were_excluded_since_weigh_nothing():
    study, votes = with_copies(), survey()
    use_expert_weights(study=study, survey=votes)
    votes.units.first().ratings.model.objects.filter(unit__study=votes).update(excluded=True)
    study.refresh_from_db()
    assert weights_of(study) == {}


def test_only_surveys_whose_votes_one_may_read_are_offered(admin_user, django_user_model):
    study, votes = with_copies(), survey()
    other = django_user_model.objects.create_user("other", is_staff=True)
    assert list(surveys_for(admin_user, study)) == [votes]
    assert not surveys_for(other, study).exists()


def with_survey(owner) -> tuple[Study, Study]:
    """Return a scoring study of two criteria, and its survey with the votes of two experts."""
    study = with_copies(ratings_per_hit=1, comparisons_per_hit=12)
    Criterion.objects.create(
        study=study, name="relevance", question="?", scale="ordinal:1..5", position=1
    )
    survey = make_expert_survey(study=study, owner=owner).survey
    plan_hits(study=survey)
    open_knowingly(survey)
    for answer in range(2):
        annotator(survey).choose(answer)
    return study, survey


def test_a_survey_made_by_one_click_gives_weights_by_another(admin_client, client):
    study = with_copies(ratings_per_hit=1, comparisons_per_hit=12)
    Criterion.objects.create(study=study, name="relevance", question="?", scale="ordinal:1..5")
    address = reverse("metrics:expert-weights", args=[study.pk])
    assert "Make a survey for experts" in admin_client.get(address).content.decode()
    make = reverse("metrics:expert-survey", args=[study.pk])
    survey_page = admin_client.post(make, follow=True)
    survey = Study.objects.get(survey_for=study)
    assert survey_page.redirect_chain[-1][0] == reverse("studies:data", args=[survey.pk])
    assert address in survey_page.content.decode()
    assert admin_client.post(make).url == reverse("studies:data", args=[survey.pk])
    assert reverse("studies:data", args=[survey.pk]) in admin_client.get(address).content.decode()

    plan_hits(study=survey)
    open_knowingly(survey)
    for answer in (0, 0, 0, 1):
        annotator(survey).choose(answer)
    page = admin_client.get(address)
    votes = page.context["votes"]
    assert (votes.experts, votes.votes) == (4, 4)
    last = Rating.objects.filter(unit__study=survey).order_by("pk").last()
    Rating.objects.filter(pk=last.pk).update(excluded=True)
    fewer = admin_client.get(address).context["votes"]
    assert (fewer.experts, fewer.votes, fewer.weights) == (3, 3, {TYPOS: {"fluency": 1.0}})
    Rating.objects.filter(pk=last.pk).update(excluded=False)
    assert votes.weights == {TYPOS: {"fluency": 0.75, "relevance": 0.25}}
    assert not page.context["is_used"]
    send(admin_client, address, {"survey": survey.pk})
    assert admin_client.get(address).context["is_used"]

    plan_hits(study=study)
    open_knowingly(study)
    person = annotator(study)
    for answer in range(12):
        person.choose(answer % 5)
    refresh_report(study=study)
    content = refresh_section(study=Study.objects.get(pk=study.pk), name="discernment").content
    expert = content["fluency"]["part"]["expert_weighted"]["annotators"]["tests"][TYPOS]
    assert expert["weights"] == {"fluency": 0.75, "relevance": 0.25}


def test_the_page_with_a_survey_takes_few_statements(
    client, django_user_model, django_assert_max_num_queries
):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    study, survey = with_survey(ruth)
    Membership.objects.create(study=study, user=ruth)
    client.force_login(ruth)
    address = reverse("metrics:expert-weights", args=[study.pk])
    with django_assert_max_num_queries(STATEMENTS):
        client.get(address)
    use_expert_weights(study=study, survey=survey)
    with django_assert_max_num_queries(STATEMENTS):
        client.get(address)


def test_one_button_replaces_the_votes_in_use_by_those_of_the_study_s_survey(
    admin_client, admin_user
):
    study, made = with_survey(admin_user)
    use_expert_weights(study=study, survey=survey())
    address = reverse("metrics:expert-weights", args=[study.pk])
    page = fromstring(admin_client.get(address).content.decode())
    (form,) = (one for one in page.forms if dict(one.form_values()).get("survey") == made.pk)
    assert admin_client.post(address, dict(form.form_values())).status_code == 302
    study.refresh_from_db()
    assert study.weights_from == made


def test_what_a_survey_does_not_ask_about_is_named(admin_client, admin_user):
    study, _ = with_survey(admin_user)
    address = reverse("metrics:expert-weights", args=[study.pk])
    assert admin_client.get(address).context["changed"] == []
    Criterion.objects.filter(study=study, name="relevance").update(name="tone")
    System.objects.filter(studies=study, perturbation=TYPOS).update(perturbation="other")
    assert admin_client.get(address).context["changed"] == ["tone", "other"]


def test_only_editors_make_a_survey_and_only_its_members_see_it(client, django_user_model):
    ruth, other = (
        django_user_model.objects.create_user(name, is_staff=True) for name in ("ruth", "other")
    )
    study, survey = with_survey(ruth)
    Membership.objects.create(study=study, user=other, role="analyst")
    client.force_login(other)
    make = reverse("metrics:expert-survey", args=[study.pk])
    assert client.post(make).status_code == 403
    page = client.get(reverse("metrics:expert-weights", args=[study.pk]))
    assert page.context["has_hidden_survey"]
    assert survey.pk not in page.content.decode()
    assert "primary" not in page.content.decode().partition("made-heading")[2]
    Study.objects.filter(pk=survey.pk).update(survey_for=None)
    without = client.get(reverse("metrics:expert-weights", args=[study.pk])).content.decode()
    assert make not in without
    Study.objects.filter(pk=survey.pk).update(survey_for=study)
    client.force_login(ruth)
    data = client.get(reverse("studies:data", args=[survey.pk]))
    assert data.context["scoring_study"] is None
    assert reverse("studies:perturbed-copies", args=[survey.pk]) not in data.content.decode()
    study.memberships.update(role="editor")
    client.force_login(other)
    refusal = client.post(make, follow=True)
    assert [m.extra_tags for m in refusal.context["messages"]] == ["survey_of_others"]


def test_the_command_line_takes_the_survey_as_a_file(tmp_path):
    ratings = tmp_path / "ratings.jsonl"
    rows = [
        {"unit": f"{n}{name}", "rater": "r", "label": label, "criterion": "fluency",
         "instance": f"i{n}", "sample_a": 0, "system_a": f"gpt{name}", "perturbation": name,
         "original_system": name and "gpt"}
        for n, labels in enumerate([(5, 3), (4, 3), (5, 2), (3, 2), (5, 4)])
        for name, label in zip(("", TYPOS), labels, strict=True)
    ]  # fmt: skip
    ratings.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    votes = tmp_path / "votes.jsonl"
    votes.write_text(f"{json.dumps(vote('fluency'))}\n")
    out = tmp_path / "report.json"
    options = ["--section", "discernment", "--scale", "fluency=ordinal:1..5", "--out", str(out)]
    assert main(["analyze", str(ratings), *options, "--expert-weights", str(votes)]) == 0
    part = json.loads(out.read_text())["criteria"]["fluency"]["discernment"]
    assert part["expert_weighted"]["annotators"]["tests"][TYPOS]["p"]["value"] == 0.03125
