"""A study of scores: its machine raters' scores stand beside another study's comparisons."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Rating
from annotation.selectors import is_a_first
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from machine_raters.uploads.ratings import store_machine_ratings
from metrics.planning.scores_study import scored_by, scoring_studies_for, use_scores
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report, watermark
from studies.models import Criterion, Membership, Study, StudyEvent, StudySystem, Unit
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.metrics.results.test_filters import text_of
from tests.pages import send
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation, make_study, open_knowingly
from tiebreak.formats import RatingTable
from tiebreak.formats.errors import Problems
from tiebreak.report.sections.machines.scoring import NOBODY

pytestmark = pytest.mark.django_db
SECTION = "scoring_against_pairwise"
GOOD = "system-0"


def add_machine(study: Study, criterion: str, answer) -> None:
    """Store a machine rater's answer to each unit."""
    rows = [
        {"unit": u.key, "rater": "judge", "kind": "machine", "criterion": criterion}
        | {"label": answer(u)}
        for u in Unit.objects.filter(study=study).select_related("text_a__system")
    ]
    store_machine_ratings(study, RatingTable.from_rows(rows), Problems())


@pytest.fixture
def study() -> Study:
    """Return a study with preferences of an annotator, and a judge that prefers the second system."""
    study = make_open_study(instances=4, ratings_per_hit=1)
    participation = make_participation(study, "ann")
    for _ in range(4):
        assignment = take_place(participation=participation)
        for number, hit_unit in enumerate(hit_units_of(assignment)):
            # What is shown left is drawn, so what is clicked depends on it.
            side = 1 if is_a_first(assignment, hit_unit) else -1
            label = side if number == 0 else -side if number < 3 else 0
            shown = Answer(str(label), f"{assignment.pk}-{number}")
            answers = dict.fromkeys(study.criteria.all(), shown)
            submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers)
    add_machine(study, "preference", lambda unit: "1")
    return study


def scoring(study: Study, *, rated: bool = True) -> Study:
    """Return a study of the same texts, in which the same judge scored the first system higher."""
    scores = Study.objects.create(
        title="How good?", dataset=study.dataset, unit_kind="generation", guidelines="Score."
    )
    for one in study.study_systems.all():
        StudySystem.objects.create(study=scores, system=one.system, position=one.position)
    Criterion.objects.create(study=scores, name="quality", question="?", scale="ordinal:1..5")
    plan_hits(study=scores)
    open_knowingly(scores)
    if rated:
        add_machine(scores, "quality", lambda unit: "5" if unit.text_a.system.name == GOOD else "2")
    return scores


def section_of(study: Study) -> dict:
    refresh_report(study=study)
    content = refresh_section(study=Study.objects.get(pk=study.pk), name=SECTION).content
    return content["preference"]["part"]


def test_scores_of_another_study_stand_beside_comparisons(admin_client, study):
    scores = scoring(study)
    assert section_of(study)["reason"] == NOBODY
    address = reverse("metrics:scores", args=[study.pk])
    assert "No study of scores has been chosen" in text_of(admin_client.get(address))
    state = watermark(study)
    page = send(admin_client, address, {"scores": scores.pk}, follow=True)
    assert "“How good?”, by judge" in text_of(page)
    assert watermark(study) != state
    (one,) = section_of(study)["comparisons"].values()
    assert (one["pairs"], one["score_answers"]) == (20, 40)
    people = Rating.objects.filter(unit__study=study, rater__kind="human")
    share_of = {side: people.filter(label=side).count() / 20 for side in ("-1", "1")}
    agreement = one["agreement"]["as an answer"]
    assert share_of == {"-1": 0.4, "1": 0.2}
    assert agreement["scores"]["value"] == pytest.approx(share_of["-1"])
    assert agreement["comparisons"]["value"] == pytest.approx(share_of["1"])
    event = StudyEvent.objects.filter(study=study).first()
    assert (event.verb, event.details) == (
        "use-scores",
        {"scores": "How good?", "machine_raters": 1},
    )
    send(admin_client, address, {"scores": ""})
    assert section_of(study)["reason"] == NOBODY


def test_what_has_no_scores_of_these_texts_is_refused(study):
    with refused("no_scores"):
        use_scores(study=study, scores=scoring(study, rated=False))
    with refused("other_texts"):
        use_scores(study=study, scores=make_study(unit_kind="generation"))
    with refused("other_texts"):
        use_scores(study=study, scores=Study.objects.create(title="Pairs", dataset=study.dataset))
    study.refresh_from_db()
    assert study.scores_from is None


def test_people_rated_nothing_that_counts_as_a_score(study):
    assert scored_by(study) == ["judge"]  # and not the annotator


def test_the_page_says_why_no_study_can_be_chosen(admin_client, study):
    address = reverse("metrics:scores", args=[study.pk])
    assert "data-no-choice" in admin_client.get(address).content.decode()
    scoring(study)
    page = admin_client.get(address).content.decode()
    assert "data-no-choice" not in page
    assert 'name="scores"' in page


def test_only_studies_that_one_may_read_are_offered(admin_user, django_user_model, study):
    scores = scoring(study)
    make_study(unit_kind="generation")  # of other texts
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    Membership.objects.create(study=study, user=reader)
    assert list(scoring_studies_for(admin_user, study)) == [scores]
    assert not scoring_studies_for(reader, study).exists()


def test_the_command_takes_scores_of_a_study(study, tmp_path):
    out = tmp_path / "report.json"
    options = ["--section", SECTION, "--replicates", "0", "--out", str(out)]
    call_command("analyze", study.pk, "--scores", scoring(study).pk, *options)
    assert "judge (quality) vs judge" in out.read_text()


def test_the_section_links_to_the_choice(admin_client, study):
    refresh_report(study=study)
    refresh_section(study=study, name=SECTION)
    section = reverse("metrics:section", args=[study.pk, "preference", SECTION])
    page = admin_client.get(section, headers={"HX-Request": "true"}).content.decode()
    assert reverse("metrics:scores", args=[study.pk]) in page
