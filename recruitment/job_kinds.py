"""The kinds of jobs that go through a study's pages."""

from jobs.kinds import register_kind
from recruitment.services.dry_runs import DryRunJob

register_kind(DryRunJob)
