"""What a stored report has of each annotator is stored apart, and is put back where it is needed."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.imports.study_import import import_study
from annotation.models import Participation
from annotation.services.exclusion import exclude_work
from metrics.models import ReportSnapshot
from metrics.results.selectors import source_of, stored_report, stored_rows
from metrics.results.services import refresh_report
from tests.metrics.test_freshness import rated
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.report import build_report
from tiebreak.report.sections.raters.raters import NO_INTERVAL

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


def test_who_was_excluded_is_named_and_what_all_rows_lack_is_said_once(client):
    study = make_open_study(instances=2, ratings_per_hit=3)
    for name in ("ann", "bob", "cy"):
        rated(study, name)
    out = Participation.objects.select_related("rater").get(rater__external_id="cy")
    exclude_work(participation=out, status="excluded")
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("ruth"))
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "by-rater"]))
    assert out.rater.pseudonym not in page.context["raters"]
    assert list(page.context["excluded"]) == [out]
    html = page.content.decode()
    assert f">{out.rater.pseudonym}</a> (excluded)" in html
    assert html.count(NO_INTERVAL) == 1
