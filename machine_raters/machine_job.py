"""What the jobs of machine raters share."""

from typing import ClassVar

from django.urls import reverse

from jobs.kinds import JobKind
from jobs.models import Job


class MachineJob(JobKind):
    """A job of one machine rater, whose id and name are among its options.

    ``page`` is the name of the page that shows the machine rater.
    """

    page: ClassVar[str] = "judges"
    # The options that name what else the job is about: only one for the same may be unfinished.
    also_about: ClassVar[tuple[str, ...]] = ()

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse(f"machine_raters:{self.page}", args=[job.owner])
