"""Validation of single cells so that every number is finite and every text can be stored."""

import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.limits import LIMITS

MAX_COLUMNS = 500
MAX_DEPTH = 20
MAX_ID = 200
MAX_VALUES = 200_000
# PostgreSQL stores no NUL, and a lone surrogate cannot be encoded as UTF-8.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Zero-width joiners and non-joiners, which Persian names and emoji need, count as not printable.
_JOINERS = str.maketrans("", "", "\u200c\u200d")
_SCALARS = (str, bool, int, float, datetime, date)


def parse_json(raw: bytes, *, is_table: bool = False) -> Any:
    """Parse JSON; raise `InvalidInput` also for overflow, underflow, repeated keys and NaN.

    In a table, NaN and Infinity are missing values, as programs write them that know no other mark.
    """
    decoder = TABLE_DECODER if is_table else DECODER
    try:
        return decoder.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInput("not_utf8", "is not UTF-8 text") from None
    except RecursionError:
        raise InvalidInput("nested_too_deep", f"is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            "not_json", f"is not valid JSON ({error.msg} at character {error.pos + 1})"
        ) from None


def bounded_json(raw: bytes) -> Any:
    """Parse JSON that anyone may have sent: of limited depth and number of values, and storable.

    The caller that reads the bytes limits their number. Raises `InvalidInput`.
    """
    if raw.count(b",") > MAX_VALUES:
        raise InvalidInput("too_many_values", f"has more than {MAX_VALUES:,} values")
    value = parse_json(raw)
    _check_value("the JSON", value, len(raw), depth=0)
    return value


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise InvalidInput("repeated_key", "contains the same key twice")
    return row


def _refuse_constant(name: str) -> float:
    raise InvalidInput("not_finite", f"{name} is not a finite number")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput("not_finite", f"the number {text[:40]} is too large")
    if number == 0 and re.search("[1-9]", text.lower().partition("e")[0]):
        raise InvalidInput("number_too_small", f"the number {text[:40]} is too close to 0")
    return number


def _parse_int(text: str) -> int:
    if len(text) > 1000:
        raise InvalidInput(
            "number_too_long", f"a number has {len(text)} digits, but the limit is 1000"
        )
    return int(text)


_STRICT: dict[str, Any] = {
    "parse_float": _parse_float,
    "parse_int": _parse_int,
    "object_pairs_hook": _refuse_repeated_keys,
}
DECODER = json.JSONDecoder(parse_constant=_refuse_constant, **_STRICT)
TABLE_DECODER = json.JSONDecoder(parse_constant=lambda _: None, **_STRICT)


def check_cells(row: dict[str, Any], max_cell: int = LIMITS.cell) -> dict[str, Any]:
    """Return the row, or raise `InvalidInput` with the name of a column that is not valid."""
    if len(row) > MAX_COLUMNS:
        raise InvalidInput(
            "too_many_columns", f"has {len(row)} columns, but the limit is {MAX_COLUMNS}"
        )
    for name, value in row.items():
        check_text("a column name", str(name), MAX_ID)
        _check_value(name, value, max_cell, depth=0)
    return row


def _check_value(name: str, value: Any, max_cell: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInput("nested_too_deep", f"{name} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        check_text(name, value, max_cell)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            check_text(f"a key in {name}", key, max_cell)
            _check_value(name, inner, max_cell, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_value(name, inner, max_cell, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("not_finite", f"{name}: {value} is not a finite number")
    elif value is not None and not isinstance(value, _SCALARS):
        raise InvalidInput(
            "unreadable_type", f"{name} has the unsupported type {type(value).__name__}"
        )


def check_text(name: str, text: str, max_cell: int = LIMITS.cell) -> str:
    """Return the text, or raise `InvalidInput` if it cannot be stored."""
    if len(text) > max_cell:
        raise InvalidInput(
            "text_too_long", f"{name} has {len(text)} characters, but the limit is {max_cell}"
        )
    match = _UNSTORABLE.search(text)
    if match is not None:
        character = "a NUL character" if match[0] == "\x00" else "a lone surrogate"
        raise InvalidInput("unstorable_character", f"{name} contains {character}")
    return text


def check_id(column: str, value: Any) -> str:
    """Return an id as text: 1 to 200 printable characters without spaces around them."""
    if isinstance(value, bool) or not isinstance(value, (str, int, type(None))):
        raise InvalidInput("not_a_text", f"{column} must be text, not {value!r}"[:200])
    text = "" if value is None else str(value)
    if not text.strip():
        raise InvalidInput("empty", f"{column} is empty")
    if len(text) > MAX_ID:
        raise InvalidInput(
            "id_too_long", f"{column} has {len(text)} characters, but the limit is {MAX_ID}"
        )
    return check_name(column, text)


def check_name(what: str, text: str) -> str:
    """Return the text if it is one line of printable characters without spaces around them."""
    if text != text.strip():
        raise InvalidInput("space_around", f"{what} begins or ends with a space")
    unprintable = next((c for c in text.translate(_JOINERS) if not c.isprintable()), None)
    if unprintable is not None:
        code = f"U+{ord(unprintable):04X}"
        raise InvalidInput(
            "unprintable_character",
            f"{what} contains a control or invisible character ({code})",
        )
    return text


# What an instance or a prompt already has under these names.
_RESERVED = {"id", "source", "messages", "category", "reference", "metadata", "text", "a", "b"}
MAX_FIELD_NAME = 100
# Characters that mean something in settings, prompts, Markdown or the choice of columns.
_NOT_IN_FIELD_NAMES = frozenset("|<>{}[]`=,")


def check_field_name(name: str) -> str:
    """Return the name of a further text of instances if it can be one. Raises `InvalidInput`."""
    check_name("the name of a field", name)
    if not name or len(name) > MAX_FIELD_NAME or _NOT_IN_FIELD_NAMES & set(name):
        marks = " ".join(sorted(_NOT_IN_FIELD_NAMES))
        reason = (
            f"the name of a field must have 1 to {MAX_FIELD_NAME} characters, and none of {marks}"
        )
        raise InvalidInput("bad_field_name", reason)
    if name.casefold() in _RESERVED:
        raise InvalidInput(
            "reserved_name", f"a field cannot be named {name!r}; choose another name"
        )
    return name
