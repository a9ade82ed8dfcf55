"""The study's baselines as the page of judges lists them."""

from typing import Any

from annotation.baselines.forms import BaselineForm
from annotation.baselines.job import BaselineJob
from annotation.baselines.services import baselines_of
from annotation.baselines.storing import pairs_of
from jobs.models import Job
from studies.dataset_jobs import jobs_of
from studies.models import Study


def with_form(study: Study, form: BaselineForm | None = None) -> dict[str, Any]:
    """Return what the part of the page shows: the baselines, and the form of a new one."""
    return {"baseline_form": form or BaselineForm(study), **listed(study)}


def listed(study: Study) -> dict[str, Any]:
    newest: dict[str, Job] = {}
    for job in jobs_of(study).filter(kind=BaselineJob.name).order_by("pk"):
        newest[str(job.options.get("baseline"))] = job
    pairs = pairs_of(study).count()
    return {
        "study": study,
        "pairs": pairs,
        "baselines": [
            _row(baseline, pairs, newest.get(baseline.public_id))
            for baseline in baselines_of(study)
        ],
        "baseline_is_moving": any(job.is_moving for job in newest.values()),
    }


def _row(baseline: Any, pairs: int, job: Job | None) -> dict[str, Any]:
    settled = baseline.rated + baseline.no_reference + baseline.equal_scores
    return {"baseline": baseline, "job": job, "remaining": max(0, pairs - settled)}
