"""What a researcher sees of a file of ratings before any of it is stored."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.errors import FormatError
from tiebreak.formats.layouts.choice import Choice, EmptyBelowError
from tiebreak.formats.layouts.existing import TABLE, Existing
from tiebreak.formats.layouts.layout import RATER_OF, rater_and_criterion
from tiebreak.formats.layouts.reading import is_native, read_existing, roles_in
from tiebreak.formats.layouts.rows import exploded
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_names import UNNAMED
from tiebreak.formats.readers import recognised
from tiebreak.formats.tables import TableProblems
from tiebreak.formats.tables.profiles import Profile, profile_of
from tiebreak.formats.tables.reading import Table

FIRST = 5
TRIED_ROWS = 2000
SHOWN_COLUMNS = ("unit", "rater", "criterion", "label")


@dataclass(frozen=True)
class Seen:
    """A file of ratings as it was read, or why it was not; both with the columns to choose from.

    ``code`` and ``refusal`` say what is not clear; then nothing else but ``columns`` is known.
    """

    reader: str = ""
    """The reader: that of a platform or dataset, or "table"."""
    known: str = ""
    """The reader that knows the file by its beginning, or ""."""
    sentence: str = ""
    notes: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    columns: dict[str, list[str]] = field(default_factory=dict)
    """The first cells of each column, if the file can be read as a table."""
    scales: dict[str, str] = field(default_factory=dict)
    first: list[list[str]] = field(default_factory=list)
    code: str = ""
    refusal: str = ""
    empty_below: list[str] = field(default_factory=list)
    """Columns of which is asked whether empty cells repeat the value above."""


def look_at(
    path: Path,
    rows: Table | None,
    choice: Choice,
    *,
    limits: Limits = LIMITS,
    title: str = "",
    into: Path | None = None,
) -> Seen:
    """Return what a file of ratings contains. If ``into`` is given, write it there as a bundle.

    ``rows`` are those of the file, if it is a table.
    """
    known = _known(path)
    columns: dict[str, list[str]] = {}
    try:
        columns = _columns(rows)
        source = _source(path, rows, choice, known)
        existing = read_existing(source, choice=choice, limits=limits)
        converted = existing.converted(title)
        if into is not None:
            converted.write(into)
        scales = {criterion.name: criterion.scale for criterion in converted.spec.criteria}
    except (DomainError, InvalidInput) as error:
        return _refused(error, choice.reader or known, known, columns)
    return Seen(
        existing.reader,
        known,
        existing.sentence,
        [*existing.notes],
        {**existing.columns},
        columns,
        scales,
        list(_first(existing)),
    )


def ratings_in(path: Path, rows: Table | None) -> tuple[str, str]:
    """Return the reader that finds ratings in a file, or "", and a code if that is in doubt.

    Only the first rows of a table are tried.
    Short texts of systems may look like labels, if only the columns say who gave them.
    """
    known = _known(path)
    with suppress(DomainError, InvalidInput):
        if known and len(read_existing(path, choice=Choice(reader=known)).table):
            return known, ""
    if rows is None:
        return "", ""
    first = [row for _, row in islice(rows.rows(TableProblems()), TRIED_ROWS)]
    columns = _profile(rows).columns.items()
    texts = {name for name, column in columns if column.is_prose}
    try:
        roles = roles_in(first)
    except (DomainError, InvalidInput):
        return "", ""
    if "rater" in roles:
        return TABLE, ""
    if any(rater_and_criterion(role)[0] in UNNAMED for role in roles):
        return "", ""  # a table of texts may well have one label of each
    of_raters = {column for role, column in roles.items() if role.startswith(RATER_OF)}
    return ("", "") if of_raters & texts else (TABLE, "raters_as_columns")


def _refused(
    error: DomainError | InvalidInput, reader: str, known: str, columns: dict[str, list[str]]
) -> Seen:
    code = error.problems[0].code if isinstance(error, FormatError) else error.code
    asked = [*error.columns] if isinstance(error, EmptyBelowError) else []
    return Seen(reader, known, columns=columns, code=code, refusal=error.message, empty_below=asked)


def _known(path: Path) -> str:
    with suppress(DomainError, InvalidInput):
        return recognised(path)
    return ""


def _source(path: Path, rows: Table | None, choice: Choice, known: str) -> Path | Table:
    """Return the rows of a table, or the file if a platform or the ratings format has another reader."""
    is_chosen = bool(choice.columns or choice.left_out or choice.fill_down)
    reader = choice.reader or ("" if is_chosen else known)
    is_plain = is_chosen or not is_native(path)
    is_table = reader == TABLE or (not reader and is_plain)
    return rows if rows is not None and is_table else path


def _columns(rows: Table | None) -> dict[str, list[str]]:
    if rows is None:
        return {}
    return {name: column.examples[:3] for name, column in _profile(rows).columns.items()}


def _profile(rows: Table) -> Profile:
    return profile_of(islice(exploded(rows.rows(TableProblems())), TRIED_ROWS))


def _first(existing: Existing) -> Iterator[list[str]]:
    table = existing.table
    for k in range(min(FIRST, len(table))):
        cells = (table.value(name, k) for name in SHOWN_COLUMNS)
        yield ["" if cell is None else str(cell) for cell in cells]
