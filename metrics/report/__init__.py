"""The report: every number of a ratings table, each with its interval or its reason. No Django."""

from metrics.report.building import REPORT_VERSION, ReportSource, build_report
from metrics.report.digest import rows_sha256
from metrics.report.ratings import READ_COLUMNS
from metrics.report.values import Json

__all__ = [
    "READ_COLUMNS",
    "REPORT_VERSION",
    "Json",
    "ReportSource",
    "build_report",
    "rows_sha256",
]
