"""What a container holds once it is unpacked, counted before any reader opens it."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from tiebreak import optional
from tiebreak.formats.cells import MAX_COLUMNS
from tiebreak.formats.errors import FormatError
from tiebreak.formats.limits import Limits

# The most rows and columns that a workbook can have.
SHEET_ROWS, SHEET_COLUMNS = 1_048_576, 16_384
MAX_ELEMENTS = 20_000_000
MAX_XML_DEPTH = 100
MAX_MERGED = 200_000
# Texts that repeat stay as small as they are in the file, so many rows may be read in one step.
ROWS_AT_ONCE = 16_384
# What one value of a list takes in memory as an object, whatever its length.
EACH = 32
CHUNK = 256 * 1024


def check_parquet(path: Path, limits: Limits) -> None:
    """Raise `FormatError` if the rows of a Parquet file would exceed the limits.

    The file's own facts count a value once that its rows repeat, so texts are read as dictionaries
    and each row's text is counted. Files that cannot be read are left to their readers.
    """
    pa, pq = optional.load("pyarrow"), optional.load("pyarrow.parquet")
    gate = _Gate(path.name, limits)
    try:
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
            gate.count(file.metadata.num_rows, len(file.schema_arrow.names))
            gate.check_size(EACH * max((chunk.num_values for chunk in chunks), default=0))
            leaves = [file.schema.column(i) for i in range(len(file.schema.names))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
                gate.add_batch(batch)
    except (FormatError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        return


def checked_batches(path: Path, reader: Any, limits: Limits) -> Iterator[Any]:
    """Yield the batches of an Arrow file or stream; raise `FormatError` for one that is too large."""
    gate = _Gate(path.name, limits)
    gate.count(0, len(reader.schema.names))
    has_index = hasattr(reader, "num_record_batches")
    batches = map(reader.get_batch, range(reader.num_record_batches)) if has_index else reader
    for batch in batches:
        gate.rows += batch.num_rows
        gate.count(gate.rows, batch.num_columns)
        gate.add_batch(batch)
        # Arrow believes the offsets of a file, and would read texts of a negative length.
        batch.validate(full=True)
        yield batch


class _Gate:
    """Adds up what a file of columns has, and refuses it where that exceeds the limits."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name, self.limits, self.size, self.rows = name, limits, 0, 0

    def count(self, rows: int, columns: int) -> None:
        if rows > self.limits.rows:
            reason = f"has {rows:,} rows, but the limit is {self.limits.rows:,}"
            raise FormatError.of(self.name, None, "too_many_rows", self.limits.refusal(reason))
        if columns > MAX_COLUMNS:
            reason = f"has {columns:,} columns, but the limit is {MAX_COLUMNS}"
            raise FormatError.of(self.name, None, "too_many_columns", reason)

    def add(self, size: int) -> None:
        self.size += size
        self.check_size(self.size)

    def check_size(self, size: int) -> None:
        if size > self.limits.unpacked:
            reason = f"unpacks to more than {self.limits.unpacked:,} bytes, which is the limit"
            raise FormatError.of(self.name, None, "unpacks_too_large", self.limits.refusal(reason))

    def add_batch(self, batch: Any) -> None:
        for column in batch.columns:
            self._add_array(column)

    def _add_array(self, array: Any) -> None:
        """Add the size of an array as its rows have it, with each repeated value as often as it is."""
        types, kind = optional.load("pyarrow").types, array.type
        if types.is_dictionary(kind):
            self._add_lengths(array.dictionary, array.indices)
        elif types.is_struct(kind):
            for field in array.flatten():
                self._add_array(field)
        elif types.is_nested(kind) and hasattr(array, "flatten"):
            inner = array.flatten()
            self.add(EACH * (len(array) + len(inner)))
            self._add_array(inner)
        elif _is_text(kind):
            self._add_lengths(array, None)
        else:
            self.add(array.nbytes)

    def _add_lengths(self, values: Any, indices: Any) -> None:
        compute = optional.load("pyarrow.compute")
        if not _is_text(values.type):
            self.add(8 * len(values if indices is None else indices))
            return
        lengths = compute.binary_length(values)
        longest = compute.max(lengths).as_py() or 0
        if longest > self.limits.line:
            reason = f"has a value of {longest:,} bytes, but the limit is {self.limits.line:,}"
            raise FormatError.of(self.name, None, "value_too_long", self.limits.refusal(reason))
        counted = lengths if indices is None else lengths.take(indices)
        self.add(compute.sum(counted.cast("int64")).as_py() or 0)


def _is_text(kind: Any) -> bool:
    types = optional.load("pyarrow").types
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def column_number(letters: str) -> int:
    """Return the number of a column that a workbook names by letters: 27 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


class SheetScan:
    """What the XML of a workbook says; it is refused before a library expands it.

    A number of a row or column counts as that many, because readers fill the gaps before it.
    """

    def __init__(self, name: str, limits: Limits, elements: int = 0) -> None:
        self.name, self.limits, self.elements = name, limits, elements
        self.merged: list[tuple[int, str]] = []
        self.has_formulas = False
        self.cells = self._depth = self._row = self._width = 0

    def read(self, file: IO[bytes]) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        self._depth = self._row = 0
        while chunk := file.read(CHUNK):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def _refuse_doctype(self, *_: Any) -> None:
        raise self._refusal("xml_entities", "declares XML entities, which no spreadsheet needs")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self.elements += 1
        if self._depth > MAX_XML_DEPTH:
            raise self._refusal("nested_too_deep", f"is nested deeper than {MAX_XML_DEPTH} levels")
        if self.elements > MAX_ELEMENTS:
            raise self._refusal("too_many_cells", f"has more than {MAX_ELEMENTS:,} elements")
        name = tag.rpartition(":")[2]
        if name == "row":
            self._begin_row(attributes.get("r"))
        elif name == "c":
            self._begin_cell(attributes.get("r"))
        elif name == "f":
            self.has_formulas = True
        elif name == "mergeCell":
            self._merge(attributes.get("ref", ""))

    def _end(self, _: str) -> None:
        self._depth -= 1

    def _begin_row(self, number: str | None) -> None:
        row = self._row + 1 if number is None else self._whole(number)
        if row > SHEET_ROWS:
            raise self._refusal("bad_row_number", f"has a row with the number {number:.40}")
        self.cells += max(0, row - self._row)
        self._row, self._width = row, 0

    def _begin_cell(self, reference: str | None) -> None:
        width = self._width + 1 if reference is None else self._column(reference)
        if width > SHEET_COLUMNS:
            raise self._refusal("too_many_columns", f"has a cell at {reference:.40}")
        self.cells += max(0, width - self._width)
        self._width = width
        if self.cells > self.limits.rows * MAX_COLUMNS:
            raise self._refusal("too_many_cells", "has too many cells, empty ones included")

    def _column(self, reference: str) -> int:
        letters = reference.rstrip("0123456789").upper()
        if not 0 < len(letters) <= 3 or not all("A" <= letter <= "Z" for letter in letters):
            raise self._refusal("bad_cell_reference", f"has a cell at {reference:.40}")
        if self._whole(reference[len(letters) :] or "1") > SHEET_ROWS:
            raise self._refusal("bad_row_number", f"has a cell at {reference:.40}")
        return column_number(letters)

    def _whole(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and 0 < len(text) <= 20):
            raise self._refusal("bad_row_number", f"has a row with the number {text:.40}")
        return int(text)

    def _merge(self, reference: str) -> None:
        first = reference.partition(":")[0].lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        area = (int(first) if first.isascii() and first.isdigit() else 1, reference[:40])
        if len(self.merged) >= MAX_MERGED:
            raise self._refusal("too_many_cells", f"has more than {MAX_MERGED:,} merged areas")
        self.merged.append(area)

    def _refusal(self, code: str, reason: str) -> FormatError:
        return FormatError.of(self.name, None, code, self.limits.refusal(reason))
