"""The newest trial of a system, with the time and cost of all its texts."""

from typing import Any

from machine_raters.judging.costs import forecast, judge_with_prices
from studies.data.dataset_jobs import jobs_of
from studies.instance_selection.trial import SystemTrialJob
from studies.models import Study

Json = dict[str, Any]


def trial_of(study: Study) -> Json | None:
    """Return the newest trial of a system, with what all its texts would take at that pace."""
    job = jobs_of(study).filter(kind=SystemTrialJob.name).first()
    if job is None:
        return None
    texts, shown = job.result.get("texts", []), {"job": job, "system": job.options["system"]}
    if not texts:
        return shown
    total, each = job.result["total"], job.result["each"]
    judge = judge_with_prices(study, job.result["server"], job.result["language_model"])
    seconds = sum(text["seconds"] for text in texts)
    whole = forecast(judge, texts, seconds=seconds, total=total, each=each)
    return shown | {"texts": texts, "total": total, "whole": whole}
