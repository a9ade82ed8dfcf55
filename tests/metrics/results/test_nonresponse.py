"""Pages of results say first what share of the answers has no label, if it is half of them."""

from dataclasses import replace

import pytest
from django.urls import reverse

from metrics.results.question_pages import PAGES
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from tests.architecture.test_roles import member
from tests.tiebreak.reading.findings.nonresponse_cases import about
from tests.tiebreak.reading.test_while_open import A_WINS, answer, small_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("without", "times", "leads"), [(5, 1, True), (2, 1, False), (1, 0, False)]
)
def test_pages_say_first_that_half_of_the_answers_have_no_label(without, times, leads):
    study = small_study(instances=4, ratings_per_hit=2)
    answer(study, "ann", A_WINS, hits=2)
    snapshot = refresh_report(study=study)
    report = stored_report(snapshot)
    part = about((10, without, 0), (0, 0, 0)).nonresponse
    criteria = {name: replace(one, nonresponse=part) for name, one in report.criteria.items()}
    snapshot.report = replace(report, criteria=criteria).as_json()
    snapshot.save()
    client = member(study, "owner")
    pages = {
        tab.slug: reverse("metrics:results-tab", args=[study.pk, tab.slug])
        for tab in PAGES
        if not tab.part_of
    }
    for slug, address in pages.items():
        page = client.get(address).content.decode().split('id="statistics"')[1]
        assert page.count("data-nonresponse") == times, slug
        said, shown = page.find("data-nonresponse"), page.find("<h2")
        assert (-1 < said <= shown) == leads, slug
