"""The kinds of jobs that import and export data."""

from annotation.export_jobs import ExportJob
from annotation.import_jobs import ImportJob
from jobs.kinds import register_kind

register_kind(ExportJob)
register_kind(ImportJob)
