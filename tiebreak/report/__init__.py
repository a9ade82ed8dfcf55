"""The report of a study's ratings, which pages, files and commands build with this code."""

from tiebreak.field_docs import list_fields
from tiebreak.report.build import build_report
from tiebreak.report.model.fields import REPORT_VERSION
from tiebreak.report.model.report import Origin, Report
from tiebreak.report.source import read_source

__all__ = ["REPORT_VERSION", "Origin", "Report", "build_report", "read_source"]

list_fields(globals())
