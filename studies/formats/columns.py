"""The columns of a ratings file, what their cells may hold, and what an absent one means."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from studies.formats.limits import ID_CHARACTERS, Limits

Label = int | float | str
Cell = int | float | str | bool | None
Kind = Literal["text", "label", "integer", "number", "flag"]
Parser = Callable[[object], Cell]

REQUIRED = ("unit", "rater", "label")
EXCLUDING_FLAGS = ("surplus", "superseded", "partial", "late", "excluded")
LABEL_CHARACTERS = 200
LARGEST_INTEGER = 2**31 - 1

_WHOLE = re.compile(r"[+-]?\d{1,15}(?:\.0+)?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Column:
    """`choices` are all that a text may be; `characters` bounds it (None: the file's limit).

    `is_id` refuses control characters and blanks at the ends. An absent cell is `default`, or
    missing where that is None.
    """

    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    characters: int | None = None
    is_id: bool = False
    default: str | None = None


def _id(name: str, default: str | None = None) -> Column:
    return Column(name, "text", characters=ID_CHARACTERS, is_id=True, default=default)


_ALL = (
    _id("unit"),
    _id("rater"),
    Column("label", "label", characters=LABEL_CHARACTERS),
    Column("kind", "text", choices=("human", "machine"), default="human"),
    _id("criterion", "preference"),
    Column(
        "role",
        "text",
        choices=("main", "repeat", "gold", "training", "qualification"),
        default="main",
    ),
    _id("run"),
    Column("repeat", "integer"),
    _id("order"),
    _id("instance"),
    _id("system_a"),
    _id("system_b"),
    Column("sample_a", "integer"),
    Column("sample_b", "integer"),
    _id("category"),
    Column("separability", "number"),
    Column("separability_raw", "number"),
    _id("similarity"),
    _id("phase"),
    Column("inclusion_probability", "number"),
    _id("side_a"),
    _id("layout"),
    Column("position", "integer"),
    Column("hit_position", "integer"),
    Column("duration_ms", "integer"),
    _id("created_at"),
    _id("study_version"),
    _id("participation"),
    *(Column(flag, "flag") for flag in EXCLUDING_FLAGS),
    Column("excluded_reason", "text"),
    Column("simulated", "flag"),
    Column("raw", "text"),
    Column("text_a", "text"),
    Column("text_b", "text"),
    Column("chars_a", "integer"),
    Column("chars_b", "integer"),
    Column("sample_index", "integer"),
)
COLUMNS: dict[str, Column] = {column.name: column for column in _ALL}

# bool is an int and 1.0 equals 1 as a key: what a cell's type may be is checked apart.
ALLOWED_TYPES: dict[Kind, frozenset[type]] = {
    "text": frozenset({str, int, type(None)}),
    "label": frozenset({str, int, float, type(None)}),
    "integer": frozenset({str, int, float, type(None)}),
    "number": frozenset({str, int, float, type(None)}),
    "flag": frozenset({bool, int, str, type(None)}),
}


def cell_parser(column: Column, limits: Limits) -> Parser:
    """A function from a cell to its value; None is missing. It raises ValueError, a sentence."""
    bound = column.characters or limits.cell_characters
    readers: dict[Kind, Parser] = {
        "text": lambda cell: _text(cell, column, bound),
        "label": lambda cell: _label(cell, bound),
        "integer": _integer,
        "number": _number,
        "flag": _flag,
    }
    return readers[column.kind]


def check_text(text: str, characters: int) -> None:
    """Refuse what no database or file can keep, or what is too long."""
    if len(text) > characters:
        raise ValueError(f"the text has {len(text):,} characters; {characters:,} are allowed.")
    if "\x00" in text:
        raise ValueError("the text holds a NUL character: remove it.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            "the text holds half of a surrogate pair, which is no character."
        ) from None


def check_id(text: str, characters: int = ID_CHARACTERS) -> None:
    """Refuse ids that a page, a file or a log could not show as they are."""
    check_text(text, characters)
    if not text.strip():
        raise ValueError("it is empty.")
    if _CONTROL.search(text):
        raise ValueError(f"{text!r} holds a control character or a line break: remove it.")


def _text(cell: object, column: Column, characters: int) -> str | None:
    text = "" if cell is None else str(cell)
    if not text:
        return column.default
    if column.is_id:
        check_id(text, characters)
    check_text(text, characters)
    if column.choices and text not in column.choices:
        raise ValueError(f"{text[:50]!r} is none of {', '.join(column.choices)}.")
    return text


def _label(cell: object, characters: int) -> Label | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, str):
        check_text(cell, characters)
        return cell
    return _plain(_finite(cell))


def _integer(cell: object) -> int | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, str) and not _WHOLE.fullmatch(cell):
        raise ValueError(f"{cell[:50]!r} is not a whole number.")
    number = _plain(_finite(cell))
    if not isinstance(number, int) or not 0 <= number <= LARGEST_INTEGER:
        raise ValueError(f"{number} is not a whole number from 0 to {LARGEST_INTEGER}.")
    return number


def _number(cell: object) -> float | None:
    return None if cell is None or cell == "" else _finite(cell)


def _finite(cell: object) -> float:
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        raise ValueError(f"{str(cell)[:50]!r} is not a number.") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number; leave the cell empty or write null.")
    return number


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


_WORDS = {"true": True, "1": True, "false": False, "0": False, "": False}


def _flag(cell: object) -> bool:
    word = "" if cell is None else str(cell).lower()
    if word not in _WORDS:
        raise ValueError(f"{str(cell)[:50]!r} is neither true nor false.")
    return _WORDS[word]


def label_from_text(text: str) -> Label:
    """A CSV cell as a label: a number where the text is how that number is written."""
    try:
        number = _plain(float(text))
    except (ValueError, OverflowError):
        return text
    return number if str(number) == text else text
