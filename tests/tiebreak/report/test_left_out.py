"""What a report says of the columns that it does not use."""

from tests.metrics.studies import preferences
from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.report.left_out import PREFIX
from tiebreak.report.model.report import Origin


def unused(**more):
    rows = RatingTable.from_rows(preferences([[1, 1]], **more))
    report = build_report(rows, replicates=0, source=Origin("file", "0"))
    return report.problems.get(f"{PREFIX}known columns", "")


def test_columns_that_a_file_lacks_are_not_called_unused():
    assert unused() == ""


def test_a_column_with_values_that_no_number_uses_is_named():
    assert "study_version" in unused(study_version=2)
