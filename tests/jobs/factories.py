from datetime import datetime
from typing import Any

from jobs.clock import database_now
from jobs.models import Job, JobChunk
from studies.models import Study


def make_job(study: Study, *, lease_until: datetime | None = None, **values: Any) -> Job:
    """A job that nobody was told of; with a lease, a worker holds its only chunk."""
    now = database_now()
    job = Job.objects.create(
        **({"kind": "scoring", "owner": study.pk, "queue": "default", "queued_at": now} | values)
    )
    if lease_until is not None:
        Job.objects.filter(pk=job.pk).update(planned_at=now)
        JobChunk.objects.create(
            job=job,
            number=0,
            status="running",
            claim="another",
            attempts=1,
            lease_until=lease_until,
        )
        job.refresh_from_db()
    return job
