"""Ratings of other people in any table: what was read, in a sentence and as a table of ratings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.errors import FormatError, Problem, Problems
from tiebreak.formats.layouts.choice import Choice, EmptyBelowError
from tiebreak.formats.layouts.existing import TABLE, Existing, with_labels
from tiebreak.formats.layouts.grids import BLANK
from tiebreak.formats.layouts.guess import layout_of
from tiebreak.formats.layouts.known import UnclearLayoutError
from tiebreak.formats.layouts.layout import Layout
from tiebreak.formats.layouts.ratings import Tally, ratings_in_rows
from tiebreak.formats.layouts.rows import exploded
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_cells import COLUMNS, FLAGS, parse_cell
from tiebreak.formats.rating_names import UNNAMED
from tiebreak.formats.ratings import (
    RATING_COLUMNS,
    RatingTable,
    has_rating_columns,
    is_ratings_file,
    read_ratings,
    table_of,
)
from tiebreak.formats.readers import convert, recognised
from tiebreak.formats.readers.questionnaires import WHOLE
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import TableProblems
from tiebreak.formats.tables.ends import without_footer
from tiebreak.formats.tables.filling import empty_below, filled_down
from tiebreak.formats.tables.profiles import Profile, is_blank, profile_of
from tiebreak.formats.tables.reading import Table, open_table
from tiebreak.nonresponse import is_missing
from tiebreak.scales import Scale

NO_RATINGS = (
    "has texts, but no ratings. Write a bundle of them with tiebreak convert {} FILE --out FOLDER"
)
BY_ONE = "One {}: no column says who gave the labels, and no item has two of a criterion."
IF_SEVERAL = (
    "If several people shared the items, choose the column that names them as that of the raters; if the table has none,"
    " nothing can be said of their agreement."
)
OF_A_PERSON = "Labels of the unnamed rater count as a person's. If a model gave them, choose their columns as those of a rater of its name."
OF_ALL = (
    "No column says what was rated and each row has another {0}, so all are taken to have rated one thing. If {0} names"
    " what was rated, choose it as that of the item."
)
# Columns of the ratings format that a table of others may have with another meaning.
BY_CHANCE = {*COLUMNS} - {"unit", "rater", "label", "criterion", "system_a", "system_b"}
SAYS_WHAT_COUNTS = {"kind", "role", "run", "repeat", "nonresponse", *FLAGS}


def read_existing(
    source: Path | Table | Iterable[Row],
    *,
    choice: Choice | None = None,
    limits: Limits = LIMITS,
    name: str = "ratings",
) -> Existing:
    r"""Read ratings in any usual layout: a platform's file, or a table in which columns are found.

    Parameters
    ----------
    source : Path, Table or iterable of dict
        File of any usual format (CSV, TSV, JSON, JSON Lines, Parquet, XLSX, also with gzip), a table
        that is open, or rows.
    choice : Choice, optional
        What is not to be guessed.
    limits : Limits, optional
        Largest sizes that are accepted.
    name : str, default "ratings"
        Name of the rows in messages, if `source` is no file.

    Returns
    -------
    Existing
        The ratings, and what was read.

    Raises
    ------
    FormatError
        If a row is invalid, or the file holds no ratings.
    DomainError
        If it is not clear who rated what; the message says what to choose.

    Examples
    --------
    >>> rows = [{"item": k, "ann1": k, "ann2": k if k > 2 else None} for k in range(1, 5)]
    >>> read_existing(rows).sentence
    '4 items × 2 raters, 6 ratings, 2 missing, ordinal 1 to 4 (inferred).'
    """
    choice = choice or Choice()
    existing = _read(source, replace(choice, scales={}), limits, name)
    return _with_scales(existing, choice.scales) if choice.scales else existing


def fit_of_ratings(rows: Iterable[Row]) -> int:
    """Return 2 if rows are ratings with their raters, 1 if they may be ratings, and else 0."""
    try:
        roles = roles_in([*rows])
    except (DomainError, InvalidInput):
        return 0
    return 2 if "rater" in roles else int(bool(roles))


def roles_in(rows: list[Row]) -> Mapping[str, str]:
    """Return the columns of rows of ratings by their roles, as if questions about empty cells were answered."""
    try:
        return read_existing(rows).columns
    except EmptyBelowError as error:  # which its page asks about
        return read_existing(rows, choice=Choice(fill_down=error.columns)).columns


def is_native(path: Path) -> bool:
    """Whether a file has the columns of the ratings format, which are not guessed."""
    return is_ratings_file(path) and has_rating_columns(path)


def _read(
    source: Path | Table | Iterable[Row], choice: Choice, limits: Limits, name: str
) -> Existing:
    if isinstance(source, Table):
        return _of_table(source, source.name, choice)
    if isinstance(source, Path):
        if choice == Choice() and is_native(source):
            return _of_native(source, limits)
        is_plain = bool(choice.columns or choice.fill_down)
        reader = choice.reader or ("" if is_plain else recognised(source))
        if reader not in ("", TABLE):
            return _of_platform(reader, source)
        with open_table(source, limits=limits, sheet=choice.sheet, fits=fit_of_ratings) as table:
            return _of_table(table, source.name, choice)
    rows = list(source)
    if choice == Choice() and rows and {*rows[0]} >= RATING_COLUMNS:
        try:
            return _of_ratings(_typed(rows, name))
        except FormatError:
            _ask_of_native(_Rows(rows))
            raise
    return _of_table(_Rows(rows), name, choice)


def _with_scales(existing: Existing, scales: Mapping[str, str]) -> Existing:
    """Return the ratings with scales that someone chose."""
    criteria = existing.table.coded("criterion").in_order
    for name, spec in scales.items():
        if name not in criteria:
            sentence = f"No rating has the criterion {name!r}. The criteria are: {', '.join(criteria)[:1000]}."
            raise DomainError("unknown_criterion", sentence, status=400)
        Scale.parse(spec)
    return replace(existing, scales={**existing.scales, **scales})


@dataclass(frozen=True)
class _Rows:
    """Rows that are in memory already."""

    given: list[Row]
    notes: tuple[str, ...] = ()

    def rows(self, problems: TableProblems) -> Iterator[tuple[int, Row]]:  # noqa: ARG002
        return iter(enumerate(self.given, start=1))


def _typed(rows: list[Row], name: str) -> RatingTable:
    problems = Problems()
    table = table_of(enumerate(rows, start=1), name, problems, may_lack_labels=True)
    problems.check()
    return table


def _of_native(path: Path, limits: Limits) -> Existing:
    try:
        return _of_ratings(read_ratings(path, limits=limits))
    except FormatError:
        with open_table(path, limits=limits) as table:
            _ask_of_native(table)
        raise


def _ask_of_native(table: Table | _Rows) -> None:
    """Ask about empty cells where the strict reader of the ratings format found problems."""
    _ask_if_empty_below(table, _profile(table, Choice(), TableProblems()), Choice())


def _of_ratings(read: RatingTable) -> Existing:
    table, notes = with_labels(read)
    return Existing(table, "", {}, len(read.unlabelled), tuple(notes), "ratings")


def _of_platform(reader: str, path: Path) -> Existing:
    converted = convert(reader, [path])
    if not converted.ratings:
        raise FormatError.of(path.name, None, "no_ratings", NO_RATINGS.format(reader))
    lines = (row.get("line", k) for k, row in enumerate(converted.ratings, start=1))
    rows = [{k: v for k, v in row.items() if k != "line"} for row in converted.ratings]
    table = RatingTable.from_rows(rows, name=path.name, lines=lines)
    notes = tuple(f"Not used: {what} ({n:,})." for what, n in converted.left_out.items())
    scales = {criterion.name: criterion.scale for criterion in converted.spec.criteria}
    about, missing = converted.about, converted.missing
    return Existing(table, about, {}, missing, notes, reader, scales, converted)


def _of_table(table: Table | _Rows, name: str, choice: Choice) -> Existing:
    problems = TableProblems()
    profile = _profile(table, choice, problems)
    if problems.total:
        listed = [Problem(name, p.row, p.code, str(replace(p, row=None))) for p in problems.items]
        raise FormatError(listed, problems.total)
    _ask_if_empty_below(table, profile, choice)
    layout = layout_of(profile, choice.columns, choice.left_out, choice.fill_down, name)
    read, layout, tally = _as_far_as_valid(table, profile, layout, choice, name)
    if not len(read):
        reason = "has no rating, because all labels are empty"
        raise FormatError.of(name, None, "no_ratings", reason)
    read, label_notes = with_labels(read)
    used = {*layout.columns.values(), *layout.keys, *(c.rater_column for c in layout.cells)}
    unused = [c for c in profile.columns if c not in used]
    raters = {c.rater for c in layout.cells}
    return Existing(
        read,
        BY_ONE.format(*raters) if len(raters) == 1 and raters <= {*UNNAMED} else "",
        layout.columns,
        tally.missing,
        (*table.notes, *problems.all_notes(), *_notes(layout, tally, unused), *label_notes),
    )


def _profile(table: Table | _Rows, choice: Choice, problems: TableProblems) -> Profile:
    return profile_of(_without_marks(_rows_of(table, choice, problems)))


def _rows_of(
    table: Table | _Rows, choice: Choice, problems: TableProblems
) -> Iterator[tuple[int, Row]]:
    rows = without_footer(table.rows(problems), problems, with_notes=False)
    return exploded(filled_down(rows, choice.fill_down, problems))


def _ask_if_empty_below(table: Table | _Rows, profile: Profile, choice: Choice) -> None:
    """Ask whether empty cells of columns that describe ratings repeat the value above."""
    if not (found := [name for name in empty_below(profile) if name not in choice.left_out]):
        return
    filled = replace(choice, fill_down=(*choice.fill_down, *found))
    profile = _profile(table, filled, TableProblems())
    layout = layout_of(profile, choice.columns, choice.left_out)
    if asked := [name for name in found if name in {*layout.keys, *layout.facts.values()}]:
        raise EmptyBelowError(asked)


def _as_far_as_valid(
    table: Table | _Rows, profile: Profile, layout: Layout, choice: Choice, name: str
) -> tuple[RatingTable, Layout, Tally]:
    """Return the ratings, if need be without columns that only happen to be called like one of ours."""
    read, tally, problems = _rated(table, layout, choice, name)
    by_chance = {r for r in BY_CHANCE & layout.facts.keys() if r not in choice.columns}
    foreign = [r for r in sorted(by_chance) if _is_foreign(r, profile, layout.facts[r])]
    for without in [*({role} for role in foreign), {*foreign}] if problems.total else []:
        facts = {role: c for role, c in layout.facts.items() if role not in without}
        fewer = replace(layout, facts=facts)
        again, tally_of_fewer, others = _rated(table, fewer, choice, name)
        if not others.total:
            return again, fewer, tally_of_fewer
    if problems.items and "unit" not in choice.columns:
        _ask_if_rated_twice(problems, layout)
    problems.check()
    return read, layout, tally


def _ask_if_rated_twice(problems: Problems, layout: Layout) -> None:
    """Ask what names the item, where that was a guess by which raters rated items twice."""
    first = problems.items[0]
    if {problem.code for problem in problems.items} == {"duplicate_rating"}:
        sentence = (
            f"Line {first.line}: {first.reason.partition(';')[0]}. That is so if the table is read as"
            f" {'; '.join(_taken(layout))}. Choose the columns of the item, the rater and the label, and run for"
            " the column that tells several passes apart; or delete what is there twice."
        )
        raise UnclearLayoutError("rated_twice", sentence, "unit=COLUMN,rater=COLUMN,label=COLUMN")


def _rated(
    table: Table | _Rows, layout: Layout, choice: Choice, name: str
) -> tuple[RatingTable, Tally, Problems]:
    tally, problems = Tally(), Problems()
    rows = _rows_of(table, choice, TableProblems())
    return table_of(ratings_in_rows(rows, layout, tally), name, problems), tally, problems


def _is_foreign(role: str, profile: Profile, column: str) -> bool:
    """Whether a column has other cells than ours of that name: not just one that is misspelt.

    Where all are like ours, so that the column only contradicts others, it must not say what counts.
    """
    cells = [cell for row in profile.head if (cell := row.get(column)) not in BLANK]
    unfit = 0
    for cell in cells:
        try:
            parse_cell(role, cell)
        except InvalidInput:
            unfit += 1
    return unfit > len(cells) / 2 or (not unfit and role not in SAYS_WHAT_COUNTS)


def _without_marks(rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """Empty the cells that mark a missing value, so that numbers beside them are seen as numbers."""
    for number, row in rows:
        yield (
            number,
            {name: None if is_blank(v) or is_missing(v) else v for name, v in row.items()},
        )


def _taken(layout: Layout) -> Iterator[str]:
    """Say which columns hold what."""
    items = ", ".join(dict.fromkeys(cell.item for cell in layout.cells if cell.item))
    yield f"item: {' and '.join(filter(None, [*layout.keys, items])) or 'each row'}"
    yield from (f"{role}: {column}" for role, column in layout.facts.items())
    beside = [cell.rater_column for cell in layout.cells if cell.rater_column]
    raters = dict.fromkeys(c.rater for c in layout.cells if c.rater and not c.rater_column)
    criteria = dict.fromkeys(c.criterion for c in layout.cells if c.criterion)
    if beside:
        yield f"rater: {', '.join(dict.fromkeys(beside))}, each beside its labels"
    if raters:
        yield f"columns of raters: {', '.join(raters)}"
    if criteria:
        yield f"columns of criteria: {', '.join(criteria)}"
    if not raters and not criteria and not items:
        yield f"label: {', '.join(cell.column for cell in layout.cells)}"


def _notes(layout: Layout, tally: Tally, unused: list[str]) -> Iterator[str]:
    yield f"Read as {'; '.join(_taken(layout))}."
    if layout.cells[0].item == WHOLE:
        yield OF_ALL.format(layout.facts["rater"])
    if layout.computed:
        yield f"Left out, because they follow from the other columns: {', '.join(layout.computed)}."
    if any(cell.rater in UNNAMED for cell in layout.cells):
        yield IF_SEVERAL
    if any(cell.rater == UNNAMED[0] for cell in layout.cells):
        yield OF_A_PERSON
    if tally.machines:
        yield f"Read as machine raters: {', '.join(sorted(tally.machines))}."
    if tally.empty:
        yield f"Rows that were left out because they name no item or no rater and have no label: {tally.empty}."
    if tally.unrated:
        yield f"Rows in which nobody has a label, and which are not counted as missing: {tally.unrated}."
    if tally.repeated:
        first = ", ".join(map(str, tally.repeated[:10]))
        more = f" and {len(tally.repeated) - 10} more" if len(tally.repeated) > 10 else ""
        yield f"Rows that were left out because they repeat an earlier row: {first}{more}."
    if unused:
        yield f"Columns that are left out: {', '.join(unused)}."
