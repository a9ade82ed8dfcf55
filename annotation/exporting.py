"""A study's ratings as rows of the published format, for the export and for analytics."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Length

from annotation.codebook import MEANING, codebook
from annotation.counts import RatingCounts, rating_counts
from annotation.models import Assignment, Rating
from annotation.models.rating import RatingQuerySet
from studies.importing import NO_LIMIT, generation_rows, instance_rows
from studies.models import Generation, Instance, Study, System, Unit
from studies.models.settings import SETTINGS
from tiebreak.errors import DomainError
from tiebreak.formats import GenerationRow, StudySpec, write_bundle, write_rows
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.rating_cells import FLAGS
from tiebreak.scales import Scale

# For each column its lookup path, from the rating itself, its unit, or its assignment. Facts of
# units and assignments are read once for a batch of ratings, which is faster than a join per rating.
_OF_RATING = {
    "label": "label",
    "criterion": "criterion__name",
    "repeat": "repeat",
    "study_version": "study_version__number",
    "created_at": "created_at",
    **{name: name for name in ("side_a", "layout", "position", "duration_ms")},
    **{name: name for name in (*FLAGS, "excluded_reason", "raw")},
}
_OF_UNIT = {
    "unit": "key",
    "role": "role",
    "instance": "instance__key",
    "system_a": "system_a__name",
    "system_b": "system_b__name",
    "category": "instance__category",
    **{name: name for name in ("sample_a", "sample_b", "similarity", "phase")},
    **{name: name for name in ("separability", "separability_raw", "inclusion_probability")},
    # Only the lengths are exported with ratings, because the texts are in the generations file.
    "chars_a": Length("generation_a__text"),
    "chars_b": Length("generation_b__text"),
}
_OF_ASSIGNMENT = {
    "rater": "rater__pseudonym",
    "kind": "rater__kind",
    "run": "run",
    "order": "order",
    "hit_position": "position",
    "participation": "participation__public_id",
}
# The order of the columns in files is that of their descriptions.
COLUMNS = tuple(MEANING)
BATCH = 2000
FORMATS = ("jsonl", "csv", "parquet")
# Settings that a bundle has as texts of their own.
TEXTS = {"guidelines", "consent"}


def rating_rows(study: Study, ratings: RatingQuerySet | None = None) -> Iterator[dict[str, Any]]:
    """Yield ``ratings``, or all ratings of the study including flagged ones, oldest first.

    The memory used hardly grows with their number: eight bytes for each rating. No statement is
    open between two batches, so that the caller may write to the database. A repeat of a main unit
    gets the role `repeat`. Raters appear under their pseudonyms.
    """
    ratings = Rating.objects.filter(unit__study=study) if ratings is None else ratings
    scales = {c.name: c.parsed_scale for c in study.criteria.all()}
    parse = lru_cache(1000)(lambda criterion, label: scales[criterion].parse_label(label))
    for batch in _batches(ratings):
        units = _facts(Unit, {unit for unit, *_ in batch}, _OF_UNIT)
        work = _facts(Assignment, {assignment for _, assignment, *_ in batch}, _OF_ASSIGNMENT)
        for unit, assignment, *values in batch:
            row = {**units[unit], **work[assignment], **dict(zip(_OF_RATING, values, strict=True))}
            if row["label"] is not None:
                row["label"] = parse(row["criterion"], row["label"])
            if row["repeat"] and row["role"] == "main":
                row["role"] = "repeat"
            row["created_at"] = row["created_at"].isoformat()
            yield row


def _batches(ratings: RatingQuerySet) -> Iterator[list[tuple[Any, ...]]]:
    keys = array("q", ratings.order_by("pk").values_list("pk", flat=True).iterator(BATCH))
    rows = Rating.objects.order_by("pk").values_list(
        "unit_id", "assignment_id", *_OF_RATING.values()
    )
    for first in range(0, len(keys), BATCH):
        # By their keys alone: with the study as well, databases search all its units every time.
        yield list(rows.filter(pk__in=keys[first : first + BATCH]))


def _facts(
    model: type[Unit] | type[Assignment], keys: set[int], columns: Mapping[str, Any]
) -> dict[int, dict[str, Any]]:
    rows = model._default_manager.filter(pk__in=keys).order_by()
    return {
        pk: dict(zip(columns, values, strict=True))
        for pk, *values in rows.values_list("pk", *columns.values())
    }


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
