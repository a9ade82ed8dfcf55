"""Planning instances and ratings per instance, from a pilot or from assumptions."""

from decimal import Decimal

import lxml.html
import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.pilot_doubts import frames_for
from metrics.models import ReportSnapshot
from metrics.planning.planner import ACTIVE, STACKED, apply_design, saving_designs
from metrics.results.selectors import rating_table
from metrics.results.services import refresh_report
from studies.models import Membership, Study
from tests.annotation.pilots import by_doubt, draft_of, import_pilot
from tests.metrics.studies import preferences, report_of
from tests.pages import unexplained
from tests.refusals import refused
from tests.studies.factories import make_study
from tests.tiebreak.reading.test_while_open import A_WINS, B_WINS, answer, small_study
from tiebreak.report import build_report
from tiebreak.stats import VarianceComponents, design_grid

pytestmark = pytest.mark.django_db

ASSUMED = {"goal": "width", "width": "0.1", "power": "0.8"}
COMPONENTS = {"mean": "0.6", "instance": "0.05", "rater": "0", "rating": "0.15"}


@pytest.fixture
def ada():
    return User.objects.create_user("ada", is_staff=True)


@pytest.fixture
def study(ada):
    return make_study(
        member=ada, comparisons_per_hit=2, reward=Decimal(3), hits_per_annotator=5, samples=2
    )


@pytest.fixture
def planned(client, study):
    client.force_login(Membership.objects.get(study=study).user)

    def context(**query):
        address = reverse("metrics:planner", args=[study.pk])
        answer_ = client.get(address, query)
        assert answer_.status_code == 200
        assert unexplained(answer_) == []
        return answer_.context

    return context


def pilot_of(member: User) -> Study:
    pilot = small_study(instances=12, ratings_per_hit=2, member=member)
    for name, label in (("ann", A_WINS), ("bob", B_WINS), ("cid", A_WINS)):
        answer(pilot, name, label, hits=6)
    refresh_report(study=pilot)
    return pilot


def test_assumptions_give_the_curve_of_the_library(planned):
    options = planned(**ASSUMED, **COMPONENTS)["options"]
    expected = design_grid(
        VarianceComponents(0.6, 0.05, 0, 0, 0.15),
        target_width=0.1,
        units=[1, 2],
        ratings=(1, 2, 3, 4, 5, 6, 8, 10),
        units_per_rater=10,
    )
    equal = [o.design for o in options if not o.design.further_share]
    assert equal == list(expected)
    # Three pounds for five tasks of two comparisons each.
    assert options[0].cost == expected[0].total * Decimal("0.3")


def test_the_cheapest_design_has_two_ratings_of_a_share_at_least(planned):
    context = planned(**ASSUMED, **COMPONENTS)
    design, options = context["cheapest"].design, context["options"]
    assert (design.ratings, design.further_share) == (1, 0.15)
    assert [o.can_apply for o in options if o.design.ratings == 1] == [False, True] * 2
    assert design.total == min(o.design.total for o in options if o.can_apply)


def test_too_few_annotators_are_refused_for_others_and_planned_for_these(planned, study):
    Study.objects.filter(pk=study.pk).update(hits_per_annotator=500)
    asked = ASSUMED | COMPONENTS | {"width": "0.3"}
    others, these = planned(**asked), planned(**asked, speaks_of="these")
    few = {o.design.reason: o.design.code for o in others["options"] if o.design.ratings < 8}
    assert {few[others["refusal"]]} == {*few.values()} == {"too_few_raters"}
    assert all(o.design.raters <= max(7, o.design.ratings) for o in these["options"])


def test_the_page_works_before_anything_is_entered(planned, study):
    Study.objects.filter(pk=study.pk).update(target_width=0.3)
    assert planned()["form"].cleaned_data["width"] == 0.3


def test_a_target_that_makes_no_sense_is_refused(planned):
    context = planned(**ASSUMED | {"width": "2"}, **COMPONENTS)
    assert "options" not in context
    assert context["form"].errors.keys() == {"width"}


def test_a_pilot_of_the_same_researcher_gives_its_components(planned, ada):
    pilot = pilot_of(ada)
    components = planned(pilot=pilot.pk, **ASSUMED, **COMPONENTS)["components"]
    stored = pilot.report_snapshots.get().report["criteria"]["preference"]["planning"]
    (pair,) = stored.values()
    assert components.mean == pair["mean"]
    assert components.rating == pair["rating"]


def test_studies_of_others_are_no_pilots(planned):
    pilot = pilot_of(User.objects.create_user("eve", is_staff=True))
    assert planned(pilot=pilot.pk, **ASSUMED, **COMPONENTS)["form"].errors.keys() == {"pilot"}


def test_a_pilot_with_single_ratings_says_why_it_has_no_components(planned, ada):
    pilot = small_study(instances=12, member=ada)
    answer(pilot, "ann", A_WINS, hits=6)
    refresh_report(study=pilot)
    context = planned(pilot=pilot.pk, **ASSUMED, **COMPONENTS)
    assert "two" in context["problem"]
    assert "options" not in context


def test_a_button_writes_n_and_r_into_the_draft(client, study, planned):
    page = client.get(reverse("metrics:planner", args=[study.pk])).text
    assert "Use N = 1 and R = 4" in page
    address = reverse("metrics:apply-plan", args=[study.pk])
    (best,) = lxml.html.fromstring(page).xpath("//form[@data-cheapest]")
    cheapest = planned().get("cheapest").design
    client.post(address, dict(best.form_values()))
    study.refresh_from_db()
    written = (study.comparisons_per_hit, study.ratings_per_hit, study.further_share)
    assert written == (cheapest.units, cheapest.ratings, cheapest.further_share)
    client.post(address, {"units": "1", "ratings": "4"})
    study.refresh_from_db()
    assert (study.comparisons_per_hit, study.ratings_per_hit) == (1, 4)
    client.post(address, {"units": "2", "ratings": "1", "mixed": "1"})
    study.refresh_from_db()
    assert (study.ratings_per_hit, study.further_share, study.further_ratings) == (1, 0.15, 1)
    client.post(address, {"units": "2", "ratings": "3"})
    study.refresh_from_db()
    assert (study.ratings_per_hit, study.further_share) == (3, 0)


@pytest.mark.parametrize(
    ("units", "ratings", "code"),
    [(2, 1, "single_ratings"), (0, 3, "invalid"), (2, 0, "single_ratings"), (500, 3, "invalid")],
)
def test_designs_that_cannot_be_applied(study, units, ratings, code):
    with refused(code):
        apply_design(study=study, units=units, ratings=ratings)
    study.refresh_from_db()
    assert (study.comparisons_per_hit, study.ratings_per_hit) == (2, 3)


def test_a_study_that_was_opened_keeps_its_design(ada):
    with refused("not_a_draft"):
        apply_design(study=small_study(member=ada), units=1, ratings=3)
    running = small_study(member=User.objects.create_user("eve", is_staff=True))
    assert Study.objects.get(pk=running.pk).ratings_per_hit == 1


def test_size_and_pay_leads_to_the_planner(client, study, planned):
    page = client.get(reverse("recruitment:size", args=[study.pk])).text
    assert reverse("metrics:planner", args=[study.pk]) in page
    part = client.get(
        reverse("metrics:planner", args=[study.pk]), headers={"HX-Request": "true"}
    ).text
    assert part.lstrip().startswith("<section")
    assert "<svg" in part


def gains(*, stack=1.3, explained=0.4, active=None):
    return {
        "active": active and {"value": 1.25, "low": active, "high": 1.4},
        "mixed": {"value": 1.6, "low": 1.5, "high": 1.8},
        "stack": {"value": 1.5, "low": stack, "high": 1.8},
        "explained": explained,
    }


@pytest.mark.parametrize(
    ("pair", "titles"),
    [
        (gains(), [STACKED]),
        (gains(stack=0.9), []),
        (gains(explained=0.0), []),
        (gains(active=1.0), [STACKED]),
        (gains(active=1.1), [STACKED, ACTIVE]),
        (gains(stack=None, explained=0.0, active=1.1), [ACTIVE]),
        ({}, []),
    ],
)
def test_a_design_is_offered_only_if_the_pilot_shows_that_it_pays(pair, titles):
    assert [title for title, *_ in saving_designs(pair)] == titles


def test_the_page_plans_what_the_pilot_shows(client, study, planned, ada):
    pilot = pilot_of(ada)
    assert planned(pilot=pilot.pk, **ASSUMED, **COMPONENTS)["savings"] == []
    snapshot = ReportSnapshot.objects.get(study=pilot, digest="")
    (pair,) = snapshot.report["criteria"]["preference"]["planning"].values()
    pair |= gains() | {"instance": 0.1, "unit": 0.0, "rater": 0.0, "rating": 0.1}
    snapshot.save()
    context = planned(pilot=pilot.pk, **ASSUMED, **COMPONENTS)
    (stacked,) = (option.design for option in context["savings"])
    (expected,) = design_grid(
        VarianceComponents(pair["mean"], 0.1, 0, 0, 0.1),
        target_width=0.1,
        units=[1],
        ratings=[2],
        units_per_rater=10,
        explained=0.4,
    )
    assert stacked == expected
    assert stacked.total < context["cheapest"].design.total
    assert context["savings"][0].cost == stacked.total * Decimal("0.3")
    address = reverse("metrics:planner", args=[study.pk])
    page = client.get(address, {"pilot": pilot.pk, **ASSUMED, **COMPONENTS}).text
    assert STACKED in page
    assert STACKED not in client.get(address, ASSUMED | COMPONENTS).text


def test_a_draw_by_doubt_needs_fewer_instances_by_its_gain(planned, ada, client, study):
    pilot = pilot_of(ada)
    snapshot = ReportSnapshot.objects.get(study=pilot, digest="")
    (pair,) = snapshot.report["criteria"]["preference"]["planning"].values()
    pair |= gains(active=1.1) | dict.fromkeys(("unit", "rater"), 0.0)
    pair |= {"instance": 0.1, "rating": 0.1}
    snapshot.save()
    query = {"pilot": pilot.pk, **ASSUMED, **COMPONENTS}
    stacked, active = (option.design for option in planned(**query)["savings"])
    (expected,) = design_grid(
        VarianceComponents(pair["mean"], 0.1 / 1.25, 0, 0, 0.1 / 1.25),
        target_width=0.1,
        units=[1],
        ratings=[2],
        units_per_rater=10,
        explained=0.4,
    )
    assert active.instances == expected.instances
    assert active.instances == pytest.approx(stacked.instances / 1.25, rel=0.03)
    page = client.get(reverse("metrics:planner", args=[study.pk]), query).text
    assert ACTIVE in page
    assert "1.25 times the instances (1.10 to 1.40)" in page


def test_a_report_has_the_gain_of_a_draw_by_doubt(tmp_path):
    pilot = import_pilot(tmp_path)
    (frame,) = frames_for(draft_of(pilot), by_doubt(pilot, control_share=0.2)).values()
    (plan,) = (
        build_report(rating_table(pilot), replicates=0).criteria["preference"].planning.values()
    )
    numbers = plan.active.value, plan.active.low, plan.active.high
    assert "{:.2f} times the instances ({:.2f} to {:.2f}".format(*numbers) in frame.note


def test_a_report_has_the_gains_of_its_machines():
    labels = [[-1, -1], [1, 1], [-1, 0]] * 20
    rows = preferences(labels)
    judge = preferences([[row[0]] for row in labels], rater="judge", kind="machine")
    plan = report_of([*rows, *judge], replicates=0).criteria["preference"].planning["a vs b"]
    assert plan.mixed.low > 1
    assert plan.stack.low > 1
    assert 0.5 < plan.explained <= 1
    alone = report_of(rows, replicates=0).criteria["preference"].planning["a vs b"]
    assert (alone.stack, alone.active, alone.explained) == (None, None, 0)
    assert alone.mixed == plan.mixed
