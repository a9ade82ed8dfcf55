"""The kinds of jobs of this app. `jobs` imports this module when Django starts."""

from jobs.kinds import register_kind
from metrics.demo import DemoJob
from metrics.exports.report_files import ReportFilesJob

register_kind(DemoJob)
register_kind(ReportFilesJob)
