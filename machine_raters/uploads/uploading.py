"""Uploads of machines' ratings and verdicts, by the page and by programs."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import FileExtensionValidator
from django.db import transaction

from annotation.imports.kept_uploads import keep_upload, kept_upload
from annotation.imports.uploads import Upload, confined, stored_upload, upload_limits
from jobs.kinds import JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from machine_raters.models.stated_cost import COST_DIGITS, MAX_RATING_COST
from machine_raters.services.rating_costs import state_rating_cost
from machine_raters.uploads.ratings import AddedRatings, add_machine_ratings
from machine_raters.uploads.verdicts import add_verdicts
from studies.models import Study
from tiebreak.formats.readers import VERDICT_FORMATS

RATINGS = "ratings"
UPLOAD_FORMATS = (RATINGS, *VERDICT_FORMATS)
LABELS = {
    RATINGS: "Ratings file",
    "alpacaeval": "AlpacaEval: annotations.json",
    "alttest": "Alternative annotator test: NAME-llm.json",
    "llmbar": "LLMBar: result.json of an evaluator",
    "lmarena": "LMArena: battles",
    "mtbench": "MT-Bench: judgments of pairs or single texts",
    "pandalm": "PandaLM: results of a machine",
}


class RatingCostForm(forms.Form):
    """What a rating of a machine cost that rated elsewhere."""

    cost = forms.DecimalField(
        label="Cost of a rating",
        required=False,
        min_value=0,
        max_value=MAX_RATING_COST,
        decimal_places=COST_DIGITS,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


class VerdictsForm(RatingCostForm):
    """A file of verdicts, and what the file itself may not say."""

    ratings = forms.FileField(
        label="File",
        validators=[FileExtensionValidator(["jsonl", "csv", "json"])],
        help_text="It ends in .jsonl, .csv or .json.",
    )
    format = forms.ChoiceField(
        choices=[(name, LABELS[name]) for name in UPLOAD_FORMATS], required=True
    )
    criterion = forms.CharField(
        required=False,
        max_length=200,
        help_text="Only for a benchmark's verdicts, where more than one of the study's criteria fits.",
    )
    rater = forms.CharField(
        label="Machine's name",
        required=False,
        max_length=200,
        help_text="Only for LLMBar, LMArena and PandaLM, whose files do not name the machine.",
    )

    field_order = ("ratings", "format", "criterion", "rater", "cost")

    def __init__(self, study: Study, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, auto_id="verdicts_%s")
        self.fields["cost"].help_text = (
            f"In {study.currency}, of each machine in the file; 0 if it cost nothing. Leave it empty if it is not"
            " known."
        )


def upload_verdicts(
    *,
    study: Study,
    upload: Upload,
    by: User,
    format: str,
    criterion: str = "",
    rater: str = "",
    cost: Decimal | None = None,
) -> AddedRatings | Job:
    """Store all machine ratings or verdicts of an upload, or nothing; queue a large file.

    With a cost, this is what a rating of each machine in the file cost. Raises as `add_machine_ratings` and `add_verdicts` do; a file has the limits of uploads.
    """
    if format == RATINGS:  # whose readers go by the suffix
        name = Path(upload.name or "")
        upload.name = f"{name.stem}{name.suffix.lower()}"
    options = {"format": format, "criterion": criterion, "rater": rater}
    if cost is not None:
        options["cost"] = str(cost)
    if (upload.size or 0) > settings.TIEBREAK_IMPORT_AT_ONCE_BYTES:
        kept = keep_upload(upload=upload, by=by)
        options |= {"token": kept.token, "name": kept.name}
        key = f"verdicts:{study.pk}"
        return start_job(
            kind=VerdictsJob.name, owner=study.pk, exclusive_key=key, options=options, by=by
        )
    with stored_upload(upload, format) as path:
        return _add(study, path, options, by)


@transaction.atomic
def _add(study: Study, path: Path, options: dict[str, str], by: User) -> AddedRatings:
    """Add the ratings of a file that a confined process could read, and what they cost."""
    added = _add_ratings(study, path, options)
    if "cost" in options:
        for name in added.raters:
            state_rating_cost(study=study, rater=name, cost=Decimal(options["cost"]), by=by)
    return added


def _add_ratings(study: Study, path: Path, options: dict[str, str]) -> AddedRatings:
    limits, names = upload_limits(), {name: options[name] for name in ("criterion", "rater")}
    if options["format"] == RATINGS:
        return add_machine_ratings(study=study, path=path, limits=limits)
    return add_verdicts(study=study, path=path, format=options["format"], limits=limits, **names)


class VerdictsJob(JobKind):
    """Adds the ratings of a large upload. Stored ratings are skipped, so it may run twice."""

    name = "verdicts"
    label = "add machines' ratings"

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        assert job.created_by is not None
        kept = kept_upload(token=job.options["token"], by=job.created_by)
        confined(job.options["format"], kept.path, in_web=False)
        added = _add(Study.objects.get(pk=job.owner), kept.path, job.options, job.created_by)
        Job.objects.filter(pk=job.pk).update(result={"added": added.added, "known": added.known})
        kept.remove()
        yield Progress(1)
