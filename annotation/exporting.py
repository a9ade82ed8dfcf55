"""A study's ratings as rows of the published format, for the export and for analytics."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Length

from annotation.codebook import codebook
from annotation.counts import RatingCounts, rating_counts
from annotation.models import Rating
from annotation.models.rating import RatingQuerySet
from studies.importing import NO_LIMIT, generation_rows, instance_rows
from studies.models import Generation, Instance, Study, System, Unit
from studies.models.settings import SETTINGS
from tiebreak.errors import DomainError
from tiebreak.formats import GenerationRow, StudySpec, write_bundle, write_rows
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.scales import Scale

# For each column, the lookup path from the rating, in the order of the format's table.
_COLUMNS = {
    "unit": "unit__key",
    "rater": "rater__pseudonym",
    "label": "label",
    "kind": "rater__kind",
    "criterion": "criterion__name",
    "role": "unit__role",
    "run": "assignment__run",
    "repeat": "repeat",
    "order": "assignment__order",
    "instance": "unit__instance__key",
    "system_a": "unit__system_a__name",
    "system_b": "unit__system_b__name",
    "sample_a": "unit__sample_a",
    "sample_b": "unit__sample_b",
    "category": "unit__instance__category",
    "separability": "unit__separability",
    "separability_raw": "unit__separability_raw",
    "similarity": "unit__similarity",
    "phase": "unit__phase",
    "inclusion_probability": "unit__inclusion_probability",
    "side_a": "side_a",
    "layout": "layout",
    "position": "position",
    "hit_position": "assignment__position",
    "duration_ms": "duration_ms",
    "created_at": "created_at",
    "study_version": "study_version__number",
    "participation": "assignment__participation__public_id",
    "surplus": "surplus",
    "superseded": "superseded",
    "partial": "partial",
    "late": "late",
    "excluded": "excluded",
    "excluded_reason": "excluded_reason",
    "simulated": "simulated",
    "raw": "raw",
}
# Only the lengths are exported with ratings, because the texts are in the generations file.
_LENGTHS = {
    "chars_a": Length("unit__generation_a__text"),
    "chars_b": Length("unit__generation_b__text"),
}
COLUMNS = (*_COLUMNS, *_LENGTHS)
FORMATS = ("jsonl", "csv", "parquet")
# Settings that a bundle has as texts of their own.
TEXTS = {"guidelines", "consent"}


def rating_rows(study: Study, ratings: RatingQuerySet | None = None) -> Iterator[dict[str, Any]]:
    """Yield ``ratings``, or all ratings of the study including flagged ones, oldest first.

    The memory used does not grow with their number. A repeat of a main unit gets the role `repeat`.
    Raters appear under their pseudonyms.
    """
    scales = {c.name: c.parsed_scale for c in study.criteria.all()}
    rows = (
        (Rating.objects.filter(unit__study=study) if ratings is None else ratings)
        .order_by("pk")
        .values(**{f"row_{column}": path for column, path in _expressions().items()})
    )
    for row in rows.iterator(chunk_size=2000):
        values = cast(dict[str, Any], row)
        yield _typed({column: values[f"row_{column}"] for column in COLUMNS}, scales)


def _expressions() -> dict[str, Any]:
    return {column: F(path) for column, path in _COLUMNS.items()} | _LENGTHS


def _typed(row: dict[str, Any], scales: dict[str, Scale]) -> dict[str, Any]:
    if row["label"] is not None:
        row["label"] = scales[row["criterion"]].parse_label(row["label"])
    if row["repeat"] and row["role"] == "main":
        row["role"] = "repeat"
    row["created_at"] = row["created_at"].isoformat()
    return row


def export_study(*, study: Study, out: Path, formats: Sequence[str] = ("jsonl",)) -> RatingCounts:
    """Write the study as a bundle folder that `import_study` and `analyze` can read.

    Rows are streamed, and the folder gets its name when it is complete. Ratings that arrive in the
    meantime are left out of all files. Returns the counts of the exported ratings. Raises
    `DomainError` if the folder already has files, or if a format is unknown.
    """
    check_formats(formats)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DomainError(
            "out_exists",
            f"{out} already exists and is not an empty folder. Please name another folder.",
        )
    ratings = _ratings_so_far(study)

    def ratings_and_codebook(folder: Path) -> None:
        for name in formats:
            write_rows(folder / f"ratings.{name}", rating_rows(study, ratings), COLUMNS)
        (folder / "codebook.md").write_text(codebook(study, ratings), encoding="utf-8")

    write_bundle(
        out,
        study_spec(study),
        instance_rows(Instance.objects.filter(dataset=study.dataset_id)),
        _generations(study),
        extra=ratings_and_codebook,
    )
    return rating_counts(ratings)


def check_formats(formats: Sequence[str]) -> None:
    """Raise `DomainError` if a format is unknown or none is named."""
    unknown = set(formats) - set(FORMATS)
    if unknown or not formats:
        raise DomainError(
            "unknown_format",
            f"Unknown export format: {', '.join(sorted(unknown)) or '(none)'}. Please choose from"
            f" {', '.join(FORMATS)}.",
            status=400,
        )


def _ratings_so_far(study: Study) -> RatingQuerySet:
    """Return the ratings so far, so that all files have the same rows while data are collected."""
    newest = Rating.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return Rating.objects.filter(unit__study=study, pk__lte=newest)


def study_spec(study: Study) -> StudySpec:
    """Return the study's design in the form that is written to study.toml."""
    return StudySpec(
        criteria=tuple(CriterionSpec(c.name, c.scale, c.question) for c in study.criteria.all()),
        systems=tuple(row.system.name for row in study.study_systems.select_related("system")),
        controls=tuple(_controls(study).values_list("name", flat=True)),
        title=study.title,
        guidelines=study.guidelines,
        consent=study.consent,
        settings=dict(_settings(study)),
    )


def _settings(study: Study) -> Iterator[tuple[str, object]]:
    """Yield the settings as study.toml has them. Where none is the default, it is left out."""
    for name, field in SETTINGS.items():
        value = getattr(study, name)
        if name in TEXTS or (value is None and field.get_default() is None):
            continue
        if value is None:
            yield name, NO_LIMIT
        else:
            yield name, float(value) if isinstance(value, Decimal) else value


def _controls(study: Study) -> QuerySet[System]:
    """Return the systems of the degraded copies in this study's reference units."""
    used = study.units.exclude(role=Unit.Role.MAIN).values("system_b")
    return System.objects.filter(is_control=True, pk__in=used)


def _generations(study: Study) -> Iterator[GenerationRow]:
    systems = Q(system__studies=study) | Q(system__in=_controls(study))
    return generation_rows(Generation.objects.filter(systems, instance__dataset=study.dataset_id))
