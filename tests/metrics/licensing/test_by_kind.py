"""What the page of machine raters says by kind of item, from evidence that is stored with the report."""

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.models import Rating
from metrics.licensing import by_kind
from metrics.licensing.by_kind import KindsRow, stored_kinds
from metrics.models import ReportSnapshot, SectionSnapshot
from metrics.results import question_pages
from metrics.tasks import refresh_report_task
from tests.metrics.licensing.studies import judged_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path):
    return judged_study(tmp_path)


def test_the_page_says_on_which_kinds_a_machine_passes(study, admin_client):
    refresh_report_task(study.pk)
    shown = {row.state: row for row in stored_kinds(study, "preference", 0.2)}
    assert (shown["Passed"].machine, shown["Passed"].items) == ("judge", "easy")
    assert "hard" in shown["Undecided"].items
    page = admin_client.get(reverse("metrics:results-tab", args=[study.pk, "machines"]))
    assert page.content.decode().count("data-kinds") == len(page.context["by_kind"]) >= 2
    # Of which kinds too little is known is no verdict on a rater.
    rows = fromstring(page.content).xpath("//tr[@data-kinds]/th")
    assert [row.text_content() for row in rows] == [
        row.machine for row, _ in page.context["by_kind"] if row.machine
    ]


def test_what_is_not_tested_opens_with_how_the_test_decides(study, admin_client, monkeypatch):
    untested = KindsRow("", "Not tested", "5 categories", "Too few instances.")
    monkeypatch.setattr(question_pages, "stored_kinds", lambda *_: [untested])
    refresh_report_task(study.pk)
    page = admin_client.get(reverse("metrics:results-tab", args=[study.pk, "machines"]))
    (said,) = fromstring(page.content).xpath("//*[@data-kinds]")
    assert said.text_content() == "Not tested: 5 categories. Too few instances."
    assert said.getparent().tag == "details"


def test_evidence_of_older_ratings_is_not_shown(study):
    refresh_report_task(study.pk)
    ReportSnapshot.objects.update(watermark="newer")
    assert stored_kinds(study, "preference", 0.2) == []


def test_only_a_small_study_has_its_evidence_with_the_report(study, monkeypatch):
    monkeypatch.setattr(by_kind, "MAX_WITH_REPORT", Rating.objects.count() - 1)
    refresh_report_task(study.pk)
    assert not SectionSnapshot.objects.exists()
