"""The study's baselines as the page of judges lists them."""

from typing import Any

from jobs.models import Job
from machine_raters.baselines.forms import BaselineForm
from machine_raters.baselines.job import BaselineJob
from machine_raters.baselines.services import baselines_of
from machine_raters.judging.passes import Items
from machine_raters.views.newest_jobs import NewestJobs, is_moving
from studies.models import Study


def with_form(
    study: Study, items: Items, newest: NewestJobs, form: BaselineForm | None = None
) -> dict[str, Any]:
    """Return what the part of the page shows: the baselines, and the form of a new one."""
    return {"baseline_form": form or BaselineForm(study), **listed(study, items, newest)}


def listed(study: Study, items: Items, newest: NewestJobs) -> dict[str, Any]:
    pairs = items.number if items.are_pairs else 0
    return {
        "study": study,
        "pairs": pairs,
        "baselines": [
            _row(baseline, pairs, newest.get((BaselineJob.name, baseline.public_id)))
            for baseline in baselines_of(study)
        ],
        "baseline_is_moving": is_moving(newest, (BaselineJob.name,)),
    }


def _row(baseline: Any, pairs: int, job: Job | None) -> dict[str, Any]:
    settled = baseline.rated + baseline.no_reference + baseline.equal_scores
    return {"baseline": baseline, "job": job, "remaining": max(0, pairs - settled)}
