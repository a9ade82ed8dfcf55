"""Columns that follow from others: both samples from one index, lengths from texts."""

from collections.abc import Mapping

import numpy as np

from studies.formats.columns import COLUMNS, EXCLUDING_FLAGS, REQUIRED, Label
from studies.formats.table import MISSING, Coded, Column, Integers

# Read whatever is asked for: the rules that every file must obey look at them.
_ALWAYS = frozenset(
    (*REQUIRED, *EXCLUDING_FLAGS, "kind", "criterion", "role", "run", "repeat", "order", "raw")
)


def needed_columns(asked: frozenset[str]) -> frozenset[str]:
    """What to read from a file so that the columns `asked` for can be given."""
    unknown = asked - set(COLUMNS)
    if unknown:
        raise ValueError(f"columns names {sorted(unknown)}; known are {', '.join(COLUMNS)}")
    sources = {f"text_{side}" for side in "ab" if f"chars_{side}" in asked}
    samples = {"sample_index"} if {"sample_a", "sample_b"} & asked else set()
    return asked | _ALWAYS | sources | samples


def derived_columns(given: Mapping[str, Column], *, wanted: frozenset[str]) -> dict[str, Column]:
    """`given` with what follows from it, in the format's order, without what nobody asked for."""
    columns = dict(given)
    index = columns.pop("sample_index", None)
    for side in "ab":
        if isinstance(index, np.ndarray):
            _fill(columns, f"sample_{side}", index.astype(np.int64))
        text = columns.get(f"text_{side}")
        if isinstance(text, Coded):
            _fill(columns, f"chars_{side}", _lengths(text))
    kept = wanted | _ALWAYS
    return {name: columns[name] for name in COLUMNS if name in columns and name in kept}


def _fill(columns: dict[str, Column], name: str, values: Integers) -> None:
    """Put `values` where the column has none; what the file says itself stays."""
    own = columns.get(name)
    if isinstance(own, np.ndarray):
        values = np.where(own == MISSING, values, own).astype(np.int64)
    columns[name] = values


def _lengths(text: Coded[str] | Coded[Label]) -> Integers:
    lengths = [len(str(value)) for value in text.values]
    return np.array([*lengths, MISSING], dtype=np.int64)[text.codes]
