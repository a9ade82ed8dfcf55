"""The report of a study's ratings, which pages, files and commands build with this code."""

from tiebreak.report.build import REPORT_VERSION, build_report
from tiebreak.report.reading import read_source

__all__ = ["REPORT_VERSION", "build_report", "read_source"]
