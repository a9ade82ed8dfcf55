"""What a stored report has of each annotator is stored apart, and is put back where it is needed."""

import re
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.urls import reverse
from lxml.html import fromstring
from scipy.stats import binomtest

from annotation.imports.study_import import import_study
from annotation.models import Participation
from annotation.services.exclusion import exclude_work
from annotation.services.screening import CheckRecord
from metrics.models import ReportSnapshot
from metrics.results import question_pages
from metrics.results.rater_rows import RaterFacts, mean_agreement, rater_rows
from metrics.results.selectors import source_of, stored_report, stored_rows
from metrics.results.services import refresh_report
from tests.metrics.test_freshness import rated
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.report import build_report
from tiebreak.report.model.raters import RaterSection
from tiebreak.stats import Estimate, undefined

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path):
    return import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study


def test_the_report_is_read_as_it_was_built(study):
    refresh_report(study=study)
    source = source_of(study)
    built = build_report(
        source.table, scales=source.scales, source=source.origin, order=source.order
    )
    assert stored_report(ReportSnapshot.objects.get()).as_json() == built.as_json()


def test_pages_that_name_nobody_read_a_report_without_annotators(study):
    refresh_report(study=study)
    snapshot = ReportSnapshot.objects.get()
    section = stored_report(snapshot, with_raters=False).criteria["preference"]
    assert section.raters == {}
    assert section.n_ratings
    rows = stored_rows(snapshot, with_raters=False)["preference"]
    assert rows["raters"] == []
    assert rows["annotators"] == 2


def test_the_page_of_raters_lists_them(client, study):
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("ruth"))
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "by-rater"]))
    assert set(page.context["raters"]) == {"r0", "r1"}
    report = client.get(reverse("metrics:report", args=[study.pk])).json()
    assert set(report["criteria"]["preference"]["raters"]) == {"r0", "r1"}


def test_each_rater_has_a_line_beside_the_mean_and_who_was_excluded_comes_last(client):
    study = make_open_study(instances=2, ratings_per_hit=3)
    for name in ("ann", "bob", "cy"):
        rated(study, name)
    out = Participation.objects.select_related("rater").get(rater__external_id="cy")
    exclude_work(participation=out, status="excluded")
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("ruth"))
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "by-rater"]))
    assert out.rater.pseudonym not in page.context["raters"]
    assert [person for person, _ in page.context["excluded"]] == [out]
    *rows, last = fromstring(page.text).xpath("//table[contains(@class, 'raters')]/tbody/tr")
    assert len(rows) == len(page.context["rows"]) == 2
    for row in rows:
        (line,) = row.xpath(".//*[@class='human-line']")
        (mean,) = row.xpath(".//*[@class='reference']")
        ends = [float(one.strip("%")) for one in (line.get("x1"), mean.get("x1"), line.get("x2"))]
        assert ends == sorted(ends)
    assert last.xpath("string(th/a)") == out.rater.pseudonym
    assert (
        last.xpath("string(th/*[@class='state-chip'])")
        == Participation.Status.EXCLUDED.label.lower()
    )
    assert not last.xpath(".//*[@class='human-line']")


def test_the_page_says_in_its_heading_how_many_of_whom_are_worth_a_look(client, monkeypatch):
    study = make_open_study(instances=2, ratings_per_hit=3)
    for name in ("ann", "bob", "cy"):
        rated(study, name)
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("ruth"))
    address = reverse("metrics:results-tab", args=[study.pk, "by-rater"])

    def said(n: int, query: str = "", **headers: str) -> tuple[list[str], str]:
        caches["annotators"].clear()
        sign = SimpleNamespace(said="quick")
        monkeypatch.setattr(
            question_pages, "worth_a_look", lambda people: {p.pk: [sign] for p in [*people][:n]}
        )
        page = fromstring(client.get(f"{address}{query}", headers=headers).text)
        return page.xpath("//h1[not(@class)]/text()"), page.xpath("string(//*[@data-order])")

    assert said(0) == (["Rater by rater"], "")
    assert said(1) == (["1 of 3 annotators is worth a look"], "")
    heading, order = said(2)
    assert heading == ["2 of 3 annotators are worth a look"]
    assert order.startswith("Those with the most reasons")
    # Opened on the question's page it has no heading of its own, and of a part it is another number.
    assert said(2, HX_Request="true")[1].startswith("2 annotators are worth a look: those")
    heading, order = said(2, "?category=none-of-these")
    assert "worth" not in "".join(heading)


def test_the_numbers_of_ratings_are_said_once_for_all(client):
    study = make_open_study(instances=2, ratings_per_hit=3)
    for name in ("ann", "bob"):
        rated(study, name)
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("ruth"))
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "by-rater"]))
    numbers = {facts.ratings for facts, *_ in page.context["rows"]}
    (each,) = fromstring(page.text).xpath("//*[@class='each']/text()")
    assert {int(one) for one in re.findall(r"\d+", each)} == {min(numbers), max(numbers)}


def test_the_line_of_a_rater_is_the_exact_interval_of_a_share():
    agreed = {"ann": Estimate(0.7, n=10), "bob": Estimate(0.25, n=8), "cy": undefined("Alone.")}
    raters = {name: RaterSection("human", 0, 0, {}, one) for name, one in agreed.items()}
    facts = tuple(RaterFacts(name, 10, 0, 0) for name in agreed)
    rows = {row.facts.name: row for row in rater_rows(facts, SimpleNamespace(raters=raters))}
    for name, right in (("ann", 7), ("bob", 2)):
        one = rows[name].agreement
        exact = binomtest(right, one.n).proportion_ci(0.95, method="exact")
        assert (one.low, one.high) == pytest.approx((exact.low, exact.high))
    assert not rows["cy"].agreement.has_interval
    assert mean_agreement(list(rows.values())) == pytest.approx(0.475)
    assert mean_agreement([rows["cy"]]) is None


@pytest.mark.parametrize(
    ("record", "dots"), [((2, 1), ("●●", "○")), ((0, 2), ("", "○○")), ((6, 1), ("", ""))]
)
def test_gold_checks_are_dots_while_one_can_count_them(record, dots):
    assert CheckRecord(*record).dots == dots
