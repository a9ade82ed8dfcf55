"""Rows of JSON and JSON Lines files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import TABLE_DECODER, parse_json
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import says
from tiebreak.formats.tables.problems import BadCell, TableProblems

CHUNK = 256 * 1024
MAX_LINE = 64 * 1024 * 1024
# An object of columns cannot be read row by row, so it has to fit into memory.
MAX_WHOLE = 50_000_000
_SPACES = re.compile(r"[\s,]*")
NOT_AN_OBJECT = "The row is not a JSON object with a value for each column."
BESIDE = "The rows are those of {}. What the file has beside them is left out: {}."
UNREADABLE = "The file is not valid JSON ({}). Check it with a JSON editor, or save it again."


def json_layout(path: Path) -> str:
    """Return "lines", "list" or "object", or "" if the file does not begin like JSON."""
    with path.open("rb") as file:
        line = b""
        while not line.strip():
            line = file.readline(MAX_LINE)
            if not line:
                return ""
        first = line.lstrip(b"\xef\xbb\xbf \t\r\n")
        if first.startswith(b"["):
            return "list"
        if not first.startswith(b"{"):
            return ""
        if not _is_object(first):
            return "object"
        if path.suffix in {".jsonl", ".ndjson"}:
            return "lines"
        # A file of one line may be an object of columns, not one row.
        has_more = any(line.strip() for line in iter(lambda: file.readline(4096), b""))
        return (
            "lines" if has_more or not _records(parse_json(first, is_table=True))[0] else "object"
        )


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line, is_table=True), dict)
    except InvalidInput:
        return False


def read_lines(path: Path, problems: TableProblems) -> Iterator[tuple[int, Row]]:
    """Yield the objects of a JSON Lines file with the numbers of their lines."""
    with path.open("rb") as file:
        for number, raw in problems.numbered(iter(lambda: file.readline(MAX_LINE + 1), b"")):
            if len(raw) > MAX_LINE:
                reason = f"The line is longer than {MAX_LINE:,} bytes. Shorten it."
                problems.stop(number, "line_too_long", reason)
                return
            if not raw.strip():
                problems.left_out["empty_rows"] += 1
                continue
            with problems.at(number):
                yield number, _object(_parsed(raw))


def _parsed(raw: bytes) -> Any:
    try:
        return parse_json(raw, is_table=True)
    except InvalidInput as error:
        raise BadCell(error.code, f"The line {error.message}.") from error


def _object(value: Any) -> Row:
    if not isinstance(value, dict):
        raise BadCell("not_an_object", NOT_AN_OBJECT)
    return value


def read_list(path: Path, problems: TableProblems) -> Iterator[tuple[int, Row]]:
    """Yield the objects of a JSON list one by one, so memory does not grow with the file."""
    number = 0
    with path.open("r", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        try:
            for number, value in problems.numbered(_ListReader(file).values()):
                with problems.at(number):
                    yield number, _object(value)
        except InvalidInput as error:
            problems.stop(number + 1, error.code, UNREADABLE.format(error.message))
        except RecursionError:
            problems.stop(number + 1, "nested_too_deep", UNREADABLE.format("too deeply nested"))
        except json.JSONDecodeError as error:
            problems.stop(number + 1, "not_json", UNREADABLE.format(error.msg))
    if not number and not problems.is_fatal:
        problems.stop(None, "empty", "The file has no rows.")


class _ListReader:
    """Decodes a list value by value, with no more of its text in memory than one value needs."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.buffer, self.is_complete = file, "", False

    def values(self) -> Iterator[Any]:
        self._read()
        position = self.buffer.index("[") + 1
        while True:
            position = self._next(position)
            if self.buffer[position] == "]":
                return
            value, position = self._value(position)
            yield value

    def _next(self, position: int) -> int:
        """Return the position of the next character that is neither a space nor a comma."""
        while True:
            position = _SPACES.match(self.buffer, position).end()  # type: ignore[union-attr]
            if position < len(self.buffer):
                return position
            if self.is_complete:
                raise json.JSONDecodeError("the list has no end", self.buffer, position)
            self.buffer, position = "", 0
            self._read()

    def _value(self, position: int) -> tuple[Any, int]:
        while True:
            try:
                return TABLE_DECODER.raw_decode(self.buffer, position)
            except json.JSONDecodeError:
                if self.is_complete:
                    raise
            if len(self.buffer) - position > MAX_LINE:
                raise InvalidInput("line_too_long", f"a row has over {MAX_LINE:,} characters")
            self.buffer, position = self.buffer[position:], 0
            self._read()

    def _read(self) -> None:
        """Read as much again, so a long value is decoded a few times only."""
        more = self.file.read(max(CHUNK, len(self.buffer)))
        self.is_complete = not more
        self.buffer += more


def read_object(path: Path, problems: TableProblems) -> Iterator[tuple[int, Row]]:
    """Yield the rows of an object of columns, or of one that contains a list of rows."""
    if path.stat().st_size > MAX_WHOLE:
        reason = (
            f"The file is one JSON object of more than {MAX_WHOLE:,} bytes. Save it as JSON Lines,"
            " with one object in each line."
        )
        problems.stop(None, "json_too_large", reason)
        return
    try:
        value = parse_json(path.read_bytes(), is_table=True)
        records, source = _records(value)
    except InvalidInput as error:
        problems.stop(None, error.code, UNREADABLE.format(error.message))
        return
    if not records:
        reason = "The file is neither a list of JSON objects nor an object of columns."
        problems.stop(None, "not_a_table", reason)
        return
    others = [name for name in value if name != source and name not in records[0]]
    if source and others:
        problems.notes.append(BESIDE.format(source, ", ".join(others)[:1000]))
    for number, row in problems.numbered(records):
        with problems.at(number):
            yield number, _object(row)


def _records(value: Any) -> tuple[list[Any], str]:
    """Return the rows of an object: of columns, of rows by id, or with a list of rows in it, of this name."""
    if not isinstance(value, dict) or not value:
        return [], ""
    lists = {name: column for name, column in value.items() if isinstance(column, list)}
    are_columns = len(lists) == len(value) and len({len(cells) for cells in lists.values()}) == 1
    if are_columns and not all(map(_has_rows, lists.values())):
        rows = zip(*lists.values(), strict=True)
        return [dict(zip(lists, cells, strict=True)) for cells in rows], ""
    nested = [name for name, column in lists.items() if _has_rows(column)]
    if len(nested) == 1:
        return lists[nested[0]], nested[0]
    grouped, source = _grouped_records(value)
    if not grouped and all(isinstance(row, dict) and row for row in value.values()):
        return _keyed_records(value), ""
    return grouped, source


def _grouped_records(value: dict[str, Any]) -> tuple[list[Any], str]:
    """Return the rows of the one object of lists of rows, each with the name of its list and what is said of all.

    Lists of systems or settings have the name "group" if something else says who rated.
    """
    objects = {"": value} | {name: of_one for name, of_one in value.items() if of_one}
    found = {
        n: g for n, g in objects.items() if isinstance(g, dict) and all(map(_has_rows, g.values()))
    }
    keys = {frozenset(rows[0]) for groups in found.values() for rows in groups.values()}
    if len(found) != 1 or len(keys) > 1:
        return [], ""
    ((source, groups),) = found.items()
    of_all = {name: v for name, v in value.items() if isinstance(v, str | int | float)}
    is_said = any(says(name, "person") for name in (*of_all, *keys.pop()))
    are_raters = all(says(name, "person") for name in groups)
    name = "rater" if are_raters else "group" if is_said else "list"
    return [{**of_all, name: key, **row} for key, rows in groups.items() for row in rows], source


def _has_rows(value: Any) -> bool:
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(row, dict) for row in value)


def _keyed_records(value: dict[str, dict[str, Any]]) -> list[Any]:
    """Return the rows of columns by row number, as pandas writes them, or of rows by their id."""
    numbers = list(next(iter(value.values())))
    is_by_column = all(list(column) == numbers for column in value.values())
    if is_by_column and all(number.isdigit() for number in numbers):
        return [{name: column[number] for name, column in value.items()} for number in numbers]
    return [{"id": key, **row} for key, row in value.items()]
