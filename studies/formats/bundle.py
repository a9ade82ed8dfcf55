"""Study bundles: a folder or .zip with the design, the instances, the generations, ratings."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from studies.formats.bundle_files import BundleFiles, bundle_files
from studies.formats.bundle_ratings import check_bundle_ratings
from studies.formats.bundle_rows import (
    GenerationRow,
    InstanceRow,
    parse_generation,
    parse_instance,
)
from studies.formats.limits import DEFAULT_LIMITS, Limits
from studies.formats.problems import FormatError, Problems
from studies.formats.ratings import RATINGS_SUFFIXES, read_ratings_stream
from studies.formats.row_sources import json_rows
from studies.formats.study_spec import STUDY_FILE, StudySpec, parse_study
from studies.formats.table import RatingTable

INSTANCES_FILE = "instances.jsonl"
GENERATIONS_FILE = "generations.jsonl"
SHOWN_PROBLEMS = 50

Row = TypeVar("Row", InstanceRow, GenerationRow)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A study as it travels. Its rows can be gone through again and again.

    `systems` in canonical order: as the study lists them, or where it says all pairs, as they
    first occur in the generations (else in the ratings).
    """

    study: StudySpec
    systems: tuple[str, ...]
    instances: Iterable[InstanceRow]
    generations: Iterable[GenerationRow]
    ratings: RatingTable | None = None


def read_bundle(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Bundle:
    """Check all of a bundle, then offer it; instances and generations are read as they are asked.

    Raises FormatError that names every bad row (the first 50, and how many there are) with file,
    line and reason. Generations may be absent only where ratings are there.
    """
    return _BundleReader(bundle_files(path, limits), limits).read()


class _BundleReader:
    def __init__(self, files: BundleFiles, limits: Limits) -> None:
        self.files = files
        self.limits = limits
        self.problems = Problems(SHOWN_PROBLEMS)

    def read(self) -> Bundle:
        ratings_file = self._ratings_file()
        needed = [STUDY_FILE, INSTANCES_FILE, *([] if ratings_file else [GENERATIONS_FILE])]
        for file in needed:
            if not self.files.has(file):
                self.problems.add(file, None, f"the file is missing from {self.files.name}.")
        self.problems.raise_if_any()
        study = self._study()
        instances = self._instance_lines()
        generations = self._generation_lines(set(study.systems) if study else set(), instances)
        ratings = self._ratings(ratings_file) if ratings_file else None
        systems = _systems(study, generations, ratings)
        if study and ratings is not None:
            check_bundle_ratings(
                ratings,
                study=study,
                systems=systems,
                instances=instances.keys(),
                generations=generations.keys(),
                problems=self.problems,
            )
        self.problems.raise_if_any()
        assert study is not None  # None only with a problem
        return Bundle(
            study, systems, self._rows_of_instances(), self._rows_of_generations(), ratings
        )

    def _ratings_file(self) -> str | None:
        found = [f"ratings{s}" for s in RATINGS_SUFFIXES if self.files.has(f"ratings{s}")]
        # An export holds the same ratings in several formats: the first that there is will do.
        return found[0] if found else None

    def _study(self) -> StudySpec | None:
        text = self._small_text(STUDY_FILE)
        if text is None:
            return None
        return parse_study(
            text, read_text=self._small_text, problems=self.problems, limits=self.limits
        )

    def _small_text(self, file: str) -> str | None:
        if not self.files.has(file):
            return None
        with self.files.opened(file) as stream:
            data = stream.read(self.limits.line_bytes + 1)
        if len(data) > self.limits.line_bytes:
            self.problems.add(file, None, f"it is larger than {self.limits.line_bytes:,} bytes.")
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.problems.add(file, line, "this is not UTF-8: save the file as UTF-8.")
            return None

    def _rows_of_instances(self) -> "FileRows[InstanceRow]":
        return FileRows(self.files, INSTANCES_FILE, parse_instance, self.limits)

    def _rows_of_generations(self) -> "FileRows[GenerationRow]":
        return FileRows(self.files, GENERATIONS_FILE, parse_generation, self.limits)

    def _instance_lines(self) -> dict[str, int]:
        lines: dict[str, int] = {}
        for row in self._rows_of_instances().checked(self.problems):
            first = lines.setdefault(row.id, row.line)
            if first != row.line:
                reason = f"id: {row.id!r} stands in line {first} already; each id stands once."
                self.problems.add(INSTANCES_FILE, row.line, reason)
        if not lines and not self.problems.total:
            self.problems.add(INSTANCES_FILE, None, "it holds no instance.")
        return lines

    def _generation_lines(
        self, listed: set[str], instances: Mapping[str, int]
    ) -> dict[tuple[str, str, int], int]:
        lines: dict[tuple[str, str, int], int] = {}
        add = partial(self.problems.add, GENERATIONS_FILE)
        for row in self._rows_of_generations().checked(self.problems):
            first = lines.setdefault((row.instance, row.system, row.sample_index), row.line)
            if first != row.line:
                add(row.line, f"line {first} has this instance, system and sample_index already.")
            if row.instance not in instances:
                add(row.line, f"instance: {row.instance!r} is not in {INSTANCES_FILE}.")
            if listed and row.system not in listed:
                add(row.line, f"system: {row.system!r} is not among the systems of {STUDY_FILE}.")
        return lines

    def _ratings(self, file: str) -> RatingTable | None:
        try:
            with self.files.opened(file) as stream:
                return read_ratings_stream(stream, file, limits=self.limits)
        except FormatError as error:
            self.problems.extend(error)
            return None


@dataclass(frozen=True, slots=True)
class FileRows(Generic[Row]):
    """The rows of one file, read anew each time they are gone through."""

    files: BundleFiles
    file: str
    parse: Callable[[Mapping[str, object], int, Limits], Row]
    limits: Limits

    def __iter__(self) -> Iterator[Row]:
        problems = Problems(1)
        for row in self.checked(problems):
            problems.raise_if_any()
            yield row
        problems.raise_if_any()

    def checked(self, problems: Problems) -> Iterator[Row]:
        """The good rows; the bad ones are added to `problems`."""
        if not self.files.has(self.file):
            return
        with self.files.opened(self.file) as stream:
            for line, row in json_rows(stream, self.limits):
                try:
                    yield self.parse(_row_or_reason(row), line, self.limits)
                except ValueError as error:
                    problems.add(self.file, line, str(error))


def _row_or_reason(row: dict[str, object] | str) -> dict[str, object]:
    if isinstance(row, str):
        raise ValueError(row)
    return row


def _systems(
    study: StudySpec | None,
    generations: Iterable[tuple[str, str, int]],
    ratings: RatingTable | None,
) -> tuple[str, ...]:
    if study is not None and study.systems:
        return study.systems
    names = dict.fromkeys(system for _, system, _ in generations)
    if not names and ratings is not None:
        columns = [ratings.text(name).values for name in ("system_a", "system_b")]
        names = dict.fromkeys(name for values in columns for name in values)
    return tuple(names)
