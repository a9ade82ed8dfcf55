"""The tables of an export other than its ratings: separability, the design, reference answers.

An import reads back what an export wrote, so a study continues where it was.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_id, parse_json
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import Limits
from tiebreak.formats.ratings import SUFFIXES
from tiebreak.formats.rows import Row, read_rows

ROLES = ("main", "gold", "training", "qualification")
Parser = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Table:
    """The rows of a table, with their line numbers; a bundle without the file has none."""

    name: str
    rows: Sequence[Row] = ()
    lines: Sequence[int] = ()
    is_present: bool = False


@dataclass(frozen=True)
class DesignTables:
    """The tables of a bundle that describe its design."""

    separability: Table = field(default_factory=lambda: Table("separability"))
    design: Table = field(default_factory=lambda: Table("design"))
    reference_answers: Table = field(default_factory=lambda: Table("reference_answers"))


def read_tables(folder: Path, problems: Problems, limits: Limits) -> DesignTables:
    """Read the tables that are in a bundle, and add problems for rows that are not valid."""
    tables = {name: _read(folder, name, problems, limits) for name in PARSERS}
    _check_once(tables["separability"], SCORE_KEY, problems)
    _check_once(tables["design"], ("unit",), problems)
    _check_once(tables["reference_answers"], ("unit", "criterion"), problems)
    _check_answers(tables["reference_answers"], tables["design"], problems)
    return DesignTables(**tables)


def _read(folder: Path, name: str, problems: Problems, limits: Limits) -> Table:
    paths = (folder / f"{name}{suffix}" for suffix in SUFFIXES)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return Table(name)
    rows: list[Row] = []
    lines = array("q")
    for line, row in read_rows(path, problems, limits):
        with problems.at(path.name, line):
            rows.append(
                {column: parse(column, row.get(column)) for column, parse in PARSERS[name].items()}
            )
            lines.append(line)
    return Table(path.name, rows, lines, is_present=True)


def _check_once(table: Table, columns: tuple[str, ...], problems: Problems) -> None:
    first: dict[tuple[Any, ...], int] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        earlier = first.setdefault(tuple(row[column] for column in columns), line)
        if earlier != line:
            reason = f"the same {', '.join(columns)} is already on line {earlier}"
            problems.add(table.name, int(line), "duplicate_row", reason)


def _check_answers(answers: Table, design: Table, problems: Problems) -> None:
    """Check that each reference answer is for a reference unit of the design, if there is one."""
    roles = {row["unit"]: row["role"] for row in design.rows}
    for row, line in zip(answers.rows, answers.lines, strict=True):
        role = roles.get(row["unit"])
        if design.is_present and role is None:
            reason = f"unit {row['unit']!r} is not in {design.name}"
            problems.add(answers.name, int(line), "unknown_unit", reason)
        elif role == "main":
            reason = f"unit {row['unit']!r} has the role main, so it has no expected label"
            problems.add(answers.name, int(line), "not_a_reference_unit", reason)


def _text(column: str, value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise InvalidInput("not_a_text", f"{column} must be text, not {value!r}"[:200])
    return value or ""


def _number(column: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput("not_a_number", f"{column} must be a number, not {value!r}"[:200])
    return number


def _whole(column: str, value: Any) -> int | None:
    number = _number(column, value)
    if number is not None and not (number.is_integer() and number >= 0):
        raise InvalidInput(
            "not_a_whole_number",
            f"{column} must be 0 or a positive whole number, not {value!r}"[:200],
        )
    return None if number is None else int(number)


def _position(column: str, value: Any) -> int | None:
    number = _whole(column, value)
    if number == 0:
        raise InvalidInput("not_a_position", f"{column} counts from 1")
    return number


def _zero_or_one(column: str, value: Any) -> int:
    number = _whole(column, value) or 0
    if number > 1:
        raise InvalidInput("not_zero_or_one", f"{column} must be 0 or 1, not {number}")
    return number


def _probability(column: str, value: Any) -> float | None:
    number = _number(column, value)
    if number is not None and not 0 < number <= 1:
        reason = f"{column} must be above 0 and at most 1, not {value!r}"[:200]
        raise InvalidInput("not_a_probability", reason)
    return number


def _role(column: str, value: Any) -> str:
    if value not in ROLES:
        reason = f"{column} must be one of {', '.join(ROLES)}, not {value!r}"[:200]
        raise InvalidInput("unknown_role", reason)
    return str(value)


def _settings(column: str, value: Any) -> dict[str, Any]:
    """Return a JSON object, which the file has as text."""
    settings = parse_json(_text(column, value).encode()) if value else {}
    if not isinstance(settings, dict):
        raise InvalidInput("not_an_object", f"{column} must be a JSON object, not {value!r}"[:200])
    return settings


def _label(column: str, value: Any) -> str | float:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidInput("not_a_label", f"{column} must be a number or text, not {value!r}"[:200])
    return value


SCORE_KEY = ("instance", "system_a", "system_b", "similarity")
ALIGNMENTS = ("self_alignment_a", "self_alignment_b", "cross_alignment")
# How the cells of each column are read. Other columns of an export are computed from these.
PARSERS: Mapping[str, Mapping[str, Parser]] = {
    "separability": {
        **dict.fromkeys(SCORE_KEY, check_id),
        "similarity_settings": _settings,
        **dict.fromkeys(("samples_a", "samples_b", "truncated"), _whole),
        **dict.fromkeys(ALIGNMENTS, _number),
        **dict.fromkeys(("separability_raw", "separability_standard_error"), _number),
    },
    "design": {
        "unit": check_id,
        "role": _role,
        "hit": _position,
        **dict.fromkeys(("repeats", "further"), _zero_or_one),
        **dict.fromkeys(
            ("instance", "system_a", "system_b"),
            lambda column, value: None if value in (None, "") else check_id(column, value),
        ),
        **dict.fromkeys(("sample_a", "sample_b"), _whole),
        **dict.fromkeys(("phase", "similarity"), _text),
        "inclusion_probability": _probability,
        "conditional_inclusion_probability": _probability,
        **dict.fromkeys(("separability_raw", "separability"), _number),
    },
    "reference_answers": {
        "unit": check_id,
        "criterion": check_id,
        "expected": _label,
        "explanation": _text,
    },
}
