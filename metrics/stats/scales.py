"""Scales: which labels a criterion allows, and at which level of measurement."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Kind = Literal["nominal", "ordinal", "interval", "ratio", "preference"]
Label = int | float | str

BAD = "bad"
_HOW = (
    "A scale is preference, preference:tie, preference:5, preference:7 (each may end in +bad),"
    " nominal:a,b, ordinal:1..5, interval:1..5 or ratio"
)
_PREFERENCES: dict[str, tuple[tuple[int, ...], Level]] = {
    "preference": ((-1, 1), "nominal"),
    "preference:tie": ((-1, 0, 1), "nominal"),
    "preference:5": ((-2, -1, 0, 1, 2), "ordinal"),
    "preference:7": ((-3, -2, -1, 0, 1, 2, 3), "ordinal"),
}


@dataclass(frozen=True)
class Scale:
    """A criterion's scale.

    `labels` stand in their order and are None where any number is allowed (ratio, interval
    without bounds). `bad` says that "both bad" may be chosen: a label outside any order.
    """

    spec: str
    kind: Kind
    level: Level
    labels: tuple[Label, ...] | None
    bad: bool = False

    @classmethod
    def parse(cls, spec: str) -> "Scale":
        """The scale that a text such as `ordinal:1..5` names; `ValueError` says what is allowed."""
        base, plus, extra = spec.partition("+")
        if base in _PREFERENCES and (not plus or extra == BAD):
            labels, level = _PREFERENCES[base]
            return cls(spec, "preference", level, (*labels, BAD) if plus else labels, bool(plus))
        kind, _, rest = spec.partition(":")
        if kind == "nominal" and rest:
            return cls(spec, "nominal", "nominal", _names(spec, rest))
        if kind == "ordinal":
            return cls(spec, "ordinal", "ordinal", _bounds(spec, rest))
        if kind == "interval":
            bounds = _bounds(spec, rest) if rest else None
            return cls(spec, "interval", "interval", bounds)
        if spec == "ratio":
            return cls(spec, "ratio", "ratio", None)
        raise ValueError(f"{spec!r} is not a scale. {_HOW}.")

    @property
    def order_labels(self) -> tuple[Label, ...]:
        """The labels that have an order or a side: all but "both bad"."""
        return tuple(label for label in self.labels or () if label != BAD)

    def parse_label(self, value: object) -> Label:
        """The canonical label of a value as it came from a file or a form; else `ValueError`."""
        label = self._canonical(value)
        if self.labels is not None and label not in self.labels:
            allowed = ", ".join(str(each) for each in self.labels)
            raise ValueError(f"{value!r} is not a label of the scale; allowed are {allowed}")
        if self.kind == "ratio" and isinstance(label, float) and label < 0:
            raise ValueError(f"{value!r} is below 0, which a ratio scale does not have")
        return label

    def _canonical(self, value: object) -> Label:
        text = str(value).strip()
        if self.kind == "nominal" or (self.bad and text == BAD):
            return text
        number = _number(value, text)
        if self.kind in {"interval", "ratio"} and self.labels is None:
            return number
        if number != int(number):
            raise ValueError(f"{value!r} is not a whole number")
        return int(number)


def infer_scale(labels: Iterable[object], criterion: str) -> Scale:
    """The scale that a file's labels suggest where none was declared.

    A criterion named `preference`, or labels within {−1, 0, 1}, are a preference with ties;
    whole numbers from 0 to 100 are ordinal; other numbers interval; the rest nominal.
    """
    texts = sorted({str(label).strip() for label in labels})
    if criterion == "preference" or (texts and set(texts) <= {"-1", "0", "1"}):
        return Scale.parse("preference:tie")
    numbers = _numbers(texts)
    if numbers is None:
        return Scale("nominal:" + ",".join(texts), "nominal", "nominal", tuple(texts))
    if numbers and all(n == int(n) and 0 <= n <= 100 for n in numbers):
        return Scale.parse(f"ordinal:{int(min(numbers))}..{int(max(numbers))}")
    return Scale.parse("interval")


def _numbers(texts: list[str]) -> list[float] | None:
    try:
        return [_number(text, text) for text in texts]
    except ValueError:
        return None


def _number(value: object, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{value!r} is not a number") from None
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def _names(spec: str, rest: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in rest.split(","))
    if len(names) < 2 or "" in names or len(set(names)) < len(names):
        raise ValueError(f"{spec!r} needs at least two different names, such as nominal:yes,no.")
    return names


def _bounds(spec: str, rest: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(-?\d{1,4})\.\.(-?\d{1,4})", rest)
    if match is None or int(match[1]) >= int(match[2]):
        raise ValueError(f"{spec!r} needs bounds from low to high, such as ordinal:1..5.")
    return tuple(range(int(match[1]), int(match[2]) + 1))
