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
    """A criterion of a study.

    Attributes
    ----------
    name : str
        Name of the criterion.
    scale : str
        Scale of the criterion; see `tiebreak.scales.Scale.parse`.
    question : str
        Question that annotators are asked.
    """

    name: str
    scale: str
    question: str


@dataclass(frozen=True)
class StudySpec:
    """Design of a study, with the settings of study.toml.

    Attributes
    ----------
    title : str
        Title of the study.
    criteria : tuple of CriterionSpec
        Criteria that annotators rate.
    systems : tuple of str
        Systems, in system order. The first is system A.
    controls : tuple of str
        Names of systems that only provide the degraded texts of reference units, and are not
        compared with other systems.
    guidelines, consent : str
        Texts for annotators.
    ratings_per_hit : int
        R, the number of complete responses that each HIT needs.
    comparisons_per_hit : int
        N, the number of units in a HIT.
    bundling : {"instance", "mixed"}
        ``instance``: all units of a HIT belong to one instance; ``mixed``: to several instances.
    repeats_per_hit, repeat_distance : int
        Number of planned repeats in a HIT, and smallest distance of a repeat from its unit.
    abandoned : {"whole_hit", "units"}
        ``whole_hit``: all units of an abandoned HIT are rated again; ``units``: only those that
        lack an answer.
    unit_kind : {"comparison", "generation"}
        ``comparison``: annotators compare two generations; ``generation``: they rate single ones.
    hits_per_annotator, hits_per_day : int or None
        Maximum number of HITs per annotator, in total and per day.
    most_answers, most_answers_per_day : int or None
        Maximum number of responses in the study, in total and per day.
    lease_minutes : float
        Number of minutes that a place is held after an annotator's last answer.
    similarity : str
        Name of the similarity from which separability is computed.
    pairs : set of (str, str)
        Pairs of systems, in system order.
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
    names = frozenset(setting.name for setting in fields(StudySpec))
    text = _read_text(folder / STUDY_FILE, problems, limits)
    raw = None if text is None else _parse_toml(text, problems)
    if text is None or raw is None:
        return SpecFile(StudySpec("", ()), SpecLines(), names)
    lines = SpecLines.of(text)
    present, raw = raw.keys() & names, _storable(raw, lines, problems, limits)
    for name in sorted(raw.keys() - names):
        allowed = ", ".join(sorted(names))
        reason = f"{name[:100]} is not a setting of a study; the settings are {allowed}"
        problems.add(STUDY_FILE, lines.settings.get(name), "unknown_setting", reason)
    if not {"title", "criteria"} <= present:
        reason = "must have a title and at least one [[criteria]] section"
        problems.add(STUDY_FILE, None, "setting_missing", reason)
    values = _settings(raw, lines, problems)
    for name in {"guidelines", "consent"} & values.keys():
        with problems.at(STUDY_FILE, lines.settings.get(name)):
            values[name] = _text_or_file(folder, values[name], problems, limits)
    unreadable = frozenset({*present, "title", "criteria"} - values.keys())
    files = frozenset(str(raw[name]) for name in ("guidelines", "consent") if name in raw)
    spec = StudySpec(**({"title": "", "criteria": ()} | values))
    return SpecFile(spec, lines, unreadable, files)


def _parse_toml(text: str, problems: Problems) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except RecursionError:
        problems.add(STUDY_FILE, None, "nested_too_deep", "is nested too deeply")
    except tomllib.TOMLDecodeError as error:
        line = _LINE_SUFFIX.search(str(error))
        reason = f"is not TOML: {_LINE_SUFFIX.sub('', str(error))}"
        problems.add(STUDY_FILE, int(line[1]) if line else None, "not_toml", reason)
    except ValueError as error:
        problems.add(STUDY_FILE, None, "not_toml", str(error))
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


def _settings(raw: Mapping[str, Any], lines: SpecLines, problems: Problems) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, check in _SETTINGS.items():
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
            "too_many_systems", f"{name} has {len(value)} entries; the limit is {MAX_SYSTEMS}"
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
    if not isinstance(row, dict) or row.keys() - {"name", "scale", "question"}:
        raise InvalidInput(
            "not_a_criterion", "a criterion may only have the keys name, scale and question"
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
# These check the type of each setting. On import, the study's model validates its range.
_SETTINGS: dict[str, Callable[[str, Any], Any]] = (
    {"title": _title, "systems": _systems, "controls": _systems}
    | {"lease_minutes": _setting_minutes}
    | dict.fromkeys(_NUMBERS, _setting_number)
    | dict.fromkeys(_TEXTS, _setting_text)
)


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
    lines = []
    for name, value in vars(spec).items():
        if name in {"guidelines", "consent"} and value:
            (folder / f"{name}.md").write_text(value, encoding="utf-8")
            lines.append(f"{name} = {_toml(f'{name}.md')}")
        elif name != "criteria" and value not in (None, "", ()):
            lines.append(f"{name} = {_toml(value)}")
    for criterion in spec.criteria:
        lines.append("\n[[criteria]]")
        lines += [f"{name} = {_toml(value)}" for name, value in vars(criterion).items()]
    (folder / "study.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # JSON strings, numbers and lists of strings are valid TOML unless they contain DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
