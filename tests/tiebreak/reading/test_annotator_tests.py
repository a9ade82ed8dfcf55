"""The page of machine raters shows the alternative annotator test, and says of whom it speaks."""

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.imports.study_import import import_study
from metrics.models import ReportSnapshot
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from tests.metrics.studies import preferences, report_of
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines
from tiebreak.reading.annotator_tests import NOT_STORED, annotator_tests


def section_of(rows):
    return report_of(rows, replicates=0).criteria["preference"]


def judged(labels, answer, units=40):
    rows = preferences([labels] * units)
    judge = preferences([[answer]] * units, rater="judge", kind="machine")
    return [*rows, *judge]


def row_of(rows, *, states_findings=True):
    (row,) = annotator_tests(section_of(rows), states_findings=states_findings).rows
    return row


def test_a_row_names_the_annotators_of_whom_it_speaks():
    row = row_of(judged([1, 1, 1], 1))
    assert (row.machine, row.rate, row.probability) == ("judge", "1.00", "1.00")
    assert row.outcome.startswith("Passed: shown to match 3 of 3 annotators; 2 are needed.")
    assert row.scope.endswith("these 3 annotators only.")


def test_not_passing_is_not_called_worse():
    tests = annotator_tests(section_of(judged([1, 1, 1], -1)), states_findings=True)
    assert tests.rows[0].outcome.startswith("Not passed")
    assert "not passed does not show that it is worse" in tests.decision


def test_annotators_who_were_not_compared_are_counted():
    rows = [*judged([1, 1], 1), *preferences([[1]] * 5, rater="late")]
    assert row_of(rows).scope.endswith(
        "1 annotator shared too few instances with others to be compared."
    )


def test_a_part_of_the_ratings_has_numbers_and_no_outcome():
    row = row_of(judged([1, 1, 1], 1), states_findings=False)
    assert (row.rate, row.outcome) == ("1.00", "")


def test_a_reason_stands_in_place_of_numbers():
    row = row_of(judged([1, 1, 1], 1, units=12))
    assert (row.rate, row.outcome, row.scope) == ("", "", "")
    assert row.reason


def test_no_machine_no_test():
    assert annotator_tests(section_of(preferences([[1, 1]] * 3)), states_findings=True) is None


@pytest.fixture
def study(tmp_path):
    bundle = make_bundle(tmp_path / "b", with_ratings=True)
    rows = list(ratings())
    machine = [row | {"rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    write_lines(bundle / "ratings.jsonl", rows + machine)
    study = import_study(path=bundle).study
    refresh_report(study=study)
    return study


def page(client, study):
    answer = client.get(reverse("metrics:results-tab", args=[study.pk, "machines"]))
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.django_db
def test_the_page_has_the_test(study, admin_client):
    shown, about = page(admin_client, study), stored_report(study.report_snapshots.get())
    tests = annotator_tests(about.criteria["preference"], states_findings=True)
    rows = fromstring(shown).xpath("//*[@aria-labelledby='stand-in-heading']/table/tbody/tr")
    cells = [[" ".join(cell.text_content().split()) for cell in row] for row in rows]
    assert cells == [
        [
            row.machine,
            f"{row.state} all items",
            f"{row.matched}, {row.needed} needed" if row.matched else "",
            row.why,
        ]
        for row in tests.rows
    ]
    # High where the share is low, it looked like the opposite.
    assert "Fits as well" not in shown


@pytest.mark.django_db
def test_the_page_of_an_older_report_says_that_it_is_older(study, admin_client):
    snapshot = ReportSnapshot.objects.get(study=study)
    del snapshot.report["criteria"]["preference"]["alternative_annotator_test"]
    snapshot.save()
    shown = page(admin_client, study)
    assert NOT_STORED in shown
    assert not fromstring(shown).xpath("//*[@aria-labelledby='stand-in-heading']//table")
