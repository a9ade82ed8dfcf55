"""study.toml: a study's design as its bundle says it."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_cells, check_id, check_name, check_text
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import Limits
from tiebreak.scales import Scale

ALL_PAIRS = "all-pairs"
STUDY_FILE = "study.toml"
MAX_SYSTEMS = 1000
MAX_CRITERIA = 100
_IN_LINE = re.compile(r" \(at line (\d+), column \d+\)$")


@dataclass(frozen=True)
class CriterionSpec:
    """Criterion of a study.

    Attributes
    ----------
    name : str
        Name of the criterion.
    scale : str
        Its scale, see `tiebreak.scales.Scale.parse`.
    question : str
        Question that annotators are asked.
    """

    name: str
    scale: str
    question: str


@dataclass(frozen=True)
class StudySpec:
    """Design of a study, as study.toml has it.

    Attributes
    ----------
    title : str
        Title of the study.
    criteria : tuple of CriterionSpec
        What is rated.
    systems : tuple of str
        Systems in canonical order: the first is A.
    controls : tuple of str
        Systems that compete with nobody: they made the degraded texts of reference units.
    guidelines, consent : str
        Texts for annotators.
    ratings_per_hit : int
        Number R of annotators that rate each HIT.
    comparisons_per_hit : int
        Number N of units in a HIT.
    bundling : {"instance", "mixed"}
        Whether the units of a HIT are of one instance.
    repeats_per_hit, repeat_distance : int
        Number of planned repeats in a HIT, and units between a unit and its repeat.
    abandoned : {"whole_hit", "units"}
        What of an abandoned HIT is rated again.
    unit_kind : {"comparison", "generation"}
        What is rated.
    hits_per_annotator, hits_per_day : int or None
        Most HITs of an annotator, and on one day.
    most_answers, most_answers_per_day : int or None
        Most answers of the study, and on one day.
    lease_minutes : float
        How long a place is held.
    similarity : str
        Name of the similarity for separability.
    pairs : set of (str, str)
        Pairs of systems.
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
        """Pairs of systems, in canonical order."""
        return set(combinations(self.systems, 2))


@dataclass(frozen=True)
class SpecLines:
    """Where study.toml says what."""

    settings: Mapping[str, int] = field(default_factory=dict)
    criteria: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> "SpecLines":
        lines = text.splitlines()
        found: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            key = re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line)
            if key:
                found.setdefault(key[1], number)
        criteria = [n for n, line in enumerate(lines, start=1) if re.match(r"\s*\[\[", line)]
        return cls(found, tuple(criteria))

    def of_criterion(self, position: int) -> int | None:
        return self.criteria[position] if position < len(self.criteria) else None


@dataclass(frozen=True)
class ReadSpec:
    """What could be read of study.toml: what is wrong with the rest stands among the problems."""

    spec: StudySpec
    lines: SpecLines
    # Settings that could not be read, so that nothing is said of what hangs on them.
    unknown: frozenset[str] = frozenset()
    # The files that it names for its texts.
    files: frozenset[str] = frozenset()


def read_spec(folder: Path, problems: Problems, limits: Limits) -> ReadSpec:
    """study.toml with the texts it names. Adds every problem there is; raises nothing."""
    everything = frozenset(each.name for each in fields(StudySpec))
    text = _text_of(folder / STUDY_FILE, problems, limits)
    raw = None if text is None else _parsed(text, problems)
    if text is None or raw is None:
        return ReadSpec(StudySpec("", ()), SpecLines(), everything)
    lines = SpecLines.of(text)
    given, raw = raw.keys() & everything, _storable(raw, lines, problems, limits)
    for name in sorted(raw.keys() - everything):
        allowed = ", ".join(sorted(everything))
        reason = f"{name[:100]} is not a setting of a study; it has {allowed}"
        problems.add(STUDY_FILE, lines.settings.get(name), "unknown_setting", reason)
    if not {"title", "criteria"} <= given:
        reason = "needs a title and at least one [[criteria]]"
        problems.add(STUDY_FILE, None, "setting_missing", reason)
    values = _settings(raw, lines, problems)
    for name in {"guidelines", "consent"} & values.keys():
        with problems.at(STUDY_FILE, lines.settings.get(name)):
            values[name] = _text_or_file(folder, values[name], problems, limits)
    unknown = frozenset({*given, "title", "criteria"} - values.keys())
    files = frozenset(str(raw[name]) for name in ("guidelines", "consent") if name in raw)
    spec = StudySpec(**({"title": "", "criteria": ()} | values))
    return ReadSpec(spec, lines, unknown, files)


def _parsed(text: str, problems: Problems) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except RecursionError:
        problems.add(STUDY_FILE, None, "nested_too_deep", "is nested too deep")
    except tomllib.TOMLDecodeError as error:
        where = _IN_LINE.search(str(error))
        reason = f"is not TOML: {_IN_LINE.sub('', str(error))}"
        problems.add(STUDY_FILE, int(where[1]) if where else None, "not_toml", reason)
    except ValueError as error:
        problems.add(STUDY_FILE, None, "not_toml", str(error))
    return None


def _storable(
    raw: dict[str, Any], lines: SpecLines, problems: Problems, limits: Limits
) -> dict[str, Any]:
    """The settings without those that no database could keep."""
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        with problems.at(STUDY_FILE, lines.settings.get(name)):
            kept |= check_cells({name: value}, limits.cell)
    return kept


def _settings(raw: Mapping[str, Any], lines: SpecLines, problems: Problems) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, check in _SETTINGS.items():
        if name in raw:
            with problems.at(STUDY_FILE, lines.settings.get(name)):
                values[name] = check(name, raw[name])
    if isinstance(raw.get("criteria"), list):
        values |= _criteria(raw["criteria"], lines, problems)
    elif "criteria" in raw:
        reason = "needs at least one [[criteria]]"
        problems.add(STUDY_FILE, lines.settings.get("criteria"), "no_criteria", reason)
    both = set(values.get("systems", ())) & set(values.get("controls", ()))
    if both:
        reason = f"{min(both)!r} cannot be a system and a control"
        problems.add(STUDY_FILE, lines.settings.get("controls"), "system_is_control", reason)
    return values


def _setting_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput("not_a_text", f"{name} must be a text")
    return value


def _title(name: str, value: Any) -> str:
    if not _setting_text(name, value).strip():
        raise InvalidInput("empty", f"{name} is empty")
    return check_name(name, value)


def _setting_number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(
            "not_a_whole_number", f"{name} must be a whole number, not {value!r}"[:200]
        )
    return value


def _setting_minutes(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(
            "not_minutes", f"{name} must be a number of minutes, not {value!r}"[:200]
        )
    return value


def _systems(name: str, value: Any) -> tuple[str, ...]:
    if value == ALL_PAIRS and name == "systems":
        return (ALL_PAIRS,)
    if not isinstance(value, list) or not value:
        raise InvalidInput(
            "not_names", f'{name} must be a list of different names, or "{ALL_PAIRS}"'
        )
    if len(value) > MAX_SYSTEMS:
        raise InvalidInput(
            "too_many_systems", f"{name} names {len(value)} systems; at most {MAX_SYSTEMS} are read"
        )
    names = tuple(check_id("a system's name", each) for each in value)
    if len(set(names)) < len(names):
        raise InvalidInput(
            "repeated_name", f"{name} must be a list of different names: one stands there twice"
        )
    return names


def _criteria(rows: list[Any], lines: SpecLines, problems: Problems) -> dict[str, Any]:
    """The criteria if each can be read; else nothing, and what is wrong with them."""
    if not 0 < len(rows) <= MAX_CRITERIA:
        reason = f"needs at least one [[criteria]], and {MAX_CRITERIA} at most"
        problems.add(STUDY_FILE, None, "no_criteria" if not rows else "too_many_criteria", reason)
        return {}
    found: list[CriterionSpec] = []
    for position, row in enumerate(rows):
        with problems.at(STUDY_FILE, lines.of_criterion(position)):
            criterion = _criterion(row)
            if criterion.name in {each.name for each in found}:
                raise InvalidInput(
                    "duplicate_criterion", f"the criterion {criterion.name!r} is named twice"
                )
            found.append(criterion)
    return {"criteria": tuple(found)} if len(found) == len(rows) else {}


def _criterion(row: Any) -> CriterionSpec:
    if not isinstance(row, dict) or row.keys() - {"name", "scale", "question"}:
        raise InvalidInput(
            "not_a_criterion", "a criterion has a name, a scale and a question, and nothing else"
        )
    scale = _setting_text("scale", row.get("scale", "preference:tie"))
    name = check_id("the name of a criterion", row.get("name"))
    question = _setting_text("question", row.get("question", ""))
    return CriterionSpec(name, Scale.parse(scale).spec, question)


_NUMBERS = (
    "ratings_per_hit",
    "comparisons_per_hit",
    "repeats_per_hit",
    "repeat_distance",
    "hits_per_annotator",
    "hits_per_day",
    "most_answers",
    "most_answers_per_day",
)
_TEXTS = ("guidelines", "consent", "bundling", "abandoned", "unit_kind", "similarity")
# What type each setting has. What its value may be, the study's own model says on import.
_SETTINGS: dict[str, Callable[[str, Any], Any]] = (
    {"title": _title, "systems": _systems, "controls": _systems}
    | {"lease_minutes": _setting_minutes}
    | dict.fromkeys(_NUMBERS, _setting_number)
    | dict.fromkeys(_TEXTS, _setting_text)
)


def _text_or_file(folder: Path, value: str, problems: Problems, limits: Limits) -> str:
    """The text itself, or that of a .md or .txt file which must lie in the bundle."""
    if "\n" in value or not value.endswith((".md", ".txt")) or len(value.encode()) > 255:
        return value
    if Path(value).name != value:
        raise InvalidInput("unsafe_path", f"{value!r} must name a file of the bundle itself")
    if not (folder / value).is_file():
        problems.add(value, None, "file_missing", "is missing: study.toml names it")
        return ""
    return _text_of(folder / value, problems, limits) or ""


def _text_of(path: Path, problems: Problems, limits: Limits) -> str | None:
    """A small text file as it is: its ends of lines too."""
    if path.stat().st_size > limits.line:
        problems.add(path.name, None, "file_too_long", f"is longer than {limits.line} bytes")
        return None
    raw = path.read_bytes()
    try:
        return check_text("the text", raw.decode("utf-8-sig"), limits.cell)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problems.add(path.name, line, "not_utf8", "is not UTF-8 text")
    except InvalidInput as error:
        problems.add(path.name, None, error.code, error.message)
    return None


def systems_of_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every system of the generations, in the order of their first appearance."""
    found: dict[str, None] = {}
    for row in rows:
        name = row.get("system")
        if isinstance(name, str) and len(found) < MAX_SYSTEMS:
            found[name] = None
    return tuple(found)


def write_spec(folder: Path, spec: StudySpec) -> None:
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
