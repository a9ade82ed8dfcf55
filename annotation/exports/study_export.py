"""Exports a study as a folder: a bundle, the tables of its design, and datasets for others."""

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path

from django.db.models import DecimalField, FloatField

from annotation.counts import rating_counts
from annotation.exports.codebook import codebook
from annotation.exports.files import report_state, write_files, write_report
from annotation.exports.hugging_face import write_dataset
from annotation.exports.ratings import rating_batches, rating_rows
from annotation.exports.tables import (
    comparisons,
    control_systems,
    exported_generations,
    exported_instances,
    has_comparisons,
    tables,
)
from annotation.models import Rating
from annotation.models.rating import RatingQuerySet
from studies.data.bundle_import import NO_LIMIT
from studies.models import Study, Unit
from studies.models.settings import SETTINGS, FrozenSettings, fields_of
from tiebreak.errors import DomainError
from tiebreak.formats import StudySpec, atomic_folder, write_rows
from tiebreak.formats.bundle import CriterionSpec, write_design
from tiebreak.formats.evidence import write_manifest
from tiebreak.formats.export_columns import PREFERENCE, RATINGS, RATINGS_WITH_TEXTS
from tiebreak.formats.preferences import TIES, Ties, preference_rows
from tiebreak.formats.rows import Row
from tiebreak.formats.shown_fields import field_columns
from tiebreak.formats.writers import WRITERS, JudgedItem, WrittenFormat, write_format
from tiebreak.formats.writing import write_batches

BATCH = 500
ABOUT = "about.json"


def judged_items(study: Study, ratings: RatingQuerySet) -> Iterator[JudgedItem]:
    """Yield each main unit with its ratings in the statistics, once for every criterion.

    The ratings of some units at a time are in memory.
    """
    scales = {criterion.name: criterion.parsed_scale for criterion in study.criteria.all()}
    main = study.units.filter(role=Unit.Role.MAIN).order_by("pk")
    keys = array("q", main.values_list("pk", flat=True).iterator(BATCH))
    counted = ratings.in_statistics()
    for first in range(0, len(keys), BATCH):
        some = counted.filter(unit__in=keys[first : first + BATCH])
        rows = sorted(rating_rows(study, some, with_texts=True), key=_unit_and_criterion)
        for (_, criterion), group in groupby(rows, key=_unit_and_criterion):
            yield JudgedItem.of_rows(list(group), scales[criterion])


def write_about(folder: Path, written: WrittenFormat) -> None:
    """Write next to the files how many rows each has, and what the format cannot carry."""
    text = json.dumps(asdict(written), ensure_ascii=False, indent=1)
    (folder / ABOUT).write_text(f"{text}\n", encoding="utf-8")


def _unit_and_criterion(row: Row) -> tuple[str, str]:
    return row["unit"], row["criterion"]


# The formats of the ratings and of the tables beside them.
TABULAR = ("jsonl", "csv", "xlsx", "parquet")
# Formats of benchmarks, which have a part of what is known.
BENCHMARKS = tuple(WRITERS)
FORMATS = (*TABULAR, "preference", "hf", *BENCHMARKS)
# Settings that a bundle has as texts of their own.
TEXTS = {"guidelines", "consent"}
# What a frozen setting is if study.toml lacks it, and its default, which the digest leaves out.
FROZEN = {
    name: {"absent": "" if field.empty_strings_allowed else None, "default": field.get_default()}
    for name, field in fields_of(FrozenSettings).items()
}


def export_study(
    *,
    study: Study,
    out: Path,
    formats: Sequence[str] = ("jsonl",),
    ties: Ties = "drop",
    with_texts: bool = False,
    with_comments: bool = False,
) -> "StudyExport":
    """Write the study as a bundle folder that `import_study` and `analyze` can read.

    Rows are streamed, and the folder gets its name when it is complete. Ratings that arrive in the
    meantime are left out of all files. With `with_texts`, the ratings also have the texts and the
    name of the preferred system; with `with_comments`, there is a table of comments. Returns the export, with its counts of ratings. Raises
    `DomainError` if the folder already has files, or if the study cannot be exported like this.
    """
    export = StudyExport(study, formats, ties, with_texts=with_texts, with_comments=with_comments)
    for _ in export.write(out):
        pass
    return export


def check_export(study: Study, formats: Sequence[str], ties: str = "drop") -> None:
    """Raise `DomainError` if a format is unknown, none is named, or the study has nothing for it."""
    unknown = set(formats) - set(FORMATS)
    if unknown or not formats:
        raise DomainError(
            "unknown_format",
            f"Unknown export format: {', '.join(sorted(unknown)) or '(none)'}. Please choose from"
            f" {', '.join(FORMATS)}.",
            status=400,
        )
    if ties not in TIES:
        raise DomainError(
            "unknown_ties",
            f"{ties!r} is not a way to write ties. Please choose from {', '.join(TIES)}.",
            status=400,
        )
    if "preference" in formats and not has_comparisons(study):
        raise DomainError(
            "no_preferences",
            "This study has no preferences of annotators between two texts, so a preference dataset"
            " would be empty. Leave out the preference format, or export again when ratings have"
            " arrived.",
        )


def check_is_free(out: Path) -> None:
    """Raise `DomainError` unless a folder is new or empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DomainError(
            "out_exists",
            f"{out} already exists and is not an empty folder. Please name another folder.",
        )


class StudyExport:
    """An export of the ratings so far, in some formats. `counts` refers to these ratings.

    `benchmarks` says what was written in formats of benchmarks, and what these cannot carry.
    """

    def __init__(
        self,
        study: Study,
        formats: Sequence[str],
        ties: Ties = "drop",
        *,
        with_texts: bool = False,
        with_comments: bool = False,
    ) -> None:
        check_export(study, formats, ties)
        self.study, self.formats, self.ties = study, formats, ties
        self.with_texts, self.with_comments = with_texts, with_comments
        fields = field_columns(study.fields)
        self.columns = {**RATINGS_WITH_TEXTS, **fields} if with_texts else RATINGS
        # Before the newest rating is looked up: a report that lacks a rating is left out at the end.
        self.report_state = report_state(study)
        # Only the ratings so far, so that all files have the same rows while data are collected.
        newest = Rating.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        self.ratings = Rating.objects.filter(unit__study=study, pk__lte=newest)
        self.counts = rating_counts(self.ratings)
        self.benchmarks: list[WrittenFormat] = []

    @property
    def total(self) -> int:
        """How many rows of ratings will be written, over all formats."""
        return self.counts.rows * sum(name in (*TABULAR, "hf") for name in set(self.formats))

    def write(self, out: Path) -> Iterator[int]:
        """Write the folder, and yield how many rows of ratings have been written so far."""
        check_is_free(out)
        written = 0
        with atomic_folder(out) as folder:
            instances = exported_instances(self.study)
            write_design(
                folder, study_spec(self.study), instances, exported_generations(self.study)
            )
            text = codebook(self.study, self.ratings, self.columns)
            (folder / "codebook.md").write_text(text, encoding="utf-8")
            write_files(self.study, folder)
            for name in dict.fromkeys(self.formats):
                before = written
                for rows in self._parts(name, folder):
                    written = before + rows
                    yield written
            write_report(self.study, folder, self.report_state)
            write_manifest(folder, {"frozen": FROZEN})

    def _parts(self, name: str, folder: Path) -> Iterator[int]:
        """Write the files of one format, and yield the number of its ratings so far."""
        if name == "hf":
            yield from write_dataset(self.study, self.ratings, folder / "hf", ties=self.ties)
        elif name in BENCHMARKS:
            items = judged_items(self.study, self.ratings)
            written = write_format(name, items, folder / name)
            write_about(folder / name, written)
            self.benchmarks.append(written)
        elif name == "preference":
            rows = preference_rows(comparisons(self.study, self.ratings), ties=self.ties)
            columns = (*PREFERENCE, *field_columns(self.study.fields))
            write_rows(folder / "preference.jsonl", rows, columns)
        else:
            for table in tables(self.study, with_comments=self.with_comments):
                write_rows(folder / f"{table.name}.{name}", table.rows, tuple(table.columns))
            yield from self.write_ratings(folder / f"ratings.{name}")

    def write_ratings(self, path: Path) -> Iterator[int]:
        """Write the ratings alone, and yield how many have been written so far."""
        batches = rating_batches(self.study, self.ratings, with_texts=self.with_texts)
        yield from write_batches(path, batches, self.columns)


def study_spec(study: Study) -> StudySpec:
    """Return the study's design in the form that is written to study.toml."""
    return StudySpec(
        criteria=tuple(
            CriterionSpec(**{one.name: getattr(c, one.name) for one in fields(CriterionSpec)})
            for c in study.criteria.all()
        ),
        systems=tuple(row.system.name for row in study.study_systems.select_related("system")),
        controls=tuple(control_systems(study).values_list("name", flat=True)),
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
            # SQLite answers an insertion with whole numbers where a column has real ones.
            is_real = isinstance(field, FloatField | DecimalField)
            yield name, float(value) if is_real else value
