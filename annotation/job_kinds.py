"""The kinds of jobs that work on ratings, and import data."""

from annotation.export_jobs import ExportJob
from annotation.import_jobs import ImportJob
from jobs.kinds import register_kind

register_kind(ExportJob)
register_kind(ImportJob)
