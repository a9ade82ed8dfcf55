"""A ratings file in memory: columns of codes, so that millions of rows are a few arrays."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from studies.formats.columns import COLUMNS, EXCLUDING_FLAGS, Label
from studies.formats.limits import DEFAULT_LIMITS, Limits

V = TypeVar("V", bound=Hashable)
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

MISSING = -1


@dataclass(frozen=True, slots=True)
class Coded(Generic[V]):
    """A column as codes into its distinct values; code −1 is a missing cell."""

    codes: Codes
    values: tuple[V, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def code_of(self, value: V) -> int:
        """The code of `value`; −2, which no row has, where it does not occur."""
        return self.values.index(value) if value in self.values else -2

    def equals(self, value: V) -> Mask:
        return np.asarray(self.codes == self.code_of(value))

    @property
    def missing(self) -> Mask:
        return np.asarray(self.codes == MISSING)

    def decoded(self) -> Iterator[V | None]:
        lookup: tuple[V | None, ...] = (*self.values, None)
        return map(lookup.__getitem__, self.codes.tolist())

    def select(self, rows: NDArray[np.generic]) -> Self:
        """The rows of a mask or of indices; the values stay, so that codes keep their meaning."""
        return type(self)(self.codes[rows], self.values)


Column = Coded[str] | Coded[Label] | Integers | Numbers | Mask


@dataclass(frozen=True, slots=True)
class RatingTable:
    """The rows of one or several ratings files.

    Read a column by the getter of its kind: `text`, `integer`, `number`, `flag`, and `label`.
    One that no row has is there too, wholly missing or at its default, and takes no memory.

    `lines` (n,): where each row stood in its file, from 1. `columns`: what was present.
    `ignored`: names of columns that this format does not know; they are not kept.
    """

    source: str
    lines: Integers
    columns: Mapping[str, Column]
    ignored: tuple[str, ...] = ()

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Mapping[str, object]],
        *,
        source: str = "ratings",
        columns: Iterable[str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> "RatingTable":
        """Rows as mappings, checked like a file's; `columns` keeps only those (and the required).

        Raises FormatError, in which a line is the row's number from 1.
        """
        from studies.formats.building import table_from_chunks  # noqa: PLC0415  it builds us
        from studies.formats.chunks import chunks_of_rows  # noqa: PLC0415

        return table_from_chunks(
            chunks_of_rows(enumerate(rows, 1)), source=source, columns=columns, limits=limits
        )

    @staticmethod
    def concat(tables: Sequence["RatingTable"]) -> "RatingTable":
        """One below the other. Duplicates across tables are not looked for here."""
        from studies.formats.joining import concatenated  # noqa: PLC0415  it builds us

        return concatenated(tables)

    def __len__(self) -> int:
        return len(self.lines)

    def has(self, name: str) -> bool:
        return name in self.columns

    def text(self, name: str) -> Coded[str]:
        """A text column as codes and distinct texts."""
        if name in self.columns:
            return cast(Coded[str], self.columns[name])
        default = COLUMNS[name].default
        if default is None:
            return Coded(np.broadcast_to(np.int32(MISSING), len(self)), ())
        return Coded(np.broadcast_to(np.int32(0), len(self)), (default,))

    @property
    def label(self) -> Coded[Label]:
        """Labels as they stood in the file (numbers or texts); −1 is an unparsed answer."""
        return cast(Coded[Label], self.columns["label"])

    def integer(self, name: str) -> Integers:
        """(n,) whole numbers from 0; −1 is missing."""
        if name in self.columns:
            return cast(Integers, self.columns[name])
        return np.broadcast_to(np.int64(MISSING), len(self))

    def number(self, name: str) -> Numbers:
        """(n,) floats; NaN is missing."""
        if name in self.columns:
            return cast(Numbers, self.columns[name])
        return np.broadcast_to(np.float64(np.nan), len(self))

    def flag(self, name: str) -> Mask:
        """(n,) booleans; an absent flag is false."""
        if name in self.columns:
            return cast(Mask, self.columns[name])
        return np.broadcast_to(np.False_, len(self))

    @property
    def unflagged(self) -> Mask:
        """Rows that no flag takes out of the statistics."""
        mask = np.ones(len(self), dtype=bool)
        for name in EXCLUDING_FLAGS:
            mask &= ~self.flag(name)
        return mask

    @property
    def counted(self) -> Mask:
        """Rows that enter the statistics: role main, no repeat, no flag that takes them out."""
        return np.asarray(
            self.unflagged & self.text("role").equals("main") & (self.integer("repeat") <= 0)
        )

    def select(self, rows: NDArray[np.generic]) -> "RatingTable":
        """The rows of a boolean mask, or of indices in their order."""
        columns = {
            name: column.select(rows) if isinstance(column, Coded) else column[rows]
            for name, column in self.columns.items()
        }
        return RatingTable(self.source, self.lines[rows], columns, self.ignored)

    def rows(self) -> Iterator[dict[str, object]]:
        """Each row as a mapping over the columns that are present; None is missing."""
        names = [name for name in COLUMNS if name in self.columns]
        cells = (_cells(self.columns[name]) for name in names)
        for values in zip(*cells, strict=True):
            yield dict(zip(names, values, strict=True))


def _cells(column: Column) -> Iterator[object]:
    if isinstance(column, Coded):
        return column.decoded()
    if column.dtype.kind == "f":
        return (None if value != value else value for value in column.tolist())  # noqa: PLR0124
    if column.dtype.kind == "b":
        return iter(column.tolist())
    return (None if value == MISSING else value for value in column.tolist())
