"""The page *Stopping*: the width so far, what is still needed and costs, and what ending concludes."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from metrics.messages import REACHED
from metrics.results import views
from metrics.results.question_pages import page_named
from metrics.results.questions import PLANNING
from metrics.results.services import refresh_report
from metrics.results.stopping_page import stopping_context
from recruitment.confirmations import closing
from recruitment.messages import CLOSING_EARLY
from recruitment.services.lifecycle import close_study
from studies.models import Membership, Study
from tests.pages import numbers_in, unexplained
from tests.tiebreak.reading.figures.test_smallest_difference import with_interval
from tests.tiebreak.reading.test_while_open import A_WINS, B_WINS, answer, section, small_study
from tiebreak.digits import in_digits
from tiebreak.reading.figures.planning.smallest_difference import (
    reached_at,
)
from tiebreak.reading.figures.planning.stopping import USUAL_WIDTH, width_figures
from tiebreak.reading.messages import FORECAST_ABOVE, NO_FINDING_YET, SEQUENCE_ABOVE
from tiebreak.reading.shown import BY_STRENGTH

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    member = User.objects.create_user("ada", is_staff=True)
    study = small_study(instances=40, member=member, hits_per_annotator=4)
    for turn in range(24):
        answer(study, f"r{turn}", B_WINS if turn % 2 else A_WINS)
    # A study that pays would admit fewer people than these, who leave after a task.
    study.reward = Decimal(2)
    study.save(update_fields=["reward"])
    return study


@pytest.fixture
def stopping_page(client, study):
    client.force_login(Membership.objects.get(study=study).user)

    def text() -> str:
        refresh_report(study=study)
        page = client.get(reverse("metrics:results-tab", args=[study.pk, "planning"]))
        assert unexplained(page) == []
        return page.text

    return text


def test_the_figure_draws_the_width_against_ratings(study):
    (figure,) = width_figures(section(study), 0.2)
    ratings, widths = ([row[n] for row in figure.rows] for n in (1, 4))
    assert ratings == list(range(1, 25))
    assert widths == sorted(widths, reverse=True)
    assert ">target 0.20<" in figure.chart.file()
    (usual,) = width_figures(section(study), None)
    assert f">usual target {in_digits(USUAL_WIDTH)}<" in usual.chart.file()
    (reached,) = width_figures(section(study), widths[9])
    assert f">10 ratings: {in_digits(widths[9])}<" in reached.chart.file()


@pytest.mark.parametrize(
    ("tab", "caveat"), [("systems", SEQUENCE_ABOVE), ("raters", NO_FINDING_YET)]
)
def test_only_where_a_sequence_is_drawn_the_line_is_said_to_stay_right(client, study, tab, caveat):
    client.force_login(Membership.objects.get(study=study).user)
    refresh_report(study=study)
    page = client.get(reverse("metrics:results-tab", args=[study.pk, tab]))
    assert page.context["caveat"] == caveat


def test_a_system_without_a_rating_is_named_and_no_rank_is_stated(client):
    member = User.objects.create_user("ada", is_staff=True)
    study = small_study(instances=12, systems=3, member=member)
    client.force_login(member)
    address, rated = reverse("metrics:results-tab", args=[study.pk, "systems"]), set()
    answer(study, "ann", A_WINS)
    for turn in range(3):
        refresh_report(study=study)
        page = client.get(address)
        rated = {*page.context["section"].ranking.systems}
        missing = {one.name for one in study.ordered_systems()} - rated
        assert bool(missing) == ("no rating by annotators" in page.context["caveat"])
        assert all(name in page.context["caveat"] for name in missing)
        assert len(missing) == 1 or turn
        assert not [row for row in page.context["section"].ranking.rows if row.name == BY_STRENGTH]
        assert any(note.startswith(BY_STRENGTH) for note in page.context["section"].ranking.notes)
        answer(study, f"bob{turn}", A_WINS, hits=8)
    assert not missing


def test_with_few_ratings_headings_say_what_is_missing_and_no_cell_is_a_bare_dash(client):
    member = User.objects.create_user("ada", is_staff=True)
    study = small_study(instances=12, ratings_per_hit=2, member=member)
    for name in ("ann", "bob"):
        answer(study, name, A_WINS, hits=5)
    refresh_report(study=study)
    client.force_login(member)
    for tab in ("systems", "raters", "by-rater"):
        page = client.get(reverse("metrics:results-tab", args=[study.pk, tab]))
        assert unexplained(page) == []
        main = fromstring(page.text).xpath("//main")[0]
        if tab != "by-rater":
            heading = main.xpath(".//h2[@class='lead']")[0].text_content()
            assert numbers_in(heading) == {"14", "24"}


def test_what_is_needed_has_a_cost_from_the_reward(study):
    rows = {row.target: row for row in stopping_context(study, section(study))["needed"]}
    about = rows["width 0.20"]
    more = int(about.instances.removeprefix("about ").replace(",", ""))
    assert more > 24
    # Two pounds for four tasks of one instance each, rated once.
    digits = f"{float(f'{more * 0.5:.2g}'):g}"  # of a forecast, two
    assert about.cost == f"about {digits} GBP"
    assert rows["width 0.05"].instances == "not in sight"
    assert rows["to exclude ½"].at_one_look not in ("–", about.at_one_look)
    assert about.at_one_look == "unknown"  # single ratings have no variance components


def test_a_study_with_several_ratings_says_what_one_look_needs():
    study = small_study(instances=30, ratings_per_hit=2)
    for name, label in (("ann", A_WINS), ("bob", B_WINS), ("cid", A_WINS), ("dot", A_WINS)):
        answer(study, name, label, hits=8)
    rows = {row.target: row for row in stopping_context(study, section(study))["needed"]}
    counts = [rows[f"width 0.{n}"].at_one_look.split()[0] for n in ("20", "10", "05")]
    assert int(counts[0]) < int(counts[1]) < int(counts[2])


def test_four_times_the_ratings_cost_four_times_as_much_and_tell_twice_as_much(study):
    about = section(study)
    assert stopping_context(study, about)["more_buys"] == []  # the plan is not reached yet
    reached = replace(about, stopping=replace(about.stopping, is_reached=True))
    rows = stopping_context(study, reached)["more_buys"]
    # Two pounds for four tasks of one instance each, rated once.
    costs = {ratings: (float(half.removeprefix("±")), cost) for half, ratings, cost in rows}
    assert [costs[n][1] for n in ("24", "48", "96")] == [
        "12.00 GBP",
        "about 24 GBP",
        "about 48 GBP",
    ]
    assert costs["96"][0] == pytest.approx(costs["24"][0] / 2, abs=0.006)
    Study.objects.filter(pk=study.pk).update(reward=None)
    study.refresh_from_db()
    assert stopping_context(study, reached)["more_buys"] == []


def test_the_picture_has_costs_at_its_points_each_of_which_is_a_row(study):
    stopping = replace(section(study).stopping, is_reached=True)
    close = replace(with_interval(1.5 * USUAL_WIDTH), stopping=stopping)
    costs = {ratings: cost for _, ratings, cost in stopping_context(study, close)["more_buys"]}
    shown = SimpleNamespace(study=study, about=close)
    (figure,) = page_named(PLANNING.slug).figures(shown)
    for n in (close.n_ratings, reached_at(close)):
        assert f">{costs[f'{n:,}']}</text>" in figure.chart.file()


def test_pay_of_excluded_people_stands_beside_the_pay_for_ratings(study):
    about = section(study)
    reached = replace(about, stopping=replace(about.stopping, is_reached=True))
    first, second = study.participations.order_by("pk")[:2]
    for person in (first, second):
        person.payments.create(
            amount="3.75", currency="GBP", kind="reward", status="paid", created_at=timezone.now()
        )
    assert stopping_context(study, reached)["for_excluded"] == ""
    study.participations.filter(pk=first.pk).update(status="excluded")
    assert "3.75 GBP" in stopping_context(study, reached)["for_excluded"]


def test_few_instances_have_no_forecast():
    study = small_study()
    answer(study, "ann", A_WINS, hits=9)
    assert stopping_context(study, section(study))["needed"] == []


@pytest.mark.thorough
def test_the_page_says_what_stopping_now_concludes(stopping_page, study):
    text = stopping_page()
    assert "Stopping now, no system would be shown" in text
    assert "24 of 40 planned responses" in text
    assert CLOSING_EARLY in text
    close_study(study=study)
    assert "Stopping now, no system is shown" in stopping_page()


def test_the_page_of_a_complete_study_says_so(stopping_page, study):
    Study.objects.filter(pk=study.pk).update(reward=0)
    answer(study, "zoe", A_WINS, hits=4)
    for name in ("yan", "xia", "wim"):
        answer(study, name, A_WINS, hits=4)
    assert REACHED in stopping_page()


def test_closing_early_says_what_it_means_and_closing_at_the_end_does_not(study):
    assert CLOSING_EARLY in closing(study).sentences
    study.places.filter(completed_at=None).delete()
    assert CLOSING_EARLY not in closing(study).sentences


def test_a_study_from_elsewhere_has_no_plan(stopping_page, study):
    study.events.all().delete()
    assert "opened on this server" in stopping_page()


def test_a_curve_without_intervals_has_the_caption_of_a_forecast(client, study, monkeypatch):
    client.force_login(Membership.objects.get(study=study).user)
    refresh_report(study=study)
    address = reverse("metrics:results-tab", args=[study.pk, "planning"])
    assert client.get(address).context["caveat"] == NO_FINDING_YET
    monkeypatch.setattr(views, "unreached", lambda about: None)
    page = client.get(address)
    assert page.context["caveat"] == FORECAST_ABOVE
    assert "This holds" in page.context["scope"]
