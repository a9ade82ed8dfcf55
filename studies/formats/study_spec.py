"""What study.toml says: the design of a study, read with the name of every wrong key, written."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from metrics.stats.scales import Scale
from studies.formats.columns import check_id, check_text
from studies.formats.limits import DEFAULT_LIMITS, Limits
from studies.formats.problems import Problems

STUDY_FILE = "study.toml"
ALL_PAIRS = "all-pairs"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TEXT_FILE = re.compile(r"[^\s/\\]+\.(?:md|txt)")


@dataclass(frozen=True, slots=True)
class CriterionSpec:
    name: str
    scale: str = "preference:tie"
    question: str = ""


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """What is known of a system beside its name."""

    name: str
    language_model: str = ""
    prompt_template: str = ""
    decoding: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StudySpec:
    """A study's design. No `systems` means all pairs of those that generated; texts are inline."""

    title: str
    criteria: tuple[CriterionSpec, ...]
    systems: tuple[str, ...] = ()
    guidelines: str = ""
    consent: str = ""
    unit_kind: str = "comparison"
    ratings_per_hit: int = 3
    comparisons_per_hit: int = 5
    abandoned: str = "whole_hit"
    hits_per_annotator: int | None = None
    lease_minutes: int = 30
    similarity: str = "rouge1"
    system_details: tuple[SystemSpec, ...] = ()


def parse_study(
    text: str,
    *,
    read_text: Callable[[str], str | None],
    problems: Problems,
    limits: Limits = DEFAULT_LIMITS,
) -> StudySpec | None:
    """The study that a study.toml describes, or None after adding what is wrong to `problems`.

    `read_text` gives a file beside it by name, None where there is none.
    """
    before = problems.total
    values = _toml(text, problems)
    if values is None:
        return None
    spec = _SpecReader(text, values, read_text, problems, limits).read()
    return spec if problems.total == before else None


def study_toml(spec: StudySpec, *, files: Mapping[str, str]) -> str:
    """The study.toml of `spec`; `files` maps a key to the file that holds its text."""
    lines = [f"{key} = {_literal(value)}" for key, value in _members(spec, files)]
    for criterion in spec.criteria:
        lines += ["", "[[criteria]]", f"name = {_literal(criterion.name)}"]
        lines += [f"scale = {_literal(criterion.scale)}"]
        lines += [f"question = {_literal(criterion.question)}"] if criterion.question else []
    for system in spec.system_details:
        keys = ("name", "language_model", "prompt_template", "decoding")
        pairs = [(key, getattr(system, key)) for key in keys]
        lines += ["", "[[system]]", *(f"{key} = {_literal(v)}" for key, v in pairs if v)]
    return "\n".join(lines) + "\n"


def _members(spec: StudySpec, files: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    yield "title", spec.title
    for key in ("guidelines", "consent"):
        if text := files.get(key) or getattr(spec, key):
            yield key, text
    yield "systems", list(spec.systems) or ALL_PAIRS
    for key in ("unit_kind", *_COUNTS, "abandoned", "similarity"):
        if (value := getattr(spec, key)) is not None:
            yield key, value


def _literal(value: object) -> str:
    """A TOML literal. JSON's escapes are TOML's, but for DEL, which TOML wants escaped."""
    if isinstance(value, Mapping):
        pairs = (f"{_literal(str(key))} = {_literal(v)}" for key, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _toml(text: str, problems: Problems) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else None
        problems.add(STUDY_FILE, line, f"this is not TOML: {error}.")
    except (RecursionError, ValueError) as error:
        problems.add(STUDY_FILE, None, f"this is not TOML that can be read: {error}.")
    return None


_COUNTS = {
    "ratings_per_hit": (1, 1000),
    "comparisons_per_hit": (1, 100),
    "hits_per_annotator": (1, 1_000_000),
    "lease_minutes": (1, 1_000_000),
}
_CHOICES = {"abandoned": ("whole_hit", "units"), "unit_kind": ("comparison", "generation")}
_KEYS = (
    *("title", "guidelines", "consent", "systems", "criteria", "system", "similarity"),
    *_COUNTS,
    *_CHOICES,
)


_HEADER = re.compile(r"^\s*\[\[?\s*([^\[\]]+?)\s*\]", re.M)


def _sections(text: str) -> Iterator[tuple[int, tuple[str, int]]]:
    """(where it starts, (name, which of that name)) of each table; the top one has no name."""
    yield 0, ("", 0)
    counts: dict[str, int] = {}
    for header in _HEADER.finditer(text):
        name = header[1]
        yield header.end(), (name, counts.get(name, 0))
        counts[name] = counts.get(name, 0) + 1


class _SpecReader:
    """Reads one key after the other; a key that is wrong becomes a problem with its line."""

    def __init__(
        self,
        text: str,
        values: dict[str, object],
        read_text: Callable[[str], str | None],
        problems: Problems,
        limits: Limits,
    ) -> None:
        self.text = text
        self.values = values
        self.read_text = read_text
        self.problems = problems
        self.limits = limits
        self.section = ("", 0)  # the table that is being read, and which of its name

    def read(self) -> StudySpec:
        self._refuse_unknown(self.values, _KEYS, "")
        given: dict[str, object] = {
            **{key: self._count(key, *bounds) for key, bounds in _COUNTS.items()},
            **{key: self._choice(key, allowed) for key, allowed in _CHOICES.items()},
            **{key: self._long_text(key) for key in ("guidelines", "consent")},
            "similarity": self._text(self.values, "similarity", 50),
        }
        return StudySpec(
            title=self._text(self.values, "title", 200, required=True) or "",
            systems=self._systems(),
            criteria=tuple(self._criteria()),
            system_details=tuple(self._system_details()),
            **{key: value for key, value in given.items() if value is not None},  # type: ignore[arg-type]
        )

    def _wrong(self, key: str, reason: str) -> None:
        self.problems.add(STUDY_FILE, self._line_of(key), f"{key}: {reason}")

    def _line_of(self, key: str) -> int | None:
        """Where `key` stands in the section that is being read; None where that is unclear."""
        wanted = rf"^\s*\"?{re.escape(key)}\"?\s*=|^\s*\[\[\s*{re.escape(key)}\s*\]\]"
        for start, section in _sections(self.text):
            if section == self.section and (found := re.search(wanted, self.text[start:], re.M)):
                return self.text.count("\n", 0, start + found.end()) + 1
        return None

    def _refuse_unknown(
        self, values: Mapping[str, object], known: tuple[str, ...], where: str
    ) -> None:
        for key in values:
            if key not in known:
                self._wrong(key, f"this key is not known{where}; known are {', '.join(known)}.")

    def _text(
        self, values: Mapping[str, object], key: str, characters: int, *, required: bool = False
    ) -> str | None:
        value = values.get(key)
        if value is None and not required:
            return None
        if not isinstance(value, str) or (required and not value.strip()):
            self._wrong(key, "a text is needed here.")
            return None
        try:
            check_text(value, characters)
        except ValueError as error:
            self._wrong(key, str(error))
        return value

    def _long_text(self, key: str) -> str | None:
        value = self._text(self.values, key, self.limits.cell_characters)
        if value is None or not _TEXT_FILE.fullmatch(value):
            return value
        text = self.read_text(value)
        if text is None:
            self._wrong(key, f"there is no file {value!r} in the bundle.")
        return text

    def _count(self, key: str, low: int, high: int) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if type(value) is not int or not low <= value <= high:
            self._wrong(key, f"a whole number from {low} to {high} is needed, not {value!r}.")
            return None
        return value

    def _choice(self, key: str, allowed: tuple[str, ...]) -> str | None:
        value = self._text(self.values, key, 50)
        if value is not None and value not in allowed:
            self._wrong(key, f"{value!r} is none of {', '.join(allowed)}.")
        return value

    def _systems(self) -> tuple[str, ...]:
        value = self.values.get("systems", ALL_PAIRS)
        if value == ALL_PAIRS:
            return ()
        names = value if isinstance(value, list) and value else None
        if names is None or not all(isinstance(name, str) for name in names):
            self._wrong("systems", f'a list of names, or "{ALL_PAIRS}", is needed.')
            return ()
        self._check_systems(names)
        return tuple(names)

    def _check_systems(self, names: list[str]) -> None:
        for name in names:
            self._check_id("systems", name)
        if len(set(names)) < len(names):
            self._wrong("systems", "a name stands twice.")
        if len(names) < 2 and self.values.get("unit_kind") != "generation":
            self._wrong("systems", "a comparison needs two systems.")

    def _check_id(self, key: str, name: str) -> None:
        try:
            check_id(name)
        except ValueError as error:
            self._wrong(key, str(error))

    def _tables(self, key: str) -> Iterator[dict[str, object]]:
        """Each table of an array, while the lines of problems are looked for in it."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            self._wrong(key, f"write each as a table of its own: [[{key}]].")
            return
        for index, table in enumerate(value):
            self.section = (key, index)
            yield table
        self.section = ("", 0)

    def _criteria(self) -> Iterator[CriterionSpec]:
        if not self.values.get("criteria"):
            self._wrong("criteria", "a study asks something: write at least one [[criteria]].")
        names: set[str] = set()
        for table in self._tables("criteria"):
            criterion = self._criterion(table)
            if criterion.name in names:
                self._wrong("name", f"the criterion {criterion.name!r} stands twice.")
            names.add(criterion.name)
            yield criterion

    def _criterion(self, table: dict[str, object]) -> CriterionSpec:
        self._refuse_unknown(table, ("name", "scale", "question"), " of a criterion")
        name = self._text(table, "name", 100, required=True) or ""
        if name and not _NAME.fullmatch(name):
            self._wrong("name", f"{name!r} may hold letters, digits, - and _ only.")
        scale = self._text(table, "scale", 500) or "preference:tie"
        try:
            Scale.parse(scale)
        except ValueError as error:
            self._wrong("scale", str(error))
        return CriterionSpec(name, scale, self._text(table, "question", 500) or "")

    def _system_details(self) -> Iterator[SystemSpec]:
        known = ("name", "language_model", "prompt_template", "decoding")
        for table in self._tables("system"):
            self._refuse_unknown(table, known, " of a system")
            decoding = table.get("decoding", {})
            if not isinstance(decoding, dict):
                self._wrong("decoding", "a table of settings is needed: { temperature = 1.0 }.")
                decoding = {}
            yield SystemSpec(
                self._text(table, "name", 200, required=True) or "",
                self._text(table, "language_model", 200) or "",
                self._text(table, "prompt_template", self.limits.cell_characters) or "",
                decoding,
            )
