"""Reading and writing study.toml, which holds the design of a bundle's study."""

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
_LINE_SUFFIX = re.compile(r" \(at line (\d+), column \d+\)$")


@dataclass(frozen=True)
class CriterionSpec:
    """A criterion of a study."""

    name: str
    """Name of the criterion."""
    scale: str
    """Scale of the criterion; see `tiebreak.scales.Scale.parse`."""
    question: str
    """Question that annotators are asked."""
    reason: str = "none"
    """Whether annotators give a reason: none, optional or required. The server knows the choices."""
    reason_length: int = 20
    """Minimum length of a required reason, in characters."""


@dataclass(frozen=True)
class StudySpec:
    """Design of a study, as study.toml has it."""

    title: str
    """Title of the study."""
    criteria: tuple[CriterionSpec, ...]
    """Criteria that annotators rate."""
    systems: tuple[str, ...] = ()
    """Systems, in system order. The first is system A."""
    controls: tuple[str, ...] = ()
    """Names of systems that only provide the degraded texts of reference units, and are not
    compared with other systems."""
    guidelines: str = ""
    consent: str = ""
    """Texts for annotators."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The other settings, by name, such as ``ratings_per_hit``. The server knows them and their
    limits; here they are only read and written."""

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """Pairs of systems, in system order."""
        return set(combinations(self.systems, 2))


@dataclass(frozen=True)
class SpecLines:
    """Line numbers of the settings and criteria in study.toml."""

    settings: Mapping[str, int] = field(default_factory=dict)
    criteria: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> "SpecLines":
        lines = text.splitlines()
        settings: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            key = re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line)
            if key:
                settings.setdefault(key[1], number)
        criteria = [n for n, line in enumerate(lines, start=1) if re.match(r"\s*\[\[", line)]
        return cls(settings, tuple(criteria))

    def of_criterion(self, index: int) -> int | None:
        return self.criteria[index] if index < len(self.criteria) else None


@dataclass(frozen=True)
class SpecFile:
    """The valid settings of study.toml; the others are reported as problems."""

    spec: StudySpec
    lines: SpecLines
    # Settings with problems. What depends on them cannot be checked.
    unreadable: frozenset[str] = frozenset()
    # Names of the text files that study.toml refers to.
    files: frozenset[str] = frozenset()


def read_spec(folder: Path, problems: Problems, limits: Limits) -> SpecFile:
    """Read study.toml and the text files that it refers to; problems are added, not raised."""
    text = _read_text(folder / STUDY_FILE, problems, limits)
    raw = None if text is None else _parse_toml(text, problems)
    if text is None or raw is None:
        return SpecFile(StudySpec("", ()), SpecLines(), frozenset(_ENVELOPE))
    lines = SpecLines.of(text)
    present, raw = raw.keys(), _storable(raw, lines, problems, limits)
    if not {"title", "criteria"} <= present:
        reason = "must have a title and at least one [[criteria]] section"
        problems.add(STUDY_FILE, None, "setting_missing", reason)
    values = _envelope(raw, lines, problems)
    for name in _TEXTS & values.keys():
        with problems.at(STUDY_FILE, lines.settings.get(name)):
            values[name] = _text_or_file(folder, values[name], problems, limits)
    unreadable = frozenset({*(present & _ENVELOPE), "title", "criteria"} - values.keys())
    files = frozenset(str(raw[name]) for name in _TEXTS if name in raw)
    settings = {name: value for name, value in raw.items() if name not in _ENVELOPE}
    spec = StudySpec(**({"title": "", "criteria": ()} | values), settings=settings)
    return SpecFile(spec, lines, unreadable, files)


def _parse_toml(text: str, problems: Problems) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except RecursionError:
        problems.add(STUDY_FILE, None, "nested_too_deep", "is nested too deeply")
    except tomllib.TOMLDecodeError as error:
        line = _LINE_SUFFIX.search(str(error))
        reason = f"is not valid TOML ({_LINE_SUFFIX.sub('', str(error))})"
        problems.add(STUDY_FILE, int(line[1]) if line else None, "not_toml", reason)
    except ValueError as error:
        problems.add(STUDY_FILE, None, "not_toml", f"is not valid TOML ({error})")
    return None


def _storable(
    raw: dict[str, Any], lines: SpecLines, problems: Problems, limits: Limits
) -> dict[str, Any]:
    """Return the settings that a database can store."""
    storable: dict[str, Any] = {}
    for name, value in raw.items():
        with problems.at(STUDY_FILE, lines.settings.get(name)):
            storable |= check_cells({name: value}, limits.cell)
    return storable


def _envelope(raw: Mapping[str, Any], lines: SpecLines, problems: Problems) -> dict[str, Any]:
    """Return the valid values of everything but the settings."""
    values: dict[str, Any] = {}
    for name, check in _CHECKS.items():
        if name in raw:
            with problems.at(STUDY_FILE, lines.settings.get(name)):
                values[name] = check(name, raw[name])
    if isinstance(raw.get("criteria"), list):
        values |= _criteria(raw["criteria"], lines, problems)
    elif "criteria" in raw:
        reason = "must have at least one [[criteria]] section"
        problems.add(STUDY_FILE, lines.settings.get("criteria"), "no_criteria", reason)
    both = set(values.get("systems", ())) & set(values.get("controls", ()))
    if both:
        reason = f"{min(both)!r} is listed both as a system and as a control"
        problems.add(STUDY_FILE, lines.settings.get("controls"), "system_is_control", reason)
    return values


def _setting_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput("not_a_text", f"{name} must be text, not {value!r}"[:200])
    return value


def _title(name: str, value: Any) -> str:
    if not _setting_text(name, value).strip():
        raise InvalidInput("empty", f"{name} is empty")
    return check_name(name, value)


def _systems(name: str, value: Any) -> tuple[str, ...]:
    if value == ALL_PAIRS and name == "systems":
        return (ALL_PAIRS,)
    if not isinstance(value, list) or not value:
        raise InvalidInput(
            "not_names", f'{name} must be a list of different names, or "{ALL_PAIRS}"'
        )
    if len(value) > MAX_SYSTEMS:
        raise InvalidInput(
            "too_many_systems", f"{name} has {len(value)} entries, but the limit is {MAX_SYSTEMS}"
        )
    names = tuple(check_id("a system's name", name) for name in value)
    if len(set(names)) < len(names):
        raise InvalidInput(
            "repeated_name", f"{name} must be a list of different names, but a name is repeated"
        )
    return names


def _criteria(rows: list[Any], lines: SpecLines, problems: Problems) -> dict[str, Any]:
    """Return the criteria if all of them are valid, and otherwise only add problems."""
    if not 0 < len(rows) <= MAX_CRITERIA:
        reason = f"must have 1 to {MAX_CRITERIA} [[criteria]] sections; it has {len(rows)}"
        problems.add(STUDY_FILE, None, "no_criteria" if not rows else "too_many_criteria", reason)
        return {}
    criteria: dict[str, CriterionSpec] = {}
    for index, row in enumerate(rows):
        with problems.at(STUDY_FILE, lines.of_criterion(index)):
            criterion = _criterion(row)
            if criterion.name in criteria:
                raise InvalidInput(
                    "duplicate_criterion", f"two criteria have the name {criterion.name!r}"
                )
            criteria[criterion.name] = criterion
    return {"criteria": tuple(criteria.values())} if len(criteria) == len(rows) else {}


def _criterion(row: Any) -> CriterionSpec:
    if not isinstance(row, dict) or row.keys() - _CRITERION.keys():
        raise InvalidInput(
            "not_a_criterion", f"a criterion may only have the keys {', '.join(_CRITERION)}"
        )
    scale = _setting_text("scale", row.get("scale", "preference:tie"))
    name = check_id("the name of a criterion", row.get("name"))
    question = _setting_text("question", row.get("question", ""))
    reason = _setting_text("reason", row.get("reason", _CRITERION["reason"]))
    least = row.get("reason_length", _CRITERION["reason_length"])
    if isinstance(least, bool) or not isinstance(least, int):
        raise InvalidInput(
            "not_a_whole_number", f"reason_length must be a whole number, not {least!r}"[:200]
        )
    return CriterionSpec(name, Scale.parse(scale).spec, question, reason, least)


# The keys of a criterion, with the values that are not written because they are the defaults.
_CRITERION = {one.name: one.default for one in fields(CriterionSpec)}


_TEXTS = {"guidelines", "consent"}
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "title": _title,
    "systems": _systems,
    "controls": _systems,
    "guidelines": _setting_text,
    "consent": _setting_text,
}
_ENVELOPE = {*_CHECKS, "criteria"}


def _text_or_file(folder: Path, value: str, problems: Problems, limits: Limits) -> str:
    """Return the value itself, or the text of the .md or .txt file that it names."""
    if "\n" in value or not value.endswith((".md", ".txt")) or len(value.encode()) > 255:
        return value
    if Path(value).name != value:
        raise InvalidInput(
            "unsafe_path", f"{value!r} must be the name of a file in the bundle's folder"
        )
    if not (folder / value).is_file():
        problems.add(value, None, "file_missing", "is missing, but study.toml refers to it")
        return ""
    return _read_text(folder / value, problems, limits) or ""


def _read_text(path: Path, problems: Problems, limits: Limits) -> str | None:
    """Return a file's text with its line endings unchanged, or None if it has problems."""
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
    """Return all systems of the generations, in the order in which they first appear."""
    systems: dict[str, None] = {}
    for row in rows:
        name = row.get("system")
        if isinstance(name, str) and len(systems) < MAX_SYSTEMS:
            systems[name] = None
    return tuple(systems)


def write_spec(folder: Path, spec: StudySpec) -> None:
    """Write study.toml, and the guidelines and the consent in separate files."""
    lines = []
    for name, value in {**vars(spec), **spec.settings}.items():
        if name in _TEXTS and value:
            (folder / f"{name}.md").write_text(value, encoding="utf-8")
            lines.append(f"{name} = {_toml(f'{name}.md')}")
        elif name not in {"criteria", "settings"} and value not in (None, "", ()):
            lines.append(f"{name} = {_toml(value)}")
    for criterion in spec.criteria:
        lines.append("\n[[criteria]]")
        told = {k: v for k, v in vars(criterion).items() if v != _CRITERION[k]}
        lines += [f"{name} = {_toml(value)}" for name, value in told.items()]
    (folder / "study.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # JSON strings, numbers and lists of strings are valid TOML unless they contain DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
