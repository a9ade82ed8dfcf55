"""The kinds of jobs that let machine raters rate or be tested, and that add ratings from elsewhere."""

from jobs.kinds import register_kind
from machine_raters.kinds import KINDS
from machine_raters.uploads.uploading import VerdictsJob

register_kind(VerdictsJob)
for kind in KINDS.values():
    for job in (kind.job, *kind.other_jobs):
        register_kind(job)
