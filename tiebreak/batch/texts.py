"""Instances and generations in the bundle's form, from a bundle or from one table, row by row."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from sys import maxsize
from typing import Any

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.bundle import (
    GENERATIONS,
    INSTANCES,
    GenerationRow,
    InstanceRow,
    generation_of,
    instance_of,
    open_bundle,
)
from tiebreak.formats.cells import check_id, parse_json
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import Limits
from tiebreak.formats.rows import Row, read_rows
from tiebreak.formats.spec import ALL_PAIRS, STUDY_FILE, read_spec

# A file of one's own may be as long as it is; rows are read one after another.
LIMITS = Limits(rows=maxsize, unpacked=maxsize)
MAX_INDEX = 2**31
WHOLE = ("sample_index", "seed")
OBJECTS = ("params", "messages", "metadata")
GENERATION_COLUMNS = tuple(column.name for column in fields(GenerationRow))


@dataclass(frozen=True)
class Source:
    """The files of a bundle, or the one table that takes the place of one of them."""

    table: Path
    """File with the rows that are asked for."""
    folder: Path | None = None
    """Folder of the bundle, if it is one."""

    @property
    def files(self) -> list[Path]:
        """The files whose content decides what is read."""
        if self.folder is None:
            return [self.table]
        named = (self.folder / name for name in (STUDY_FILE, INSTANCES, GENERATIONS))
        return [path for path in named if path.is_file()]

    def systems(self, problems: Problems) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the systems in the order of the bundle's design, if it names them, and its controls."""
        if self.folder is None or not (self.folder / STUDY_FILE).is_file():
            return (), frozenset()
        spec = read_spec(self.folder, problems, LIMITS).spec
        return () if spec.systems == (ALL_PAIRS,) else spec.systems, frozenset(spec.controls)

    def instances(self, problems: Problems) -> Iterator[tuple[int, InstanceRow]]:
        """Yield the instances with their lines."""
        path = self.table if self.folder is None else self.folder / INSTANCES
        for line, row in read_rows(path, problems, LIMITS):
            with problems.at(path.name, line):
                yield line, instance_of(check_id("id", row.get("id")), typed(row))

    def generations(self, problems: Problems) -> Iterator[tuple[int, GenerationRow]]:
        """Yield the generations with their lines; columns of others are ignored."""
        for line, row in read_rows(self.table, problems, LIMITS):
            with problems.at(self.table.name, line):
                known = {
                    name: row[name] for name in GENERATION_COLUMNS if row.get(name) is not None
                }
                generation = generation_of(typed(known))
                if not 0 <= generation.sample_index < MAX_INDEX:
                    raise InvalidInput(
                        "not_a_whole_number", "sample_index is no number of a sample"
                    )
                yield line, generation


@contextmanager
def open_texts(path: Path, name: str) -> Iterator[Source]:
    """Open a bundle (folder or .zip) with the file ``name``, or a table in the form of that file."""
    check_path(path)
    if path.is_file() and path.suffix != ".zip":
        yield Source(path)
        return
    with open_bundle(path, limits=LIMITS) as folder:
        if not (folder / name).is_file():
            raise DomainError("file_missing", f"{path.name} has no {name}.", status=400)
        yield Source(folder / name, folder)


def check_path(path: Path) -> None:
    if not path.exists():
        raise DomainError("no_such_file", f"There is no file {path}.", status=400)


def typed(row: Row) -> Row:
    """Return a row whose cells were text, as all cells of CSV files are."""
    return {name: _value(name, value) for name, value in row.items()}


def _value(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in OBJECTS:
        return parse_json(value.encode(errors="surrogatepass"))
    if name in WHOLE:
        try:
            return int(value)
        except ValueError:
            reason = f"{name} must be a whole number, not {value!r}"[:200]
            raise InvalidInput("not_a_whole_number", reason) from None
    if name == "is_dummy":
        return {"true": True, "false": False}.get(value.casefold(), value)
    return value
