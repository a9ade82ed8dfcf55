"""Study bundles: folders or .zip files with a design, instances, generations and ratings."""

import json
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.archive import MAX_FILES, extract
from tiebreak.formats.cells import check_id
from tiebreak.formats.design_tables import PARSERS, DesignTables, Table, read_tables
from tiebreak.formats.errors import FormatError, Problems
from tiebreak.formats.evidence import MANIFEST, REPORT
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_cells import label_probabilities
from tiebreak.formats.ratings import SUFFIXES, RatingTable, read_ratings
from tiebreak.formats.rows import Row, read_jsonl
from tiebreak.formats.spec import (
    ALL_PAIRS,
    STUDY_FILE,
    CriterionSpec,
    SpecLines,
    StudySpec,
    read_spec,
    systems_of_rows,
    write_spec,
)
from tiebreak.formats.writing import atomic_folder
from tiebreak.scales import Scale

__all__ = [
    "Bundle",
    "CriterionSpec",
    "GenerationRow",
    "InstanceRow",
    "Lines",
    "StudySpec",
    "open_bundle",
    "read_bundle",
    "write_bundle",
]

# Exports document the columns in this file.
CODEBOOK = "codebook.md"
# Machine ratings of the pilot by whose doubts instances were drawn.
PILOT_RATINGS = "pilot_ratings.jsonl"
# Tables of exports: those that are read back, and preferences, which ratings give again.
_TABLES = (*PARSERS, "preference")
# Key in `Bundle.unread` under which whole files are listed.
FILES = "files of the bundle"
INSTANCES, GENERATIONS = "instances.jsonl", "generations.jsonl"


@dataclass(frozen=True)
class InstanceRow:
    """An instance of a bundle: one input on which systems are compared."""

    id: str
    """Name of the instance, unique in the bundle."""
    source: str = ""
    """Text that was given to the systems."""
    messages: list[Any] = field(default_factory=list)
    """Conversation that was given to the systems, as turns with ``role`` and ``content``."""
    category: str = ""
    """Category of the instance, which may serve as a stratum."""
    reference: str = ""
    """Text written by a person."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """All other facts about the instance."""


@dataclass(frozen=True)
class GenerationRow:
    """A generation of a bundle: one text that a system produced for an instance."""

    instance: str
    """Name of the instance."""
    system: str
    """Name of the system."""
    sample_index: int
    """Number of the sample, starting at 0."""
    text: str
    """Text of the generation."""
    seed: int | None = None
    """Random seed with which the system produced the text."""
    params: dict[str, Any] = field(default_factory=dict)
    """What produced the text: model, server, prompt and decoding settings."""
    is_dummy: bool = False
    """Whether the text was invented, for example to try a study out."""


@dataclass(frozen=True)
class Lines:
    """Line numbers of the parts of a bundle in their files."""

    spec: SpecLines = field(default_factory=SpecLines)
    instances: Sequence[int] = ()
    generations: Sequence[int] = ()


@dataclass(frozen=True)
class Bundle:
    """A complete and valid study bundle.

    See Also
    --------
    read_bundle : Read a bundle from a folder or .zip.
    """

    spec: StudySpec
    """Design of the study."""
    instances: list[InstanceRow]
    """Instances of the study."""
    generations: list[GenerationRow]
    """Generations of the study."""
    ratings: RatingTable | None = None
    """Ratings, or None if the bundle has none."""
    ratings_path: Path | None = None
    """File with the ratings."""
    pilot_ratings: RatingTable | None = None
    """Machine ratings of a pilot of the study, on instances that were drawn and others."""
    tables: DesignTables = field(default_factory=DesignTables)
    """Separability, design and reference answers, as an export writes them."""
    lines: Lines = field(default_factory=Lines, compare=False, repr=False)
    """Line numbers of the settings and rows in their files."""
    unread: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """Columns that were ignored, by file. The key "files of the bundle" has the ignored files."""


Check = Callable[[Bundle, Problems], None]


@contextmanager
def open_bundle(path: Path, *, limits: Limits = LIMITS) -> Iterator[Path]:
    """Yield the bundle's folder; a .zip is extracted to a temporary folder for the block."""
    with ExitStack() as stack:
        if path.suffix == ".zip":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tiebreak-")))
            path = extract(path, folder, limits)
        yield path


def read_bundle(path: Path, *, limits: Limits = LIMITS, check: Check | None = None) -> Bundle:
    """Read a study bundle.

    Parameters
    ----------
    path : Path
        Folder or .zip of the bundle.
    limits : Limits, optional
        Largest sizes that are accepted.
    check : callable, optional
        Function of the bundle and its problems. It may add problems, so the error lists all
        of them together.

    Returns
    -------
    Bundle
        The bundle.

    Raises
    ------
    FormatError
        If anything in the bundle is wrong. The error lists each problem with file, line and reason.

    See Also
    --------
    write_bundle : Write a bundle.

    Examples
    --------
    >>> import tempfile
    >>> criterion = CriterionSpec("preference", "preference", "Which?")
    >>> spec = StudySpec("Notes", (criterion,), ("x", "y"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bundle"
    ...     write_bundle(path, spec, [InstanceRow("i")], [GenerationRow("i", "x", 0, "A text.")])
    ...     read_bundle(path).generations[0].text
    'A text.'
    """
    with open_bundle(path, limits=limits) as folder:
        problems = Problems()
        if not (folder / STUDY_FILE).is_file():
            raise FormatError.of(STUDY_FILE, None, "file_missing", f"is missing from {path.name}")
        bundle = _BundleReader(folder, problems, limits).bundle()
        if check is not None:
            check(bundle, problems)
        problems.check()
        return bundle


class _BundleReader:
    """Reads all files of a bundle, even if one has problems, so all problems are reported."""

    def __init__(self, folder: Path, problems: Problems, limits: Limits) -> None:
        self.folder, self.problems, self.limits = folder, problems, limits
        self.spec_file = read_spec(folder, problems, limits)
        self.instances: dict[str, int] = {}  # line of each id, even if its row has other problems
        self.unread: dict[str, set[str]] = {}

    def bundle(self) -> Bundle:
        instances, instance_lines = self._instances()
        spec = self._spec()
        generations, generation_lines = self._generations(spec)
        found = (self.folder / f"ratings{suffix}" for suffix in SUFFIXES)  # JSONL is preferred
        path = next((file for file in found if file.is_file()), None)
        categories = {row.id: row.category for row in instances}
        ratings = self._ratings(path, spec, categories)
        pilot_file = self.folder / PILOT_RATINGS
        pilot = self._ratings(pilot_file if pilot_file.is_file() else None, spec, categories)
        if pilot is not None:
            self._check_pilot(pilot, ratings)
        tables = self._tables(spec, ratings)
        lines = Lines(self.spec_file.lines, instance_lines, generation_lines)
        self.unread[FILES] = self._other_files()
        unread = {file: tuple(sorted(names)) for file, names in self.unread.items() if names}
        return Bundle(spec, instances, generations, ratings, path, pilot, tables, lines, unread)

    def _ratings(
        self, path: Path | None, spec: StudySpec, categories: dict[str, str]
    ) -> RatingTable | None:
        if path is None:
            return None
        ratings = read_ratings(path, limits=self.limits, problems=self.problems)
        self.unread[path.name] = set(ratings.unread)
        self._check_ratings(ratings, spec, categories)
        return ratings

    def _check_pilot(self, pilot: RatingTable, ratings: RatingTable | None) -> None:
        """Check that the pilot's raters are machines that did not rate in the study itself."""
        here = set() if ratings is None else set(ratings.coded("rater").in_order)
        for i, line in enumerate(pilot.lines):
            with self.problems.at(pilot.name, int(line)):
                rater = pilot.value("rater", i)
                if pilot.value("kind", i) != "machine":
                    raise InvalidInput("not_a_machine", f"rater {rater!r} is not a machine")
                if rater in here:
                    reason = f"rater {rater!r} rated in the study, so its ratings there count"
                    raise InvalidInput("rater_of_study", reason)

    def _tables(self, spec: StudySpec, ratings: RatingTable | None) -> DesignTables:
        tables = read_tables(self.folder, self.problems, self.limits)
        for table in (tables.separability, tables.design):
            for row, line in zip(table.rows, table.lines, strict=True):
                with self.problems.at(table.name, int(line)):
                    self._check_known(row, spec)
        scales = {criterion.name: Scale.parse(criterion.scale) for criterion in spec.criteria}
        answers = tables.reference_answers
        for row, line in zip(answers.rows, answers.lines, strict=True):
            with self.problems.at(answers.name, int(line)):
                self._check_label(row["criterion"], row["expected"], scales)
        if ratings is not None and tables.design.is_present:
            self._check_rated_units(ratings, tables.design)
        return tables

    def _check_known(self, row: Row, spec: StudySpec) -> None:
        instance = row["instance"]
        if instance is not None and instance not in self.instances:
            raise InvalidInput("unknown_instance", f"instance {instance!r} is not in {INSTANCES}")
        systems = {*spec.systems, *spec.controls, None}
        for side in ("system_a", "system_b"):
            if row[side] not in systems and self._knows("systems", "controls"):
                raise InvalidInput("unknown_system", f"system {row[side]!r} is not in {STUDY_FILE}")

    def _check_label(self, criterion: str, label: Any, scales: dict[str, Scale]) -> None:
        if criterion in scales:
            scales[criterion].parse_label(label)
        elif self._knows("criteria"):
            raise InvalidInput(
                "unknown_criterion", f"criterion {criterion!r} is not in {STUDY_FILE}"
            )

    def _check_rated_units(self, ratings: RatingTable, design: Table) -> None:
        """Check that rated units are in the design, with the same texts."""
        facts = {row["unit"]: row for row in design.rows}
        known: set[str] = set()
        for i, unit in enumerate(ratings["unit"]):
            if unit in known:
                continue
            known.add(unit)
            with self.problems.at(ratings.name, int(ratings.lines[i])):
                if unit not in facts:
                    raise InvalidInput("unknown_unit", f"unit {unit!r} is not in {design.name}")
                rated = {
                    name: ratings.value(name, i) for name in ("instance", "system_a", "system_b")
                }
                rated["role"] = ratings.value("role", i).replace("repeat", "main")
                _check_same(rated, facts[unit], design.name)

    def _other_files(self) -> set[str]:
        known = {
            STUDY_FILE,
            INSTANCES,
            GENERATIONS,
            CODEBOOK,
            PILOT_RATINGS,
            MANIFEST,
            REPORT,
            *self.spec_file.files,
        }
        known |= {f"{name}{suffix}" for name in ("ratings", *_TABLES) for suffix in SUFFIXES}
        files = islice((path for path in self.folder.iterdir() if path.is_file()), MAX_FILES)
        return {path.name for path in files} - known

    def _spec(self) -> StudySpec:
        spec = self.spec_file.spec
        if spec.systems != (ALL_PAIRS,):
            return spec
        rows = self._rows(GENERATIONS, Problems())
        systems = systems_of_rows(row for _, row in rows)
        return replace(spec, systems=tuple(name for name in systems if name not in spec.controls))

    def _rows(self, name: str, problems: Problems) -> Iterator[tuple[int, Row]]:
        if not (self.folder / name).is_file():
            problems.add(name, None, "file_missing", "is missing from the bundle")
            return iter(())
        return read_jsonl(self.folder / name, problems, self.limits)

    def _instances(self) -> tuple[list[InstanceRow], Sequence[int]]:
        instances: list[InstanceRow] = []
        lines = array("q")
        for line, row in self._rows(INSTANCES, self.problems):
            with self.problems.at(INSTANCES, line):
                key = check_id("id", row.get("id"))
                if self.instances.setdefault(key, line) != line:
                    raise InvalidInput(
                        "duplicate_id", f"id {key!r} is already used on line {self.instances[key]}"
                    )
                instances.append(instance_of(key, row))
                lines.append(line)
        return instances, lines

    def _generations(self, spec: StudySpec) -> tuple[list[GenerationRow], Sequence[int]]:
        generations: list[GenerationRow] = []
        lines = array("q")
        line_of: dict[tuple[str, str, int], int] = {}
        is_dummy: dict[str, bool] = {}
        ignored = self.unread.setdefault(GENERATIONS, set())
        for line, row in self._rows(GENERATIONS, self.problems):
            with self.problems.at(GENERATIONS, line):
                generation = self._generation(row, spec)
                key = (generation.instance, generation.system, generation.sample_index)
                if line_of.setdefault(key, line) != line:
                    raise InvalidInput(
                        "duplicate_sample",
                        f"sample {key[2]} of system {key[1]!r} for instance {key[0]!r} is already"
                        f" on line {line_of[key]}",
                    )
                first = is_dummy.setdefault(generation.system, generation.is_dummy)
                # A control's texts are degraded copies, of real texts and of dummy texts.
                if first != generation.is_dummy and generation.system not in spec.controls:
                    raise InvalidInput(
                        "dummies_mixed",
                        f"system {generation.system!r} has both real texts and dummy texts",
                    )
                ignored.update(row.keys() - _GENERATION_COLUMNS)
                generations.append(generation)
                lines.append(line)
        return generations, lines

    def _generation(self, row: Row, spec: StudySpec) -> GenerationRow:
        generation = generation_of(row)
        if not generation.text.strip():
            raise InvalidInput("empty", "text is empty")
        if generation.instance not in self.instances:
            raise InvalidInput(
                "unknown_instance", f"instance {generation.instance!r} is not in {INSTANCES}"
            )
        systems = (*spec.systems, *spec.controls)
        if generation.system not in systems and self._knows("systems", "controls"):
            names = ", ".join(systems) or "none"
            raise InvalidInput(
                "unknown_system",
                f"system {generation.system!r} is not in {STUDY_FILE}; it lists {names}"[:300],
            )
        return generation

    def _knows(self, *settings: str) -> bool:
        """Whether these settings of study.toml could be read so that rows can be checked."""
        return self.spec_file.unreadable.isdisjoint(settings)

    def _check_ratings(
        self, ratings: RatingTable, spec: StudySpec, categories: dict[str, str]
    ) -> None:
        """Check that the criteria, labels, instances and systems of all ratings are known."""
        scales = {criterion.name: Scale.parse(criterion.scale) for criterion in spec.criteria}
        systems = {*spec.systems, *spec.controls, ""}
        knows_criteria = self._knows("criteria")
        knows_systems = self._knows("systems", "controls")
        for i, line in enumerate(ratings.lines):
            with self.problems.at(ratings.name, int(line)):
                criterion, label = ratings.value("criterion", i), ratings.value("label", i)
                if criterion not in scales and knows_criteria:
                    raise InvalidInput(
                        "unknown_criterion", f"criterion {criterion!r} is not in {STUDY_FILE}"
                    )
                if label is not None and criterion in scales:
                    scales[criterion].parse_label(label)
                probabilities = ratings.value("probabilities", i)
                if probabilities and criterion in scales:
                    label_probabilities(probabilities, scales[criterion])
                self._check_instance(ratings, i, categories)
                for side in ("system_a", "system_b"):
                    system = ratings.value(side, i)
                    if system not in systems and knows_systems:
                        raise InvalidInput(
                            "unknown_system", f"system {system!r} is not in {STUDY_FILE}"
                        )

    def _check_instance(self, ratings: RatingTable, i: int, categories: dict[str, str]) -> None:
        instance, category = ratings.value("instance", i), ratings.value("category", i)
        if instance and instance not in self.instances:
            raise InvalidInput("unknown_instance", f"instance {instance!r} is not in {INSTANCES}")
        if category and category != categories.get(instance, category):
            raise InvalidInput(
                "category_contradicts",
                f"category is {category!r}, but instance {instance!r} has the category"
                f" {categories[instance]!r} in {INSTANCES}",
            )


def _check_same(rated: Row, designed: Row, file: str) -> None:
    for name, value in rated.items():
        if value not in ("", designed[name] or ""):
            raise InvalidInput(
                "contradicts_design",
                f"{name} is {value!r}, but {designed[name]!r} in {file}"[:300],
            )


def instance_of(key: str, row: Row) -> InstanceRow:
    """Return a row of instances.jsonl. Raises `InvalidInput` for a cell that is not valid."""
    return InstanceRow(
        id=key,
        source=_optional_text(row, "source"),
        messages=_messages(row.get("messages")),
        category=_optional_text(row, "category"),
        reference=_optional_text(row, "reference"),
        metadata=_metadata(row),
    )


def _metadata(row: Row) -> dict[str, Any]:
    """Return the metadata object with all columns that the format does not define."""
    others = {name: value for name, value in row.items() if name not in _INSTANCE_COLUMNS}
    metadata = _object(row, "metadata")
    duplicates = others.keys() & metadata.keys()
    if duplicates:
        raise InvalidInput(
            "column_in_metadata", f"{min(duplicates)!r} is both a column and a key of metadata"
        )
    return metadata | others


def _object(row: Row, name: str) -> dict[str, Any]:
    value = row.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidInput("not_an_object", f"{name} must be an object, not {value!r}"[:200])
    return value or {}


def _messages(value: Any) -> list[Any]:
    if value is None:
        return []
    are_messages = isinstance(value, list) and all(
        isinstance(message, dict) and isinstance(message.get("content"), str) for message in value
    )
    if not are_messages:
        raise InvalidInput(
            "not_messages", "messages must be a list of objects with role and content"
        )
    return list(value)


def _optional_text(row: Row, name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput("not_a_text", f"{name} must be text, not {value!r}"[:200])
    return value


def generation_of(row: Row) -> GenerationRow:
    """Return a row of generations.jsonl. Raises `InvalidInput` for a cell that is not valid."""
    index, text, seed = row.get("sample_index"), row.get("text"), row.get("seed")
    index = 0 if index is None else index
    if isinstance(index, bool) or not isinstance(index, int):
        raise InvalidInput(
            "not_a_whole_number",
            f"sample_index must be 0 or a positive whole number, not {index!r}"[:200],
        )
    if not isinstance(text, str):
        raise InvalidInput("not_a_text", f"text must be a JSON string, not {text!r}"[:200])
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise InvalidInput("not_a_whole_number", f"seed must be a whole number, not {seed!r}"[:200])
    is_dummy = row.get("is_dummy", False)
    if not isinstance(is_dummy, bool):
        raise InvalidInput(
            "not_a_truth_value", f"is_dummy must be true or false, not {is_dummy!r}"[:200]
        )
    instance, system = (
        check_id("instance", row.get("instance")),
        check_id("system", row.get("system")),
    )
    return GenerationRow(instance, system, index, text, seed, _object(row, "params"), is_dummy)


_INSTANCE_COLUMNS = frozenset(column.name for column in fields(InstanceRow))
_GENERATION_COLUMNS = frozenset(column.name for column in fields(GenerationRow))


def write_bundle(
    path: Path,
    spec: StudySpec,
    instances: Iterable[InstanceRow],
    generations: Iterable[GenerationRow],
    *,
    extra: Callable[[Path], object] | None = None,
) -> None:
    """Write a study bundle to a folder, completely or not at all.

    Parameters
    ----------
    path : Path
        Folder of the bundle. If the folder exists, it must be empty.
    spec : StudySpec
        Design of the study.
    instances : iterable of InstanceRow
        Instances of the study.
    generations : iterable of GenerationRow
        Generations of the study.
    extra : callable, optional
        Function that is called with the folder and writes more files into it, such as ratings.

    Raises
    ------
    OSError
        If the folder cannot be written.

    See Also
    --------
    read_bundle : Read a bundle.
    write_rows : Write ratings.

    Examples
    --------
    >>> import tempfile
    >>> criterion = CriterionSpec("preference", "preference", "Which?")
    >>> spec = StudySpec("Notes", (criterion,), ("x", "y"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bundle(Path(folder) / "bundle", spec, [InstanceRow("i")], [])
    ...     sorted(path.name for path in (Path(folder) / "bundle").iterdir())
    ['generations.jsonl', 'instances.jsonl', 'study.toml']
    """
    with atomic_folder(path) as folder:
        write_design(folder, spec, instances, generations)
        if extra is not None:
            extra(folder)


def write_design(
    folder: Path,
    spec: StudySpec,
    instances: Iterable[InstanceRow],
    generations: Iterable[GenerationRow],
) -> None:
    """Write the files of a bundle that every bundle has into an existing folder."""
    write_spec(folder, spec)
    _write_jsonl(folder / INSTANCES, instances)
    _write_jsonl(folder / GENERATIONS, generations)


def _write_jsonl(path: Path, rows: Iterable[InstanceRow | GenerationRow]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            values = {column.name: getattr(row, column.name) for column in fields(row)}
            present = {
                k: v for k, v in values.items() if v not in (None, "", [], {}) and v is not False
            }
            file.write(json.dumps(present, ensure_ascii=False, allow_nan=False) + "\n")
