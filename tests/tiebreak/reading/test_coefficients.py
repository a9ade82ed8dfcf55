"""The page of agreement lists further coefficients, and says why α and AC1 disagree."""

import pytest
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.models import ReportSnapshot
from metrics.results.services import refresh_report
from tests.metrics.studies import preferences, report_of
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.reading.coefficients import NOT_STORED, coefficients
from tiebreak.report.sections.raters.chance_corrected import NOT_TWO

UNEVEN = [[1, 1]] * 38 + [[1, -1]] * 2
CLEAR = [[1, 1]] * 29 + [[-1, -1]] * 9 + [[1, -1]] * 2
EVEN = [[1, 1]] * 19 + [[-1, -1]] * 19 + [[1, -1]] * 2


def shown(rows, *, states_findings=True, **options):
    (section,) = report_of(rows, replicates=0, **options).criteria.values()
    return coefficients(section, states_findings=states_findings)


def scores(labels):
    return [row | {"criterion": "quality"} for row in preferences(labels)]


def test_a_label_that_prevails_explains_the_difference():
    sentence = shown(preferences(UNEVEN)).prevails
    assert "AC1 (0.95)" in sentence
    assert "α (−0.01)" in sentence
    assert "98% of the ratings" in sentence


@pytest.mark.parametrize(
    "rows", [preferences(EVEN), preferences(CLEAR), preferences([[1, -1]] * 30)]
)
def test_nothing_is_explained_where_nothing_differs_or_prevails(rows):
    assert shown(rows).prevails == ""


def test_a_part_of_the_ratings_states_no_finding():
    assert shown(preferences(UNEVEN), states_findings=False).prevails == ""


def test_labels_without_order_have_no_weights():
    listed = shown(preferences(EVEN), scales={"preference": "preference"})
    assert listed.columns == ["Equal labels only"]
    assert {row.numbers[0].text for row in listed.rows} == {"0.90"}
    assert not any("Randolph" in row.name for row in listed.rows)  # it leads
    assert all("Undefined" in row.numbers[0].reason for row in listed.correlations)


def test_numbers_have_weights_and_correlations():
    listed = shown(scores([[1, 2], [3, 3], [5, 4]]), scales={"quality": "interval:1..5"})
    assert len(listed.columns) == 3
    # Mean squares by hand: between units 4.5, within 1/3, raters 0, rest ½.
    assert [row.numbers[0].text for row in listed.correlations] == ["0.86", "0.86", "0.80"]


def test_a_shared_reason_is_said_once_a_row():
    listed = shown(scores([[1, 2, 3], [3, 3, 4], [5, 4, 1]]), scales={"quality": "ordinal:1..5"})
    (cohen,) = (row for row in listed.rows if row.name == "Cohen's κ")
    assert NOT_TWO.format(number=3) in cohen.numbers[0].reason
    assert [number.reason for number in cohen.numbers[1:]] == ["", ""]


@pytest.fixture
def study(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    refresh_report(study=study)
    return study


def page(client, study):
    answer = client.get(reverse("metrics:results-tab", args=[study.pk, "coefficients"]))
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.django_db
def test_the_page_has_the_coefficients(study, admin_client):
    assert "Gwet" in page(admin_client, study)


@pytest.mark.django_db
def test_the_page_of_an_older_report_says_that_it_is_older(study, admin_client):
    snapshot = ReportSnapshot.objects.get(study=study)
    del snapshot.report["criteria"]["preference"]["chance_corrected"]
    snapshot.save()
    text = page(admin_client, study)
    assert NOT_STORED in text
    assert "Gwet" not in text


@pytest.mark.django_db
def test_the_page_of_an_older_report_lacks_a_coefficient_that_was_added(study, admin_client):
    snapshot = ReportSnapshot.objects.get(study=study)
    del snapshot.report["criteria"]["preference"]["chance_corrected"]["conger_kappa"]
    snapshot.save()
    text = page(admin_client, study)
    assert "Gwet" in text
    assert "Conger" not in text
