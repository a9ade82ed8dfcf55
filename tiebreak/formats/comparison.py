"""What differs between two files of ratings, such as two exports of one study."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats.ratings import RatingTable

# What identifies an answer; a corrected answer has the same identity as the one it replaces.
IDENTITY = ("criterion", "unit", "rater", "kind", "run", "order", "repeat")
# What decides whether and how a rating counts.
CONTENT = (
    *("label", "role", "instance", "system_a", "system_b", "inclusion_probability", "phase"),
    *("nonresponse", "reason"),
    *("surplus", "superseded", "partial", "late", "excluded", "excluded_reason", "simulated"),
)

Kind = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Difference:
    """A rating that only one of two files has, or that differs between them."""

    kind: Kind
    """Whether only the second file has it, only the first, or both with different values."""
    rating: dict[str, str]
    """What identifies the rating, such as its unit, rater and criterion."""
    changes: dict[str, tuple[str, str]]
    """Of a changed rating, the value in the first and the second file by column."""
    lines: tuple[int | None, int | None]
    """Line in the first and the second file."""

    def __str__(self) -> str:
        which = ", ".join(f"{name} {value}" for name, value in self.rating.items() if value)
        changes = "; ".join(f"{c}: {old} → {new}" for c, (old, new) in self.changes.items())
        first, second = self.lines
        where = " and ".join(
            f"line {line} of the {name} file"
            for line, name in ((first, "first"), (second, "second"))
            if line is not None
        )
        return f"{self.kind} ({where}): {which}{f'; {changes}' if changes else ''}"


Values = tuple[str, ...]


def compare_ratings(first: RatingTable, second: RatingTable) -> tuple[Difference, ...]:
    """Find the ratings that differ between two tables, whatever their order.

    Returns changed, removed and added ratings, by criterion, unit and rater: none if both tables
    have the same labels, flags and facts. Times and durations are not compared.

    Examples
    --------
    >>> row = {"unit": "u", "rater": "r", "label": 1}
    >>> tables = [RatingTable.from_rows([row | {"label": label}]) for label in (1, 0)]
    >>> compare_ratings(*tables)[0].changes
    {'label': ('1', '0')}
    """
    old, new = _by_identity(first), _by_identity(second)
    differences: list[Difference] = []
    for identity in sorted({*old, *new}):
        differences += _of_rating(identity, old.get(identity, []), new.get(identity, []))
    return tuple(differences)


_Rows = list[tuple[Values, int]]


def _by_identity(table: RatingTable) -> dict[Values, _Rows]:
    columns = [_texts(table[name]) for name in (*IDENTITY, *CONTENT)]
    rows: dict[Values, _Rows] = defaultdict(list)
    for line, values in zip(table.lines.tolist(), zip(*columns, strict=True), strict=True):
        rows[values[: len(IDENTITY)]].append((values[len(IDENTITY) :], line))
    return rows


def _texts(column: NDArray[Any]) -> list[str]:
    return [_text(value) for value in column.tolist()]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return str(value)


def _of_rating(identity: Values, old: _Rows, new: _Rows) -> Iterator[Difference]:
    """Yield the differences of one rater's answers to one question, of which few have several."""
    rating = dict(zip(IDENTITY, identity, strict=True))
    old, new = _without(old, new), _without(new, old)
    both = min(len(old), len(new))
    for (before, first), (after, second) in zip(old[:both], new[:both], strict=True):
        pairs = zip(CONTENT, before, after, strict=True)
        changes = {name: (a or "none", b or "none") for name, a, b in pairs if a != b}
        yield Difference("changed", rating, changes, (first, second))
    for _, line in old[both:]:
        yield Difference("removed", rating, {}, (line, None))
    for _, line in new[both:]:
        yield Difference("added", rating, {}, (None, line))


def _without(rows: _Rows, others: _Rows) -> _Rows:
    """Return the rows without those that the others have with the same values."""
    left, kept = Counter(values for values, _ in others), []
    for values, line in rows:
        if left[values]:
            left[values] -= 1
        else:
            kept.append((values, line))
    return kept
