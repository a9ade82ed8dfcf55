"""A study bundle: a folder, or its .zip, with everything that a study is made of."""

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from metrics.stats.scales import Scale
from studies.formats.archive import extract
from studies.formats.errors import FormatError, Problem, Problems
from studies.formats.ratings import SUFFIXES, RatingTable, check_id, read_ratings
from studies.formats.rows import MAX_CELL, Row, read_jsonl
from studies.formats.writing import atomic_folder

ALL_PAIRS = "all-pairs"
BUNDLINGS = ("instance", "mixed")
ABANDONED = ("whole_hit", "units")
UNIT_KINDS = ("comparison", "generation")


@dataclass(frozen=True)
class CriterionSpec:
    name: str
    scale: str
    question: str


@dataclass(frozen=True)
class StudySpec:
    """study.toml. `systems` are in canonical order: the first is A.

    `controls` compete with nobody: they made the spoilt texts of units with a known answer.
    """

    title: str
    criteria: tuple[CriterionSpec, ...]
    systems: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    guidelines: str = ""
    consent: str = ""
    ratings_per_hit: int = 3
    comparisons_per_hit: int = 5
    bundling: str = "instance"
    repeats_per_hit: int = 0
    repeat_distance: int = 3
    abandoned: str = "whole_hit"
    unit_kind: str = "comparison"
    hits_per_annotator: int | None = None
    hits_per_day: int | None = None
    most_answers: int | None = None
    most_answers_per_day: int | None = None
    lease_minutes: float = 30
    similarity: str = "rouge1"

    @property
    def pairs(self) -> set[tuple[str, str]]:
        return set(combinations(self.systems, 2))


@dataclass(frozen=True)
class InstanceRow:
    id: str
    source: str = ""
    messages: list[Any] = field(default_factory=list)
    category: str = ""
    reference: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GenerationRow:
    instance: str
    system: str
    sample_index: int
    text: str
    seed: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    is_dummy: bool = False


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read and found whole."""

    spec: StudySpec
    instances: list[InstanceRow]
    generations: list[GenerationRow]
    ratings: RatingTable | None = None
    ratings_path: Path | None = None


@contextmanager
def opened_bundle(path: Path) -> Iterator[Path]:
    """The bundle as a folder: a .zip is unpacked, within bounds, for as long as it is needed."""
    with ExitStack() as stack:
        if path.suffix == ".zip":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tiebreak-")))
            path = extract(path, folder)
        yield path


def read_bundle(path: Path, *, max_cell: int = MAX_CELL) -> Bundle:
    """Read and check a whole bundle; `FormatError` names every bad row with line and reason."""
    with opened_bundle(path) as folder:
        problems = Problems()
        if not (folder / "study.toml").is_file():
            raise FormatError([Problem("study.toml", None, f"is missing in {path.name}")])
        spec = _read_spec(folder, problems)
        instances = _read_instances(folder, problems, max_cell)
        generations = _read_generations(folder, spec, {i.id for i in instances}, problems, max_cell)
        problems.check()
        ratings_path = find_ratings(folder)
        ratings = read_ratings(ratings_path, max_cell=max_cell) if ratings_path else None
        if ratings is not None:
            _check_ratings(ratings, spec, {i.id for i in instances})
        return Bundle(spec, instances, generations, ratings, ratings_path)


def find_ratings(folder: Path) -> Path | None:
    """The bundle's ratings file, if it has one; JSONL before CSV before Parquet."""
    candidates = (folder / f"ratings{suffix}" for suffix in SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def _read_spec(folder: Path, problems: Problems) -> StudySpec:
    try:
        raw = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError([Problem("study.toml", None, f"is not TOML: {error}")]) from error
    known = {each.name for each in fields(StudySpec)}
    for name in sorted(raw.keys() - known):
        allowed = ", ".join(sorted(known))
        problems.add("study.toml", None, f"{name} is not a setting of a study; it has {allowed}")
    values: Row = {}
    for name, check in _SETTINGS.items():
        if name in raw:
            try:
                values[name] = check(name, raw[name])
            except ValueError as error:
                problems.add("study.toml", None, str(error))
    if "title" not in raw or "criteria" not in raw:
        problems.add("study.toml", None, "needs a title and at least one [[criteria]]")
    problems.check()
    for name in ("guidelines", "consent"):
        values[name] = _text_or_file(folder, values.get(name, ""), problems)
    if values.get("systems") == (ALL_PAIRS,):
        values["systems"] = _systems_of_generations(folder)
    problems.check()
    return StudySpec(**values)


def _setting_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")
    return value


def _setting_number(name: str, value: Any, *, least: int = 1, most: int = 10_000) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return value


def _setting_minutes(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 1e5:
        raise ValueError(f"{name} must be a number of minutes from 0.1, not {value!r}")
    return value


def _one_of(allowed: tuple[str, ...]) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        return str(value)

    return check


def _systems(name: str, value: Any) -> tuple[str, ...]:
    if value == ALL_PAIRS:
        return (ALL_PAIRS,)
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        raise ValueError(f'{name} must be a list of different names, or "{ALL_PAIRS}"')
    return tuple(check_id("a system's name", each) for each in value)


def _criteria(name: str, value: Any) -> tuple[CriterionSpec, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("study.toml needs at least one [[criteria]]")
    found = []
    for row in value:
        if not isinstance(row, dict) or row.keys() - {"name", "scale", "question"}:
            raise ValueError("a criterion has a name, a scale and a question, and nothing else")
        scale = Scale.parse(str(row.get("scale", "preference:tie"))).spec
        found.append(
            CriterionSpec(check_id("name", row.get("name")), scale, str(row.get("question", "")))
        )
    if len({each.name for each in found}) < len(found):
        raise ValueError(f"{name} names a criterion twice")
    return tuple(found)


_limit = partial(_setting_number, most=100_000_000)
_SETTINGS: dict[str, Callable[[str, Any], Any]] = {
    "title": check_id,
    "criteria": _criteria,
    "systems": _systems,
    "controls": _systems,
    "guidelines": _setting_text,
    "consent": _setting_text,
    "ratings_per_hit": _setting_number,
    "comparisons_per_hit": _setting_number,
    "bundling": _one_of(BUNDLINGS),
    "repeats_per_hit": partial(_setting_number, least=0),
    "repeat_distance": _setting_number,
    "abandoned": _one_of(ABANDONED),
    "unit_kind": _one_of(UNIT_KINDS),
    "hits_per_annotator": _limit,
    "hits_per_day": _limit,
    "most_answers": _limit,
    "most_answers_per_day": _limit,
    "lease_minutes": _setting_minutes,
    "similarity": _setting_text,
}


def _text_or_file(folder: Path, value: str, problems: Problems) -> str:
    """The text itself, or that of a .md or .txt file which must lie in the bundle."""
    if "\n" in value or not value.endswith((".md", ".txt")):
        return value
    if Path(value).name != value:
        problems.add("study.toml", None, f"{value!r} must name a file of the bundle itself")
        return ""
    if not (folder / value).is_file():
        problems.add(value, None, "is missing: study.toml names it")
        return ""
    return (folder / value).read_text(encoding="utf-8")


def _systems_of_generations(folder: Path) -> tuple[str, ...]:
    """Every system of the generations, in the order of their first appearance."""
    rows = _rows(folder, "generations.jsonl", Problems(), MAX_CELL)
    return tuple(dict.fromkeys(str(row.get("system")) for _, row in rows))


def _rows(folder: Path, name: str, problems: Problems, max_cell: int) -> Iterator[tuple[int, Row]]:
    if not (folder / name).is_file():
        problems.add(name, None, "is missing in the bundle")
        return iter(())
    return read_jsonl(folder / name, problems, max_cell)


def _read_instances(folder: Path, problems: Problems, max_cell: int) -> list[InstanceRow]:
    found: list[InstanceRow] = []
    seen: dict[str, int] = {}
    for line, row in _rows(folder, "instances.jsonl", problems, max_cell):
        with problems.at("instances.jsonl", line):
            instance = _instance(row)
            if instance.id in seen:
                raise ValueError(f"id {instance.id!r} stands in line {seen[instance.id]} already")
            seen[instance.id] = line
            found.append(instance)
    return found


def _instance(row: Row) -> InstanceRow:
    known = {each.name for each in fields(InstanceRow)}
    metadata = {**row.get("metadata", {}), **{k: v for k, v in row.items() if k not in known}}
    return InstanceRow(
        id=check_id("id", row.get("id")),
        source=_optional_text(row, "source"),
        messages=_messages(row.get("messages")),
        category=_optional_text(row, "category")[:200],
        reference=_optional_text(row, "reference"),
        metadata=metadata,
    )


def _messages(value: Any) -> list[Any]:
    if value is None:
        return []
    turns = isinstance(value, list) and all(
        isinstance(turn, dict) and isinstance(turn.get("content"), str) for turn in value
    )
    if not turns:
        raise ValueError("messages must be a list of turns with role and content")
    return list(value)


def _optional_text(row: Row, name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text, not {value!r}"[:200])
    return value


def _read_generations(
    folder: Path, spec: StudySpec, instances: set[str], problems: Problems, max_cell: int
) -> list[GenerationRow]:
    found: list[GenerationRow] = []
    seen: dict[tuple[str, str, int], int] = {}
    # Spoilt copies are made of either kind.
    is_dummy: dict[str, bool] = {}
    for line, row in _rows(folder, "generations.jsonl", problems, max_cell):
        with problems.at("generations.jsonl", line):
            generation = _generation(row, (*spec.systems, *spec.controls), instances)
            key = (generation.instance, generation.system, generation.sample_index)
            if key in seen:
                raise ValueError(f"sample {key} stands in line {seen[key]} already")
            known = is_dummy.setdefault(generation.system, generation.is_dummy)
            if known != generation.is_dummy and generation.system not in spec.controls:
                raise ValueError(f"system {generation.system!r} has real texts and dummy texts")
            seen[key] = line
            found.append(generation)
    return found


def _generation(row: Row, systems: Sequence[str], instances: set[str]) -> GenerationRow:
    instance, system = check_id("instance", row.get("instance")), row.get("system")
    if instance not in instances:
        raise ValueError(f"instance {instance!r} is not in instances.jsonl")
    if system not in systems:
        raise ValueError(f"system {system!r} is unknown; study.toml has {', '.join(systems)}"[:300])
    index, text, seed = row.get("sample_index", 0), row.get("text"), row.get("seed")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index <= 32_000:
        raise ValueError(f"sample_index must be a whole number from 0, not {index!r}"[:200])
    if not isinstance(text, str) or not text.strip():
        raise ValueError("text is empty")
    if seed is not None and not isinstance(seed, int):
        raise ValueError("seed must be a whole number")
    params = row.get("params") or {}
    if not isinstance(params, dict):
        raise ValueError("params must be an object")
    is_dummy = row.get("is_dummy", False)
    if not isinstance(is_dummy, bool):
        raise ValueError("is_dummy must be true or false")
    return GenerationRow(instance, str(system), index, text, seed, params, is_dummy)


def _check_ratings(ratings: RatingTable, spec: StudySpec, instances: set[str]) -> None:
    """Every rating's criterion, label, instance and systems are the bundle's own."""
    problems = Problems()
    scales = {each.name: Scale.parse(each.scale) for each in spec.criteria}
    systems = {*spec.systems, *spec.controls, ""}
    for i, line in enumerate(ratings.lines):
        with problems.at(ratings.name, int(line)):
            criterion, label = ratings["criterion"][i], ratings["label"][i]
            if criterion not in scales:
                raise ValueError(f"criterion {criterion!r} is not in study.toml")
            if label is not None:
                scales[criterion].parse_label(label)
            if ratings["instance"][i] and ratings["instance"][i] not in instances:
                raise ValueError(f"instance {ratings['instance'][i]!r} is not in instances.jsonl")
            for side in ("system_a", "system_b"):
                if ratings[side][i] not in systems:
                    raise ValueError(f"system {ratings[side][i]!r} is not in study.toml")
    problems.check()


def write_bundle(
    path: Path,
    spec: StudySpec,
    instances: Iterable[InstanceRow],
    generations: Iterable[GenerationRow],
    *,
    extra: Callable[[Path], None] | None = None,
) -> None:
    """Write a bundle folder, whole or not at all. `extra` may put more files into it."""
    with atomic_folder(path) as folder:
        _write_spec(folder, spec)
        _write_jsonl(folder / "instances.jsonl", instances)
        _write_jsonl(folder / "generations.jsonl", generations)
        if extra is not None:
            extra(folder)


def _write_spec(folder: Path, spec: StudySpec) -> None:
    lines = []
    for each in fields(spec):
        value = getattr(spec, each.name)
        if each.name in {"guidelines", "consent"} and value:
            (folder / f"{each.name}.md").write_text(value, encoding="utf-8")
            value = f"{each.name}.md"
        if each.name != "criteria" and value not in (None, "", ()):
            lines.append(f"{each.name} = {_toml(value)}")
    for criterion in spec.criteria:
        lines.append("\n[[criteria]]")
        lines += [
            f"{each.name} = {_toml(getattr(criterion, each.name))}" for each in fields(criterion)
        ]
    (folder / "study.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # A JSON string, number or list of strings is the same in TOML, but for the DEL character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_jsonl(path: Path, rows: Iterable[InstanceRow | GenerationRow]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            values = {each.name: getattr(row, each.name) for each in fields(row)}
            kept = {
                k: v for k, v in values.items() if v not in (None, "", [], {}) and v is not False
            }
            file.write(json.dumps(kept, ensure_ascii=False, allow_nan=False) + "\n")
