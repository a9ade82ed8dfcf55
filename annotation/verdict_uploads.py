"""Uploads of machines' ratings and verdicts, by the page and by programs."""

from pathlib import PurePath
from typing import Any

from django import forms
from django.core.validators import FileExtensionValidator

from annotation.services.machine_ratings import AddedRatings, add_machine_ratings
from annotation.services.verdicts import add_verdicts
from annotation.uploads import Upload, stored_upload, upload_limits
from studies.models import Study
from tiebreak.file_names import file_name
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
    format: str,
    criterion: str = "",
    rater: str = "",
) -> AddedRatings:
    """Store all machine ratings or verdicts of an upload, or nothing.

    Raises as `add_machine_ratings` and `add_verdicts` do; a file has the limits of uploads.
    """
    name = PurePath(upload.name or "").name
    if format == RATINGS:
        with stored_upload(upload, f"ratings{PurePath(name).suffix.lower()}", RATINGS) as path:
            return add_machine_ratings(study=study, path=path, limits=upload_limits())
    with stored_upload(upload, file_name(name), format) as path:
        return add_verdicts(
            study=study,
            path=path,
            format=format,
            criterion=criterion,
            rater=rater,
            limits=upload_limits(),
        )
