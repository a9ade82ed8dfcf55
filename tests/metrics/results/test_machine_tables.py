"""Tables of all machine raters: by criterion, by category and by cost, on a page of few headings."""

from decimal import Decimal
from math import isnan, nan

import lxml.html
import pytest
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.exports.document import machine_raters as document
from metrics.results import question_pages
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from tests.metrics.studies import preferences, report_of
from tests.pages import numbers_in
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines
from tiebreak.reading.figures.machines.by_criterion import (
    NOT_RATED,
    criteria_figure,
    first_shown_figure,
)
from tiebreak.reading.figures.machines.costs import DEARER
from tiebreak.reading.figures.machines.stand_in import (
    BEST_POSSIBLE,
    MAX_CATEGORIES,
    MAX_KINDS,
    categories_figure,
)

LABELS = [[1, 1, 0], [1, -1, 1], [-1, -1, -1], [0, 1, 1]] * 12


def rows(criterion: str, *machines: str, **more) -> list[dict]:
    people = preferences(LABELS, side_a=("left", "right"), **more)
    judged = [
        row | {"rater": name, "kind": "machine", "label": (1, -1, 0)[number % 3]}
        for number, name in enumerate(machines)
        for row in people[::3]
    ]
    return [row | {"criterion": criterion} for row in (*people, *judged)]


def values(figure) -> dict[tuple[str, str], float]:
    at = figure.columns.index("value")
    return {(str(row[0]), str(row[1])): row[at] for row in figure.rows}


def test_every_rater_and_the_noise_ceiling_stand_in_a_column_for_each_criterion():
    made = [*rows("fluency", "gpt", "llama"), *rows("coherence", "gpt")]
    scales = dict.fromkeys(("fluency", "coherence"), "preference:tie")
    report = report_of(made, scales=scales, simple_raters=["llama"])
    figure = criteria_figure(report.criteria)
    shown = values(figure)
    assert set(shown) == {
        (rater, criterion)
        for rater in ("annotators", "gpt", "llama", BEST_POSSIBLE)
        for criterion in report.criteria
    }
    for name, section in report.criteria.items():
        ceilings = section.noise_ceiling
        first = ceilings[section.machines_main_first[0]]
        assert shown["annotators", name] == first.annotators.value
        assert shown[BEST_POSSIBLE, name] == first.ceiling.value > first.annotators.value
        for machine, one in ceilings.items():
            assert shown[machine, name] == one.agreement.value
    missing = shown["llama", "coherence"]
    assert missing is None or isnan(missing)
    assert NOT_RATED in figure.chart.page()
    assert criteria_figure({"fluency": report.criteria["fluency"]}) is None
    assert criteria_figure({}) is None


def test_the_share_of_the_first_text_stands_in_a_row_for_each_prompt():
    made = [*rows("fluency", "gpt", "llama"), *rows("coherence", "gpt")]
    people = [row for row in made if "kind" not in row]
    judged = [
        row | {"order": order, "label": label if n % 4 else -label}
        for n, row in enumerate(one for one in made if "kind" in one)
        for order, label in (("ab", -1), ("ba", 1))
    ]
    scales = dict.fromkeys(("fluency", "coherence"), "preference:tie")
    report = report_of([*people, *judged], scales=scales)
    figure = first_shown_figure(report.criteria, {"gpt": "G-Eval"})
    shown = values(figure)
    for name, section in report.criteria.items():
        for machine, bias in section.bias.machines.items():
            assert shown[machine, name] == 0.5 + bias.position.value
        assert shown["annotators", name] == 0.5 + section.bias.position.value
    assert isnan(shown["llama", "coherence"] or nan)
    assert "G-Eval" in figure.chart.page()
    assert first_shown_figure(report_of(people).criteria, {}) is None


def test_categories_have_a_table_where_the_picture_lacks_some():
    few = report_of(rows("fluency", "gpt", category=("a", "b"))).criteria["fluency"]
    assert categories_figure(few) is None  # they are the picture
    names = tuple(f"kind {n:02}" for n in range(MAX_CATEGORIES + 2))
    many = report_of(rows("fluency", "gpt", category=names)).criteria["fluency"]
    figure = categories_figure(many)
    columns = {column for _, column in values(figure)}
    assert len(columns) == MAX_CATEGORIES + 1 > MAX_KINDS + 1
    assert figure.sentence
    assert categories_figure(report_of(rows("fluency", "gpt")).criteria["fluency"]) is None


@pytest.fixture
def study(tmp_path):
    """A study with eleven machine raters."""
    bundle, people = make_bundle(tmp_path / "b", with_ratings=True), list(ratings())
    machines = [
        row | {"rater": f"machine {n:02}", "kind": "machine"}
        for n in range(11)
        for row in people
        if row["rater"] == "r0"
    ]
    write_lines(bundle / "ratings.jsonl", people + machines)
    study = import_study(path=bundle).study
    refresh_report(study=study)
    return study


@pytest.mark.django_db
def test_eleven_machine_raters_make_few_headings(study, admin_client):
    address = reverse("metrics:results-tab", args=[study.pk, "each-machine"])
    page = lxml.html.fromstring(admin_client.get(address).content)
    assert len(page.xpath("//h1 | //h2 | //h3 | //h4")) < 5
    assert len(page.xpath("//*[@class='of-machine']")) == 0
    links = page.xpath("//section[contains(@class, 'one-machine')]//a/@href")
    assert len(links) == 11
    answer = admin_client.get(address + links[3][links[3].index("?") :])
    assert answer.context["machine"] == "machine 03"
    shown = lxml.html.fromstring(answer.content)
    assert len(shown.xpath("//*[@class='of-machine']//h2")) > 1
    assert len(shown.xpath("//h1 | //h2 | //h3 | //h4")) < 12


@pytest.mark.django_db
def test_costs_are_drawn_against_agreement_where_they_are_known(study, admin_client, monkeypatch):
    address = reverse("metrics:results-tab", args=[study.pk, "machines"])
    file = reverse("metrics:figure", args=[study.pk, "preference", "cost-agreement", "csv"])
    assert len(admin_client.get(address).context["figures"]) == 1
    assert admin_client.get(file).status_code == 404
    known = {"annotators": Decimal("0.5"), "machine 02": Decimal("0.0125")}
    monkeypatch.setattr(question_pages, "costs_of", lambda _: known)
    _, figure = admin_client.get(address).context["figures"]
    assert [row[:2] for row in figure.rows] == [("annotators", "50.00"), ("machine 02", "1.25")]
    assert figure.finding == DEARER.format(times=40, machine="machine 02")
    report = stored_report(study.report_snapshots.get(digest=""))
    found = report.criteria["preference"].noise_ceiling["machine 02"]
    assert [row[2] for row in figure.rows] == [found.annotators.value, found.agreement.value]
    others = len(report.criteria["preference"].noise_ceiling) - 1
    assert numbers_in(figure.sentence) == {str(others)}
    assert "machine 02" in admin_client.get(file).text
    monkeypatch.setattr(document, "costs_of", lambda _: known)
    (section,) = document.cost_sections(study, report)
    assert [block.name for block in section.blocks] == ["cost-agreement"]


@pytest.mark.django_db
def test_a_price_below_a_cent_is_never_told_as_nothing(study, admin_client, monkeypatch):
    known = {"annotators": Decimal("0.5"), "machine 02": Decimal("0.0000012"), "machine 03": 0}
    monkeypatch.setattr(question_pages, "costs_of", lambda _: known)
    address = reverse("metrics:results-tab", args=[study.pk, "machines"])
    picture, figure = admin_client.get(address).context["figures"]
    assert ("machine 02", "0.00012") in [row[:2] for row in figure.rows]
    assert f"0.00012 {study.currency} for 100 ratings" in picture.chart.page()
    assert "free" in picture.chart.page()
    assert " 0.00 " not in picture.chart.page()
