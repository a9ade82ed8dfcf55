"""The kinds of jobs that import and export data."""

from annotation.exports.export_jobs import ExportJob
from annotation.imports.import_jobs import ImportJob
from jobs.kinds import register_kind

register_kind(ExportJob)
register_kind(ImportJob)
