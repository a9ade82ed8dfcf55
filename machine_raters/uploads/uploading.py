"""Uploads of machines' ratings and verdicts, by the page and by programs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import FileExtensionValidator

from annotation.imports.kept_uploads import keep_upload, kept_upload
from annotation.imports.uploads import Upload, confined, stored_upload, upload_limits
from jobs.kinds import JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
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


class VerdictsForm(forms.Form):
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

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, auto_id="verdicts_%s")


def upload_verdicts(
    *,
    study: Study,
    upload: Upload,
    by: User,
    format: str,
    criterion: str = "",
    rater: str = "",
) -> AddedRatings | Job:
    """Store all machine ratings or verdicts of an upload, or nothing; queue a large file.

    Raises as `add_machine_ratings` and `add_verdicts` do; a file has the limits of uploads.
    """
    if format == RATINGS:  # whose readers go by the suffix
        name = Path(upload.name or "")
        upload.name = f"{name.stem}{name.suffix.lower()}"
    options = {"format": format, "criterion": criterion, "rater": rater}
    if (upload.size or 0) > settings.TIEBREAK_IMPORT_AT_ONCE_BYTES:
        kept = keep_upload(upload=upload, by=by)
        options |= {"token": kept.token, "name": kept.name}
        key = f"verdicts:{study.pk}"
        return start_job(
            kind=VerdictsJob.name, owner=study.pk, exclusive_key=key, options=options, by=by
        )
    with stored_upload(upload, format) as path:
        return _add(study, path, options)


def _add(study: Study, path: Path, options: dict[str, str]) -> AddedRatings:
    """Add the ratings of a file that a confined process could read."""
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
        added = _add(Study.objects.get(pk=job.owner), kept.path, job.options)
        Job.objects.filter(pk=job.pk).update(result=vars(added))
        kept.remove()
        yield Progress(1)
