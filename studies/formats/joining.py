"""Puts tables one below the other: texts get one common code, absent columns their default."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

from studies.formats.columns import COLUMNS
from studies.formats.table import Coded, Codes, Column, RatingTable

V = TypeVar("V", bound=Hashable)


def concatenated(tables: Sequence[RatingTable]) -> RatingTable:
    if not tables:
        raise ValueError("tables must hold at least one table")
    present = [name for name in COLUMNS if any(table.has(name) for table in tables)]
    return RatingTable(
        ", ".join(dict.fromkeys(table.source for table in tables)),
        np.concatenate([table.lines for table in tables]),
        {name: _column(tables, name) for name in present},
        tuple(dict.fromkeys(name for table in tables for name in table.ignored)),
    )


def _column(tables: Sequence[RatingTable], name: str) -> Column:
    match COLUMNS[name].kind:
        case "label":
            return _joined([table.label for table in tables])
        case "text":
            return _joined([table.text(name) for table in tables])
        case "integer":
            return np.concatenate([table.integer(name) for table in tables])
        case "number":
            return np.concatenate([table.number(name) for table in tables])
        case "flag":
            return np.concatenate([table.flag(name) for table in tables])


def _joined(columns: Sequence[Coded[V]]) -> Coded[V]:
    codes: dict[V, int] = {}
    parts: list[Codes] = []
    for column in columns:
        new = [codes.setdefault(value, len(codes)) for value in column.values]
        parts.append(np.array([*new, -1], dtype=np.int32)[column.codes])
    return Coded(np.concatenate(parts), tuple(codes))
