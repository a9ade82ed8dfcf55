"""Rows on their way into a table: some thousands at a time, column by column."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

CHUNK_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """`lines` of the rows, and for each column one cell per row; None is missing.

    `problems` are lines that could not be read at all, with the reason.
    """

    lines: list[int]
    cells: dict[str, list[object]]
    problems: tuple[tuple[int, str], ...] = ()


def chunks_of_rows(
    rows: Iterable[tuple[int, Mapping[str, object] | str]],
) -> Iterator[Chunk]:
    """Chunks from (line, row); a text in place of a row is the reason why there is none."""
    stream = iter(rows)
    while batch := list(islice(stream, CHUNK_ROWS)):
        good = [(line, row) for line, row in batch if not isinstance(row, str)]
        bad = tuple((line, row) for line, row in batch if isinstance(row, str))
        names = dict.fromkeys(name for _, row in good for name in row)
        cells: dict[str, list[object]] = {
            name: [row.get(name) for _, row in good] for name in names
        }
        yield Chunk([line for line, _ in good], cells, bad)
