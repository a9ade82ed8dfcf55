"""Ratings of other people in any table: what was read, in a sentence and as a table of ratings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.bundle import CriterionSpec, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.coded import CodedColumn, combined
from tiebreak.formats.errors import FormatError, Problem, Problems
from tiebreak.formats.label_cells import LabelRule, rule_for, side_of
from tiebreak.formats.layouts.grids import BLANK, is_marked
from tiebreak.formats.layouts.guess import layout_of
from tiebreak.formats.layouts.known import UnclearLayoutError
from tiebreak.formats.layouts.layout import DEFAULT, LABEL_OF, RATER_OF, Cell, Layout
from tiebreak.formats.layouts.rows import exploded
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_cells import COLUMNS, FLAGS, parse_cell
from tiebreak.formats.rating_names import UNNAMED, is_machine, kind_of
from tiebreak.formats.ratings import (
    RATING_COLUMNS,
    RatingTable,
    has_rating_columns,
    is_ratings_file,
    read_ratings,
    table_of,
)
from tiebreak.formats.readers import convert, recognised
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import TableProblems
from tiebreak.formats.tables.choosing import parse_columns
from tiebreak.formats.tables.filling import EMPTY_BELOW, empty_below, filled_down
from tiebreak.formats.tables.names import is_total
from tiebreak.formats.tables.profiles import Profile, is_empty, profile_of
from tiebreak.formats.tables.reading import Table, open_table
from tiebreak.nonresponse import is_missing
from tiebreak.scales import Scale, infer_scale

QUESTION, BETTER = "How do you rate this text?", "Which text is better?"
MAX_NAMED = 6
NO_RATINGS = (
    "has texts, but no ratings. Write a bundle of them with tiebreak convert {} FILE --out FOLDER"
)
BY_ONE = "One {}: no column says who gave the labels, and no item has two of a criterion."
IF_SEVERAL = (
    "If several people shared the items, choose the column that names them as that of the raters; if the table has none,"
    " nothing can be said of their agreement."
)
OF_A_PERSON = "These labels count as a person's. If a model gave them, choose their columns as those of a rater of its name."
# Columns of the ratings format that a table of others may have with another meaning.
BY_CHANCE = {*COLUMNS} - {"unit", "rater", "label", "criterion", "system_a", "system_b"}
SAYS_WHAT_COUNTS = {"kind", "role", "run", "repeat", "nonresponse", *FLAGS}
# The reader of plain tables, beside those of platforms and datasets.
TABLE = "table"


@dataclass(frozen=True)
class Choice:
    """How someone wants a table of ratings to be read; what is not chosen is guessed.

    ``columns`` are columns by role: those of the ratings format, ``rater:NAME`` for a column with
    the labels of one rater, and ``label:CRITERION`` for one with the labels of a criterion.
    ``left_out`` are columns that no guess may use. ``reader`` names the platform or dataset.
    ``scales`` has scales by criterion; others are those of the file, or inferred. ``sheet`` is that
    of a workbook. Empty cells of the columns in ``fill_down`` repeat the value above.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    reader: str = ""
    scales: Mapping[str, str] = field(default_factory=dict)
    sheet: str = ""
    fill_down: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, chosen: Mapping[str, Any]) -> Self:
        """Return a choice that was stored as JSON, which has no tuples."""
        lists = {n: tuple(chosen.get(n, ())) for n in ("left_out", "fill_down")}
        return cls(**{**chosen, **lists})

    @classmethod
    def parse(
        cls,
        columns: str = "",
        left_out: Iterable[str] = (),
        scales: Iterable[str] = (),
        *,
        reader: str = "",
        sheet: str = "",
        fill_down: Iterable[str] = (),
    ) -> Self:
        """Return what someone typed: `ROLE=COLUMN,…`, and `CRITERION=SCALE` for each scale."""
        roles = parse_columns(columns, COLUMNS, (RATER_OF, LABEL_OF))
        chosen = parse_scales(scales)
        return cls(roles, tuple(left_out), reader, chosen, sheet, tuple(fill_down))


class EmptyBelowError(UnclearLayoutError):
    """It is not clear whether the empty cells of ``columns`` repeat the value above."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__("empty_below", EMPTY_BELOW.format(", ".join(columns)))
        self.columns = tuple(columns)


def parse_scales(declared: Iterable[str]) -> dict[str, str]:
    """Return the scales by criterion that someone typed as `CRITERION=SCALE`."""
    scales = {}
    for text in declared:
        criterion, equals, spec = text.partition("=")
        if not equals:
            sentence = f"A scale must have the form CRITERION=SCALE, not {text[:100]!r}."
            raise DomainError("bad_option", sentence, status=400)
        scales[criterion] = spec
    return scales


@dataclass(frozen=True)
class Existing:
    """Ratings that were collected elsewhere, and how they were read."""

    table: RatingTable
    """The ratings."""
    about: str
    """What kind of file it is, as a sentence, or ""."""
    columns: Mapping[str, str]
    """Column of each role, if the file is a plain table."""
    missing: int
    """Number of labels that are missing where a rater could have given one."""
    notes: tuple[str, ...] = ()
    """Sentences on how cells were read, and on what was left out."""
    reader: str = TABLE
    """Name of the reader: a platform or dataset, or "table"."""
    scales: Mapping[str, str] = field(default_factory=dict)
    """Scales that the file declares."""
    study: Converted | None = None
    """What a platform's reader found, with the texts and questions."""

    @property
    def sentence(self) -> str:
        """What was read, such as "12 items × 4 raters, 41 ratings, 7 missing, ordinal 1 to 5 (inferred)."."""
        counted = self.table.select(self.table.is_counted)
        units, raters = (len(counted.coded(name).used) for name in ("unit", "rater"))
        parts = [
            f"{_counted(units, 'item')} × {_counted(raters, 'rater')}",
            _counted(len(counted) - self.marked, "rating"),
            *([f"{self.missing + self.marked:,} missing"] if self.missing + self.marked else []),
            "; ".join(self._scales()),
        ]
        return " ".join(filter(None, [self.about, ", ".join(filter(None, parts)) + "."]))

    @cached_property
    def marked(self) -> int:
        """Number of labels that are marks of missing values."""
        criteria, labels = self.table.coded("criterion"), self.table.coded("label")
        marked = np.zeros(len(self.table), dtype=bool)
        for criterion, given in _labels_of(self.table).items():
            scale = self._scale(criterion, given)
            known = (scale.labels if scale else None) or ()
            for mark in (label for label in given if is_missing(label, known)):
                marked |= criteria.equals(criterion) & labels.equals(mark)
        return int((marked & self.table.is_counted).sum())

    def _scale(self, criterion: str, labels: list[Any]) -> Scale | None:
        """Return the scale that is declared, or inferred from the labels, or None if it is unclear."""
        if declared := self.scales.get(criterion):
            return Scale.parse(declared)
        try:
            return infer_scale(labels, criterion, compares=_compares(self.table))
        except InvalidInput:
            return None

    def _scales(self) -> Iterator[str]:
        several = len(self.table.coded("criterion").used) > 1
        for criterion, labels in _labels_of(self.table).items():
            name = f"{criterion} " if several or criterion != DEFAULT else ""
            scale = self._scale(criterion, labels)
            said = "" if self.scales.get(criterion) else " (inferred)"
            yield f"{name}{_in_words(scale.spec)}{said}" if scale else f"{name}of an unclear scale"

    def converted(self, title: str) -> Converted:
        """Return the ratings as a closed study, with the texts that the file has of its items."""
        kind = {} if _compares(self.table) else {"unit_kind": "generation"}
        if self.study is not None:
            settings = kind | dict(self.study.spec.settings)
            criteria = tuple(
                replace(one, scale=self.scales[one.name]) for one in self.study.spec.criteria
            )
            spec = replace(self.study.spec, title=title, criteria=criteria, settings=settings)
            return replace(self.study, spec=spec)
        rows = [_row_of(self.table, k) for k in range(len(self.table))]
        sides = ("system_a", "system_b")
        spec = StudySpec(
            title=title,
            criteria=tuple(self._criteria()),
            systems=tuple(sorted({row[side] for row in rows for side in sides if side in row})),
            settings={"comparisons_per_hit": 1} | kind,
        )
        instances = {
            row["instance"]: InstanceRow(row["instance"], category=row.get("category", ""))
            for row in rows
        }
        return Converted(spec, [*instances.values()], _generations(rows), rows, about=self.about)

    def _criteria(self) -> Iterator[CriterionSpec]:
        compares = _compares(self.table)
        for name, labels in _labels_of(self.table).items():
            scale = self.scales.get(name) or infer_scale(labels, name, compares=compares).spec
            yield CriterionSpec(name, scale, BETTER if compares else QUESTION)


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
    table, notes = _with_labels(read)
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


@dataclass
class _Tally:
    """What the rows of a table contain beside ratings."""

    missing: int = 0
    totals: int = 0
    empty: int = 0
    repeated: list[int] = field(default_factory=list)
    machines: set[str] = field(default_factory=set)


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
    read, label_notes = _with_labels(read)
    used = {*layout.columns.values(), *layout.keys, *(c.rater_column for c in layout.cells)}
    unused = [c for c in profile.columns if c not in used]
    unnamed = next((c.rater for c in layout.cells if c.rater in UNNAMED), "")
    return Existing(
        read,
        BY_ONE.format(unnamed) if unnamed else "",
        layout.columns,
        tally.missing,
        (*table.notes, *problems.all_notes(), *_notes(layout, tally, unused), *label_notes),
    )


def _profile(table: Table | _Rows, choice: Choice, problems: TableProblems) -> Profile:
    return profile_of(_without_marks(_rows_of(table, choice, problems)))


def _rows_of(
    table: Table | _Rows, choice: Choice, problems: TableProblems
) -> Iterator[tuple[int, Row]]:
    return exploded(filled_down(table.rows(problems), choice.fill_down, problems))


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
) -> tuple[RatingTable, Layout, _Tally]:
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
) -> tuple[RatingTable, _Tally, Problems]:
    tally, problems = _Tally(), Problems()
    rows = _rows_of(table, choice, TableProblems())
    return table_of(_ratings(rows, layout, tally), name, problems), tally, problems


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
            {name: None if _is_blank(v) or is_missing(v) else v for name, v in row.items()},
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


def _notes(layout: Layout, tally: _Tally, unused: list[str]) -> Iterator[str]:
    yield f"Read as {'; '.join(_taken(layout))}."
    if layout.computed:
        yield f"Left out, because they follow from the other columns: {', '.join(layout.computed)}."
    if any(cell.rater in UNNAMED for cell in layout.cells):
        yield IF_SEVERAL
    if any(cell.rater == UNNAMED[0] for cell in layout.cells):
        yield OF_A_PERSON
    if tally.machines:
        yield f"Read as machine raters: {', '.join(sorted(tally.machines))}."
    if tally.totals:
        yield f"Rows of totals that were left out: {tally.totals}."
    if tally.empty:
        yield f"Rows that were left out because they name no item or no rater and have no label: {tally.empty}."
    if tally.repeated:
        first = ", ".join(map(str, tally.repeated[:10]))
        more = f" and {len(tally.repeated) - 10} more" if len(tally.repeated) > 10 else ""
        yield f"Rows that were left out because they repeat an earlier row: {first}{more}."
    if unused:
        yield f"Columns that are left out: {', '.join(unused)}."


def _ratings(
    rows: Iterable[tuple[int, Row]], layout: Layout, tally: _Tally
) -> Iterator[tuple[int, Row]]:
    """Yield a rating for each label, with the number of its row."""
    seen: set[int] = set()
    has_many = layout.cells[0].item or (layout.keys and layout.cells[0].rater)  # labels in a row
    for index, (number, row) in enumerate(rows, start=1):
        if has_many:
            cells = hash(tuple(map(str, row.values())))
            if cells in seen:
                tally.repeated.append(number)
                continue
            seen.add(cells)
        if layout.keys and is_total(row.get(layout.keys[0])):
            tally.totals += 1
            continue
        facts = {
            role: _name(row.get(c)) for role, c in layout.facts.items() if not is_empty(row.get(c))
        }
        facts["unit"] = _unit(row, layout, index)
        labels = [(cell, row.get(cell.column)) for cell in layout.cells]
        if layout.is_one_hot:
            labels = _marked(labels)
        given = [(cell, label) for cell, label in labels if not _is_blank(label)]
        if not given and (
            facts["unit"] is None or not (layout.cells[0].rater or facts.get("rater"))
        ):
            tally.empty += 1
            continue
        tally.missing += len(labels) - len(given)
        for cell, label in given:
            unit = f"{facts['unit']}/{cell.item}" if layout.keys else cell.item
            its = facts | {"unit": unit} if cell.item else facts
            rating = _rating(its, cell.named_in(row), label, tally)
            yield number, _in_order(rating) if layout.has_winners else rating


def _rating(facts: Row, cell: Cell, label: Any, tally: _Tally) -> Row:
    rating = {**facts, "label": str(label).lower() if isinstance(label, bool) else label}
    if cell.rater:
        rating["rater"] = cell.rater
    if cell.criterion:
        rating["criterion"] = cell.criterion
    rater = str(rating.get("rater", ""))
    if "kind" in facts:
        rating["kind"] = kind_of(facts["kind"])
    elif is_machine(rater) or rater == UNNAMED[1]:
        rating["kind"] = "machine"
    if rating.get("kind") == "machine":
        rating.setdefault("raw", str(label))
        tally.machines.add(rater)
    return rating


def _marked(labels: list[tuple[Cell, Any]]) -> list[tuple[Cell, Any]]:
    """Return the name of the marked column as the label, without what the columns' names share."""
    names = [cell.column for cell, _ in labels]
    parts = [re.split(r"(?<=\W)(?=\w)", name) for name in names]
    shared = next(
        (k for k in range(len(parts[0])) if len({p[k] for p in parts if k < len(p)}) > 1), 0
    )
    return [
        (Cell(""), "".join(part[shared:]))
        for part, (_, mark) in zip(parts, labels, strict=True)
        if is_marked(mark)
    ]


def _in_order(rating: Row) -> Row:
    """Return the rating of a pair with its systems in one order, and the label as a preference."""
    first, second = str(rating["system_a"]), str(rating["system_b"])
    label = side_of(rating["label"], first, second)
    if label is None:
        raise InvalidInput(
            "not_a_side", f"the label {rating['label']!r} names neither side of the pair"
        )
    if first <= second:
        return {**rating, "label": label}
    swapped = {
        "system_a": second,
        "system_b": first,
        "label": -label if label in (-1, 1) else label,
    }
    for name in ("sample", "text", "chars"):
        both = {f"{name}_a": rating.get(f"{name}_b"), f"{name}_b": rating.get(f"{name}_a")}
        swapped |= {key: value for key, value in both.items() if value is not None}
    return {**rating, **swapped}


def _unit(row: Row, layout: Layout, index: int) -> str | None:
    if not layout.keys:
        return str(index)
    parts = [_name(row.get(column)) for column in layout.keys]
    if any(is_empty(part) for part in parts):
        return None
    pair = {layout.facts.get("system_a"), layout.facts.get("system_b")}
    if layout.has_winners and pair <= {*layout.keys}:
        systems = sorted(str(_name(row.get(c))) for c in layout.keys if c in pair)
        parts = [p for c, p in zip(layout.keys, parts, strict=True) if c not in pair] + systems
    text = " ".join("/".join(map(str, parts)).split())
    return text if len(text) <= 150 else f"{text[:130]} {sha256(text.encode()).hexdigest()[:12]}"


def _name(value: Any) -> Any:
    """Return a cell that names something without the spaces around it, and 3.0 as 3."""
    if isinstance(value, str):
        return value.strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_blank(value: Any) -> bool:
    return is_empty(value) or (isinstance(value, str) and not value.strip())


# Labels.


def _labels_of(table: RatingTable) -> dict[str, list[Any]]:
    """Return the distinct labels of each criterion."""
    criteria, labels = table.coded("criterion"), table.coded("label")
    both = np.unique(combined((criteria.codes, labels.codes)), return_index=True)[1].tolist()
    found: dict[str, list[Any]] = {name: [] for name in criteria.in_order}
    for k in both:
        found[table.value("criterion", k)].append(table.value("label", k))
    return found


def _with_labels(table: RatingTable) -> tuple[RatingTable, list[str]]:
    """Return the table with labels as what their cells mean, and sentences on it."""
    rules = {
        name: rule_for(v for v in values if v is not None)
        for name, values in _labels_of(table).items()
    }
    changed = {name: rule for name, rule in rules.items() if rule.labels}
    if not changed:
        return table, []
    plain = LabelRule()
    values = [
        label if label is None else rules.get(criterion, plain)(label)
        for criterion, label in zip(table["criterion"], table["label"], strict=True)
    ]
    columns = {**table.columns, "label": CodedColumn.of(values)}
    several = len(rules) > 1
    notes = [f"{name}: {rule.note}" if several else rule.note for name, rule in changed.items()]
    return replace(table, columns=columns), notes


def _compares(table: RatingTable) -> bool:
    return bool((~table.coded("system_b").equals("")).any())


def _in_words(scale: str) -> str:
    kind, _, rest = scale.partition(":")
    names = rest.split(",")
    if kind == "nominal":
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return f"nominal: {', '.join(names[:MAX_NAMED])}{more}"
    if kind == "preference":
        return "preference with ties" if rest.startswith("tie") else f"preference {rest}".strip()
    if kind == "ordinal" and len(names) > 1:
        return f"ordinal from {names[0]} to {names[-1]}"
    return f"{kind} {rest.replace('..', ' to ')}".strip()


# A study.


def _row_of(table: RatingTable, index: int) -> Row:
    """Return the cells of a rating that have a value."""
    cells = {name: _plain(table.value(name, index)) for name in table.columns}
    row = {name: _name(value) for name, value in cells.items() if not _is_default(value)}
    return {"instance": row["unit"], **row}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_default(value: Any) -> bool:
    return (
        value is None
        or value is False
        or value == ""
        or (isinstance(value, float) and np.isnan(value))
    )


def _generations(rows: Iterable[Row]) -> list[GenerationRow]:
    """Return the texts of the items, each once."""
    texts: dict[tuple[str, str, int], str] = {}
    for row in rows:
        for side in ("a", "b"):
            if (text := row.get(f"text_{side}")) and (system := row.get(f"system_{side}")):
                texts.setdefault((row["instance"], system, int(row.get(f"sample_{side}", 0))), text)
    return [GenerationRow(*key, text) for key, text in texts.items()]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
