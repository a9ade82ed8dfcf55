"""The columns of a ratings file, and the validation of one row."""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import DECODER, check_id
from tiebreak.formats.rows import Row
from tiebreak.nonresponse import NONRESPONSES, is_missing
from tiebreak.scales import Label, Scale

KINDS = ("human", "machine")
ROLES = ("main", "repeat", "gold", "training", "qualification")
EXCLUDING_FLAGS = ("surplus", "superseded", "partial", "late", "excluded")
FLAGS = (*EXCLUDING_FLAGS, "simulated")
INTEGERS = (
    "repeat",
    "sample_a",
    "sample_b",
    "position",
    "hit_position",
    "duration_ms",
    "study_version",
)
NUMBERS = (
    "separability",
    "separability_raw",
    "inclusion_probability",
    "chars_a",
    "chars_b",
)
TEXTS = (
    "criterion",
    "run",
    "order",
    "instance",
    "system_a",
    "system_b",
    "category",
    "similarity",
    "phase",
    "perturbation",
    "original_system",
    "side_a",
    "layout",
    "created_at",
    "participation",
    "excluded_reason",
    "raw",
    "probabilities",
    "text_a",
    "text_b",
    "nonresponse",
    "reason",
)
COLUMNS = ("unit", "rater", "label", "kind", "role", *TEXTS, *INTEGERS, *NUMBERS, *FLAGS)
ARROW_TYPES = (
    dict.fromkeys(INTEGERS, "int64")
    | dict.fromkeys(NUMBERS, "float64")
    | dict.fromkeys(FLAGS, "bool_")
)
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")
_DIGITS = re.compile(r"[+-]?\d+(\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Columns whose cells are names or words, around which a space means nothing.
NAMES = {*TEXTS} - {"excluded_reason", "raw", "probabilities", "text_a", "text_b", "reason"}
# The largest integer up to which a float represents every integer exactly.
MAX_EXACT_INTEGER = 2**53
# By so much the sum of probabilities that were rounded may differ from 1.
ROUNDING = 0.005


def parse_rating(row: Row) -> Row:
    """Return the typed cells of a row, or raise `InvalidInput`; cells that it lacks have `DEFAULTS`."""
    if "sample_index" in row:
        row = _with_samples(row)
    parsed: Row = {"unit": _required(row, "unit"), "rater": _required(row, "rater")}
    parsed["kind"] = _one_of("kind", row.get("kind"), KINDS)
    parsed["role"] = _one_of("role", row.get("role"), ROLES)
    for column, value in row.items():
        if value is not None and column in _PARSERS:
            parsed[column] = _PARSERS[column](column, value)
    parsed["criterion"] = parsed.get("criterion") or "preference"
    if math.isnan(parsed.get("repeat", math.nan)):
        parsed["repeat"] = 1.0 if parsed["role"] == "repeat" else 0.0
    parsed["label"] = _label(row, parsed)
    return parsed


def parse_cell(column: str, value: Any) -> Any:
    """Return one cell as `parse_rating` does, or raise `InvalidInput`; a missing repeat is NaN."""
    if column in ("unit", "rater"):
        return check_id(column, value)
    if column in _CHOICES:
        return _one_of(column, value, _CHOICES[column])
    if column == "label":
        return _checked_label(value)
    parsed = DEFAULTS[column] if value is None else _PARSERS[column](column, value)
    return parsed or "preference" if column == "criterion" else parsed


def _with_samples(row: Row) -> Row:
    """Replace `sample_index` with `sample_a` and `sample_b`, which both get its value."""
    index = row["sample_index"]
    if index in (None, ""):
        return row
    for side in ("sample_a", "sample_b"):
        if row.get(side) not in (None, "", index):
            raise InvalidInput(
                "samples_contradict",
                f"{side} is {row[side]!r}, but sample_index is {index!r}"[:200],
            )
    return {**row, "sample_a": index, "sample_b": index}


def _label(row: Row, parsed: Row) -> Any:
    if "label" not in row:
        raise InvalidInput(
            "column_missing", "the column label is missing; name the column of the labels so"
        )
    label = _checked_label(row["label"])
    if parsed.get("nonresponse"):
        # Programs such as R write NA into the empty cells of a column of labels.
        if label is not None and not is_missing(label):
            raise InvalidInput(
                "label_with_nonresponse",
                f"the row has the label {str(label)[:40]!r} and the nonresponse"
                f" {parsed['nonresponse']}; leave one of the two empty",
            )
        return None
    if label is None and parsed["kind"] == "human":
        raise InvalidInput("label_missing", "the label of a human rating must not be empty")
    if label is None and not parsed.get("raw"):
        raise InvalidInput(
            "raw_missing",
            "a machine rating without a label must have the machine's answer in the column raw",
        )
    return label


def _checked_label(label: Any) -> str | int | float | None:
    """Return a label without the spaces around it, or None for an empty one."""
    if isinstance(label, str):
        label = label.strip()
    if label is None or label == "":
        return None
    if not isinstance(label, (str, int, float)) or isinstance(label, bool):
        raise InvalidInput("not_a_label", f"label must be a number or text, not {label!r}"[:200])
    if _is_too_large(label):
        raise InvalidInput(
            "number_too_large",
            f"label {str(label)[:40]} is too large; its absolute value may be at most 2**53",
        )
    return label


def _is_too_large(label: str | float) -> bool:
    if isinstance(label, str):  # int() would refuse thousands of digits
        whole = label.partition(".")[0] if _DIGITS.fullmatch(label) else "0"
        return len(whole) > 100 or abs(int(whole)) > MAX_EXACT_INTEGER
    return abs(label) > MAX_EXACT_INTEGER


def _required(row: Row, column: str) -> str:
    value = row.get(column)
    if column not in row:
        raise InvalidInput(
            "column_missing",
            f"the column {column} is missing; each rating needs unit, rater and label",
        )
    return check_id(column, value)


def _one_of(column: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value in (None, ""):
        return allowed[0]
    if value not in allowed:
        raise InvalidInput(
            "unknown_value", f"{column} must be one of {', '.join(allowed)}, not {value!r}"[:200]
        )
    return str(value)


def _text(column: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidInput("not_a_text", f"{column} must be text, not {value!r}"[:200])
    return str(value).strip() if column in NAMES else str(value)


def _nonresponse(column: str, value: Any) -> str:
    code = _text(column, value)
    return code and _one_of(column, code, tuple(NONRESPONSES))


def _timestamp(column: str, value: Any) -> str:
    """Return an ISO 8601 date and time, or "" for an empty cell."""
    text = value.isoformat() if isinstance(value, date) else _text(column, value)
    if text and parse_timestamp(text) is None:
        raise InvalidInput(
            "not_a_time",
            f"{column} must be a date and time such as 2026-03-01T14:05:09Z, not {text!r}"[:200],
        )
    return text


def parse_timestamp(text: str) -> datetime | None:
    """Return a date and time in UTC, which is also the default time zone, or None if invalid."""
    if re.search(r"[.,]\d{7}", text):  # datetime would truncate it to microseconds
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _number(column: str, value: Any) -> float:
    if value == "":
        return math.nan
    if isinstance(value, str):
        is_number = _NUMBER.fullmatch(value.strip()) is not None
    else:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number:
        raise InvalidInput("not_a_number", f"{column} must be a number, not {value!r}"[:200])
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput("not_finite", f"{column} must be finite, not {value!r}"[:200])
    return number


def _integer(column: str, value: Any) -> float:
    number = _number(column, value)
    if not math.isnan(number) and not (number == int(number) and 0 <= number <= MAX_EXACT_INTEGER):
        raise InvalidInput(
            "not_a_whole_number",
            f"{column} must be 0 or a positive whole number, not {value!r}"[:200],
        )
    return number


def _flag(column: str, value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        raise InvalidInput(
            "not_a_truth_value", f"{column} must be true or false, not {value!r}"[:200]
        )
    return word in _TRUE


def _probability(column: str, value: Any) -> float:
    number = _number(column, value)
    if not math.isnan(number) and not 0 < number <= 1:
        raise InvalidInput(
            "not_a_probability", f"{column} must be above 0 and at most 1, not {value!r}"[:200]
        )
    return number


def read_probabilities(value: Any) -> dict[str, float]:
    """Return the probability of each label, from JSON or an object, or raise `InvalidInput`."""
    try:
        parsed = DECODER.decode(value) if isinstance(value, str) else value
        shares = {str(label): float(share) for label, share in parsed.items()}
    except (ValueError, TypeError, AttributeError, RecursionError, InvalidInput):
        shares = {}
    are_shares = all(0 <= share <= 1 for share in shares.values())
    if not are_shares or abs(sum(shares.values()) - 1) > ROUNDING:
        raise InvalidInput(
            "not_probabilities",
            'probabilities must be a JSON object with the probability of each label, such as {"-1": 0.7,'
            f' "1": 0.3}}, and together they must be 1; it is {value!r}'[:300],
        )
    return shares


def label_probabilities(cell: str, scale: Scale) -> dict[Label, float]:
    """Return the probability of each label of a cell, or raise `InvalidInput` for another label."""
    shares = read_probabilities(cell)
    try:
        by_label = {scale.parse_label(name): share for name, share in shares.items()}
    except InvalidInput as error:
        reason = f"{error.message} The keys of probabilities must be {_keys(scale)}."
        raise InvalidInput(error.code, reason) from error
    if len(by_label) < len(shares):
        raise InvalidInput("not_probabilities", f"probabilities name a label twice: {cell}"[:300])
    return by_label


def _keys(scale: Scale) -> str:
    """Return the labels of a scale in words."""
    if scale.labels is None:
        return f"numbers of the scale {scale.spec}"
    return ", ".join(json.dumps(str(label), ensure_ascii=False) for label in scale.labels)


def written_probabilities(shares: Mapping[str, float]) -> str:
    """Return the probability of each label as a cell."""
    return json.dumps(shares, ensure_ascii=False)


_CHOICES = {"kind": KINDS, "role": ROLES}
_PARSERS: dict[str, Callable[[str, Any], Any]] = (
    dict.fromkeys(TEXTS, _text)
    | dict.fromkeys(INTEGERS, _integer)
    | dict.fromkeys(NUMBERS, _number)
    | dict.fromkeys(FLAGS, _flag)
    | {"inclusion_probability": _probability, "created_at": _timestamp, "nonresponse": _nonresponse}
    | {
        "probabilities": lambda _, v: (
            "" if v == "" else written_probabilities(read_probabilities(v))
        )
    }
)
DEFAULTS: Row = (
    dict.fromkeys(TEXTS, "")
    | dict.fromkeys(INTEGERS, math.nan)
    | dict.fromkeys(NUMBERS, math.nan)
    | dict.fromkeys(FLAGS, False)
)
