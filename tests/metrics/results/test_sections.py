"""Sections of the results that are computed when somebody opens them."""

from dataclasses import replace
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from lxml.html import fromstring

from annotation.filters import NO_FAILED_CHECK, Filter
from annotation.selectors import is_a_first
from annotation.services.ratings import Answer
from metrics.messages import OUTCOME_HIDDEN
from metrics.models import SectionSnapshot
from metrics.results import section_views, sections
from metrics.results.question_pages import PAGES
from metrics.results.sections import offered_on, refresh_section, stored_section
from metrics.results.services import refresh_report, watermark
from studies.models import Membership, Study
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.architecture.test_roles import member
from tests.metrics.results.test_filters import text_of
from tests.metrics.studies import preferences, report_of
from tests.metrics.test_freshness import rated
from tests.pages import codes_on
from tests.studies.factories import make_open_study, make_participation
from tiebreak.reading.figures.figure import DRAWN, empty_figure
from tiebreak.report import build_report
from tiebreak.report.registry import on_request

pytestmark = pytest.mark.django_db
# Others wait until a study is closed.
OFFERED = [one for one in on_request().values() if not one.after_closing]
INSTANCES = 4
HTMX = {"HX-Request": "true"}


def rate(study: Study, name: str, number: int) -> None:
    """Let an annotator complete every HIT, and prefer the first system in two thirds of it."""
    participation = make_participation(study, name)
    for _ in range(INSTANCES):
        assignment = take_place(participation=participation)
        for unit, hit_unit in enumerate(hit_units_of(assignment)):
            is_left = is_a_first(assignment, hit_unit) == ((unit + number) % 3 > 0)
            label = "-1" if is_left else "1"
            key = f"{name}-{assignment.pk}-{unit}"
            answers = {c: Answer(label, key) for c in study.criteria.all()}
            submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers)


@pytest.fixture
def study() -> Study:
    study = make_open_study(instances=INSTANCES, ratings_per_hit=4)
    for number, name in enumerate(("ann", "bob", "cid")):
        rate(study, name, number)
    refresh_report(study=study)
    return study


@pytest.fixture
def reader(client, study):
    user = User.objects.create_user("ada", is_staff=True)
    Membership.objects.create(study=study, user=user)
    client.force_login(user)
    return client


@pytest.fixture
def requests(monkeypatch):
    requests = []
    monkeypatch.setattr(
        "metrics.tasks.refresh_section_task.apply_async", lambda args, queue: requests.append(args)
    )
    return requests


def address(study: Study, name: str = "robustness") -> str:
    return reverse("metrics:section", args=[study.pk, "preference", name])


def test_every_section_on_request_is_on_one_page():
    assert set(DRAWN) == {more.name for more in OFFERED}
    assert {more.question for more in OFFERED} <= {tab.slug for tab in PAGES}


@pytest.mark.thorough
@pytest.mark.parametrize("more", OFFERED, ids=lambda more: more.name)
def test_a_section_is_shown_once_it_is_computed(reader, study, more):
    (tab,) = [tab for tab in PAGES if tab.slug == more.question]
    page = reader.get(reverse("metrics:results-tab", args=[study.pk, tab.slug]))
    # There is no machine rater, no third system, no interval and no separability.
    needs = {"rank_stability", "prediction_powered", "shared_ranks", "set_values"}
    applies = more.question != "machines" and more.name not in needs
    assert (address(study, more.name) in page.content.decode()) == applies
    assert not SectionSnapshot.objects.exists()
    refresh_section(study=study, name=more.name)
    shown = reader.get(address(study, more.name), headers=HTMX)
    assert shown.status_code == 200
    assert more.asks in unescape(text_of(shown))
    figures = shown.context["figures"]
    assert [figure.name for figure in figures if figure.chart] or not applies
    for figure in figures:
        assert figure.finding in unescape(text_of(shown))
        if figure.chart:
            args = [study.pk, "preference", figure.name, "csv"]
            assert reader.get(reverse("metrics:figure", args=args)).status_code == 200


def test_one_request_is_made_and_the_page_asks_again(reader, study, requests):
    for _ in range(3):
        shown = reader.get(address(study), headers=HTMX)
        assert 'hx-trigger="every 1s"' in shown.content.decode()
    assert requests == [(study.pk, "robustness", "")]
    refresh_section(study=study, name="robustness")
    shown = reader.get(address(study), headers=HTMX)
    assert "hx-trigger" not in shown.content.decode()
    assert len(requests) == 1


def test_newer_ratings_make_a_section_stale_but_do_not_keep_a_reader_waiting(
    reader, study, requests
):
    refresh_section(study=study, name="robustness")
    rated(study, "gus")
    assert (
        "hx-trigger" not in reader.get(address(study), {"again": 1}, headers=HTMX).content.decode()
    )
    assert not requests
    assert "hx-trigger" in reader.get(address(study), headers=HTMX).content.decode()
    assert len(requests) == 1


def test_the_section_is_that_of_the_report(study):
    from metrics.results.selectors import source_of

    source = source_of(study)
    report = build_report(source.table, scales=source.scales, sections=["robustness"])
    stored = sections.stored_section(refresh_section(study=study, name="robustness"), "preference")
    assert stored.part == report.criteria["preference"].robustness


def test_without_a_broker_the_section_shows_the_problem(reader, study, monkeypatch):
    from kombu.exceptions import OperationalError

    def refuse(**_: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr("metrics.tasks.refresh_section_task.apply_async", refuse)
    assert codes_on(reader.get(address(study), headers=HTMX)) == {"no_broker"}
    assert SectionSnapshot.objects.get().requested == ""


@pytest.mark.thorough
def test_without_scripts_a_section_is_a_page(reader, study, requests):
    page = reader.get(address(study))
    assert "<html" in page.content.decode()
    assert reverse("metrics:results-tab", args=[study.pk, "systems"]) in page.content.decode()


def test_figures_of_one_machine_rater_are_folded(reader, study, monkeypatch):
    refresh_section(study=study, name="robustness")
    drawn = [empty_figure(name, name, "Nothing.") for name in ("all", "first", "second")]
    figures = [drawn[0], *(replace(one, machine="judge") for one in drawn[1:])]
    monkeypatch.setattr(section_views, "figures_of_section", lambda *_: figures)
    page = fromstring(reader.get(address(study), headers=HTMX).content)
    headings = page.xpath("//section//h2/@id")
    assert headings == ["figure-all", "figure-first", "figure-second"]
    assert page.xpath("//details[summary='judge']//h2/@id") == headings[1:]


def test_viewers_do_not_see_sections_of_annotators(study, requests):
    viewer = member(study, "viewer")
    for more in OFFERED:
        is_open = more.question in {"systems", "machines"} or more.name in {
            "majority",
            "set_values",
        }
        status = 200 if is_open else 403
        assert viewer.get(address(study, more.name), headers=HTMX).status_code == status
    args = [study.pk, "preference", "rater-influence", "csv"]
    refresh_section(study=study, name="drop_one_influence")
    assert viewer.get(reverse("metrics:figure", args=args)).status_code == 404


def test_the_outcome_is_hidden_of_annotators_chosen_by_their_checks(reader, study, requests):
    chosen = Filter(raters=NO_FAILED_CHECK)
    study.units.create(key="gold", role="gold")  # so that there is a filter by gold checks
    refresh_report(study=study)
    refresh_report(study=study, chosen=chosen)
    shown = reader.get(address(study), {"raters": NO_FAILED_CHECK}, headers=HTMX)
    assert OUTCOME_HIDDEN in text_of(shown)
    assert not requests
    refresh_section(study=study, name="robustness", chosen=chosen)
    args = [study.pk, "preference", "robustness", "csv"]
    figure = reader.get(reverse("metrics:figure", args=args), {"raters": NO_FAILED_CHECK})
    assert figure.status_code == 404


def test_a_part_has_its_own_section_without_a_finding(reader, study):
    category = "news"
    study.dataset.instances.update(category=category)
    chosen = Filter(category=category)
    refresh_report(study=study)
    refresh_report(study=study, chosen=chosen)
    refresh_section(study=study, name="robustness", chosen=chosen)
    refresh_section(study=study, name="robustness")
    assert "would be first" not in text_of(reader.get(address(study), headers=HTMX))
    study.events.all().delete()  # of ratings from elsewhere, how many were planned is unknown
    refresh_report(study=study)
    refresh_section(study=study, name="robustness")
    assert "would be first" in text_of(reader.get(address(study), headers=HTMX))
    shown = reader.get(address(study), {"category": category}, headers=HTMX)
    assert "would be first" not in text_of(shown)
    parts = SectionSnapshot.objects.values_list("report__digest", flat=True)
    assert sorted(parts) == sorted(["", chosen.digest])


def test_there_is_no_section_of_this_name(reader, study):
    assert reader.get(address(study, "systems")).status_code == 404


def test_a_page_offers_the_sections_that_apply_to_a_criterion():
    rows = preferences([[1, -1]] * 12)
    machines = [
        {**row, "rater": name, "kind": "machine"}
        for row in rows[::2]
        for name in ("judge", "longer")
    ]
    fluency = [{**row, "criterion": "fluency", "label": 3} for row in [*rows, *machines]]
    one_machine = [row for row in machines if row["rater"] == "judge"]
    report = report_of([*rows, *one_machine, *fluency], scales={"fluency": "ordinal:1..5"})
    offered = {
        (name, tab.slug): {more.name for more in offered_on(tab.slug, about)}
        for name, about in report.criteria.items()
        for tab in PAGES
    }
    assert {"elo", "robustness"} <= offered["preference", "systems"]
    assert "rank_stability" not in offered["preference", "systems"]  # it needs a third system
    assert offered["fluency", "systems"] == set()
    assert "mean_correlations" in offered["fluency", "machines"] - offered["preference", "machines"]
    assert "machine_differences" in offered["fluency", "machines"]
    assert "machine_differences" not in offered["preference", "machines"]  # it needs a second one
    assert "win_rates_by_stratum" in offered["preference", "machines"]
    assert "drop_one_influence" in offered["fluency", "raters"]
    assert offered["fluency", "bias"] == set()


def test_a_section_of_an_earlier_form_is_computed_anew(study, reader, monkeypatch):
    name = "machine_replacement"
    refresh_section(study=study, name=name)
    snapshot = SectionSnapshot.objects.get(name=name)
    assert stored_section(snapshot, "preference") is not None
    monkeypatch.setattr("metrics.results.services.REPORT_FORM", "1.later")
    assert watermark(study) != snapshot.watermark
    monkeypatch.setattr("metrics.results.sections.REPORT_FORM", "1.later")
    assert stored_section(snapshot, "preference") is None
