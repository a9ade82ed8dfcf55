"""The kinds of jobs that work on a study's ratings."""

from annotation.export_jobs import ExportJob
from jobs.kinds import register_kind

register_kind(ExportJob)
