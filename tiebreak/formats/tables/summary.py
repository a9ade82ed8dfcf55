"""The whole reading of a table: profile, plan, counts and problems."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self

from tiebreak.digits import counted
from tiebreak.formats.errors import FIRST_LINES, FormatError, ProblemKind
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.column_kinds import is_verdict
from tiebreak.formats.tables.ends import without_footer
from tiebreak.formats.tables.extraction import ERROR_TEXT, Extracted, Extraction
from tiebreak.formats.tables.filling import EMPTY_BELOW, empty_below, filled_down, headings
from tiebreak.formats.tables.names import says, says_answer
from tiebreak.formats.tables.plan import LONG, PAIR_ROLES, PROMPTS, Plan
from tiebreak.formats.tables.problems import BadCell, TableProblem, TableProblems, named_rows
from tiebreak.formats.tables.profiles import Column, Profile, is_number, profile_of
from tiebreak.formats.tables.reading import Table
from tiebreak.formats.tables.roles import plan_for

MAX_SYSTEMS = 1000
# Problems of rows that may be why no instance has texts of two systems.
LACKS = {"empty_source", "empty_text", "missing_text", ERROR_TEXT}
WITH_PROBLEMS = "what has problems"
NOTHING_TO_READ = (
    "The table has no column with texts of systems. Choose the columns that hold the texts, or the"
    " layout prompts and a source, if the texts are to be generated."
)
NO_SOURCE = "Choose the column that holds the sources: texts are to be generated from them."
UNCLEAR = (
    "Neither the names nor the cells of these columns say which is the source, and which are the texts"
    " of systems: {}. Choose what each column is, or leave it out."
)
ONE_TEXT = (
    "Only one column may have texts of a system: {}. A comparison needs the texts of two: a column for"
    " each, or one row per text and a column that names its system. If these are one system's texts,"
    " type its name; if they are the prompts, choose that layout."
)
SAME_TEXTS = (
    "These columns have the same texts in every row, so there is nothing to compare: {}. Leave all but"
    " one of them out."
)
NO_SYSTEM = "Choose the column that holds the names of the systems, or one column for each system."
NO_INSTANCE = (
    "Choose the column that holds the ids of the instances, or their source: in a long table it"
    " says which rows belong together."
)
DOUBTFUL = (
    "By its name, this column would be read by annotators, but its cells are single words, ids, links,"
    " JSON or always the same: {}. Choose which columns have the texts."
)
TWO_HEADERS = (
    "The first row looks like a second header, because its cells are much shorter than"
    " the texts below, or words above numbers. Delete it, or leave it out."
)
HALF_A_PAIR = "A pair needs four columns: system_a, text_a, system_b and text_b."


@dataclass(frozen=True)
class TableSummary:
    """What a table contains, if it is read by a plan.

    ``is_usable`` says whether rows remain if those with problems are left out.
    """

    plan: Plan | None
    rows: int
    instances: int
    systems: tuple[str, ...]
    generations: int
    problems: tuple[TableProblem, ...]
    n_problems: int
    is_usable: bool
    notes: tuple[str, ...] = ()
    kinds: tuple[ProblemKind[TableProblem], ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    compared: int = 0
    """Number of instances that have texts of two systems."""
    empty_below: tuple[str, ...] = ()
    """Columns of the plan of which is asked whether empty cells repeat the value above."""
    errors: int = 0
    """Number of texts that are read and are what a program writes that got no answer."""

    @property
    def left_out_errors(self) -> int:
        """Number of such texts that are left out because someone asked for it."""
        return sum(kind.count for kind in self.kinds if kind.first.code == ERROR_TEXT)

    @property
    def sentence(self) -> str:
        """What was read, in one sentence."""
        if self.plan is None:
            return "The file could not be read as a table."
        if not self.instances:
            return "No texts were read."
        instances = counted(self.instances, "instance")
        if self.plan.layout == PROMPTS:
            prompts = counted(self.instances, "prompt")
            verb = "This is" if self.instances == 1 else "These are"
            return f"{verb} {prompts} without texts of systems."
        systems, texts = counted(len(self.systems), "system"), counted(self.generations, "text")
        key = self.plan.columns.get("instance")
        ids = f", with the instances' ids in “{key}”" if key else ""
        read = f"{instances} × {systems}: {texts}, from {counted(self.rows, 'row')}{ids}."
        return " ".join(filter(None, [self.nothing_to_compare, read]))

    @property
    def nothing_to_compare(self) -> str:
        """Why no instance can be compared although there are several systems, or ""."""
        if self.compared or len(self.systems) < 2:
            return ""
        lacks = [
            f"{counted(kind.count, 'row')} {'has' if kind.count == 1 else 'have'} no “{kind.first.column}”"
            for kind in self.kinds
            if kind.first.code in LACKS and kind.first.column
        ]
        systems = "both systems" if len(self.systems) == 2 else "two systems"
        none = f"None of {counted(self.instances, 'instance')} has texts of {systems}"
        return f"{'; '.join([none, *lacks])}. There is nothing to compare."

    @property
    def losses(self) -> str:
        """Which rows are lost if those with problems are left out, and which texts of other rows."""
        lost = self._lost()
        if sum(map(len, lost.values())) == 1:
            noun, place = next((noun, rows[0]) for noun, rows in lost.items() if rows)
            reason = next(p.reason for p in self.problems if p.row == place)
            reason = reason.partition(". ")[0].rstrip(".")
            return f"1 {noun} (row {place}: {reason[0].lower()}{reason[1:]})"
        least = "at least " if self.n_problems > len(self.problems) else ""
        parts = (
            f"{counted(len(rows), noun)}{named_rows(rows[:FIRST_LINES], len(rows))}"
            for noun, rows in lost.items()
            if rows
        )
        return f"{least}{' and '.join(parts)}" if any(lost.values()) else WITH_PROBLEMS

    @property
    def counted_losses(self) -> str:
        """How many rows and texts are lost if those with problems are left out."""
        lost = [counted(len(rows), noun) for noun, rows in self._lost().items() if rows]
        is_known = self.n_problems == len(self.problems) and all(p.row for p in self.problems)
        return " and ".join(lost) if is_known else WITH_PROBLEMS

    def _lost(self) -> dict[str, list[int]]:
        """Return the numbers of the rows that are lost, and for each single text that of its row."""
        rows = [*dict.fromkeys(p.row for p in self.problems if p.row and not p.keeps_row)]
        texts = [p.row for p in self.problems if p.row and p.keeps_row and p.row not in rows]
        return {"text": texts, "row": rows}

    @classmethod
    def of_refusal(cls, error: FormatError) -> Self:
        """Return the summary of a file that could not be opened as a table."""
        problems = tuple(
            TableProblem(None, None, p.code, f"The file {p.reason.rstrip('.')}.")
            for p in error.problems
        )
        kinds = tuple(map(ProblemKind, problems, [1] * len(problems)))
        return cls(None, 0, 0, (), 0, problems, error.total, is_usable=False, kinds=kinds)

    def as_json(self) -> dict[str, object]:
        """Return the summary as `import_table --json` prints it."""
        return {
            "layout": self.plan.layout if self.plan else None,
            "columns": dict(self.plan.columns) if self.plan else {},
            "instances": self.instances,
            "systems": list(self.systems),
            "generations": self.generations,
            "compared": self.compared,
            "problems": [
                {"row": p.row, "column": p.column, "code": p.code, "reason": p.reason}
                for p in self.problems
            ],
            "n_problems": self.n_problems,
            "problem_kinds": [
                {
                    "column": kind.first.column,
                    "code": kind.first.code,
                    "reason": kind.first.reason,
                    "count": kind.count,
                    "first_rows": kind.lines,
                }
                for kind in self.kinds
            ],
            "rows": self.rows,
            "left_out": dict(self.left_out),
            "sheet": self.sheet,
            "sheets": list(self.sheets),
            "empty_below": list(self.empty_below),
            "filled_down": list(self.plan.fill_down) if self.plan else [],
            "sentence": self.sentence,
            "notes": list(self.notes),
        }


class TableReading:
    """One reading of a table: its profile and plan first, and then its rows one by one.

    ``layout`` and ``columns``, by role, are those that are not to be guessed; ``is_complete`` says
    that nothing is. Empty cells of the columns in ``fill_down`` repeat the value above.
    ``leave_out_errors`` makes errors of programs, where a system should have a text, problems that can be left out.
    A preview stops after ``max_rows``. `profile` says what the cells of the
    columns look like, and `plan` has the layout of the table and the column of each role.
    """

    def __init__(
        self,
        table: Table,
        *,
        layout: str | None = None,
        columns: Mapping[str, str] | None = None,
        is_complete: bool = False,
        leave_out: Iterable[str] = (),
        fill_down: Iterable[str] = (),
        leave_out_errors: bool = False,
        max_rows: int | None = None,
    ) -> None:
        self.table, self.max_rows = table, max_rows
        problems, fill_down = TableProblems(), tuple(fill_down)
        self.profile = self._profile(problems, fill_down)
        if problems.is_fatal and not self.profile.columns:  # what was chosen is not what is wrong
            layout, columns, leave_out, fill_down = None, None, (), ()
        found = () if problems.is_fatal else empty_below(self.profile)
        found = tuple(name for name in found if name not in {*leave_out})
        # The roles are guessed as if the answer were known, which is asked for.
        guessed = (*fill_down, *found)
        profile = self._profile(TableProblems(), guessed) if found else self.profile
        plan = plan_for(
            profile,
            layout=layout,
            columns=columns,
            is_complete=is_complete,
            leave_out=leave_out,
            fill_down=fill_down,
        )
        self.plan = replace(plan, fill_down=fill_down)
        self.empty_below = _asked(self.plan, profile, found)
        if self.empty_below:
            names = ", ".join(self.empty_below)
            problems.stop(None, "empty_below", EMPTY_BELOW.format(names))
        else:
            _check_plan(self.plan, self.profile, problems, set((columns or {}).values()))
        # Rows with problems are named again when they are read for their contents.
        self.problems = problems if problems.is_fatal else TableProblems()
        if leave_out_errors and not problems.is_fatal:
            self.plan = replace(self.plan, without_errors=self._wordy())
        self.extraction = Extraction(self.plan, self.problems)

    def _profile(self, problems: TableProblems, fill_down: tuple[str, ...]) -> Profile:
        try:
            return profile_of(islice(_rows(self.table, problems, fill_down), self.max_rows))
        except BadCell as error:
            problems.stop(None, error.code, error.message)
            return Profile()

    def _wordy(self) -> frozenset[str]:
        """Return the systems of which an error is no answer, which all of their texts say."""
        first = Extraction(self.plan, TableProblems())
        rows = _rows(self.table, TableProblems(), self.plan.fill_down)
        for _ in first.run(islice(rows, self.max_rows)):
            pass
        return first.odd.wordy

    def rows(self) -> Iterator[Extracted]:
        """Yield what each row contributes; the rows with problems are left out."""
        if self.problems.is_fatal:
            return
        _check_empty_systems(self.plan, self.profile, self.problems)
        rows = _rows(self.table, self.problems, self.plan.fill_down)
        yield from self.extraction.run(islice(rows, self.max_rows))
        if not self._n_read and not self.problems.total:
            self.problems.stop(None, "nothing_to_read", NOTHING_TO_READ)

    @property
    def _n_read(self) -> int:
        is_prompts = self.plan.layout == PROMPTS
        return len(self.extraction.instances) if is_prompts else self.extraction.generations

    def summary(self) -> TableSummary:
        """Return what the rows contain that were read so far."""
        systems = self.extraction.systems
        order = self.plan.systems or sorted(systems)  # of their columns, or of their names
        return TableSummary(
            self.plan,
            self.profile.rows,
            len(self.extraction.instances),
            tuple(name for name in order if name in systems),
            self.extraction.generations,
            tuple(self.problems.items),
            self.problems.total,
            bool(self._n_read) and not self.problems.is_fatal,
            self._notes(),
            tuple(self.problems.kinds),
            {reason: n for reason, n in self.problems.left_out.items() if n},
            self.problems.sheet,
            tuple(self.problems.sheets),
            self.extraction.compared,
            self.empty_below,
            len(self.extraction.odd.errors()),
        )

    def _notes(self) -> tuple[str, ...]:
        odd = self.extraction.odd.sentences(self.extraction.named)
        pairs = [*self._not_compared(), *self._again()]
        return (*self.table.notes, *self.problems.all_notes(), *pairs, *odd, *self._left_out())

    def _again(self) -> Iterator[str]:
        """Name the instances whose source an earlier one has, which annotators read again."""
        named, again = self.extraction.named, self.extraction.again
        first = [
            f"{named(key)} that of {named(of)}" for key, of in islice(again.items(), FIRST_LINES)
        ]
        if first:
            have = "1 instance has" if len(again) == 1 else f"{len(again):,} instances have"
            more = f" and {len(again) - len(first):,} more" if len(again) > len(first) else ""
            yield f"{have} the source of an earlier one, too: {', '.join(first)}{more}."

    def _not_compared(self) -> Iterator[str]:
        """Name the instances that annotators cannot compare, and why."""
        if alone := self.extraction.alone:
            has = "has texts" if len(alone) == 1 else "have texts"
            instances = counted(len(alone), "instance")
            yield f"{instances} {has} of one system only, and cannot be compared: {self._names(alone)}."
        if same := [*self.extraction.same]:
            instances = counted(len(same), "instance")
            yield (
                f"In {instances}, two systems have the same text, so annotators cannot prefer one:"
                f" {self._names(same)}."
            )

    def _names(self, keys: Sequence[str]) -> str:
        names = [self.extraction.named(key) for key in keys[:FIRST_LINES]]
        more = len(keys) - FIRST_LINES
        return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")

    def _left_out(self) -> Iterator[str]:
        """Name the columns that nobody will see, because no role was guessed or chosen for them."""
        used = {*self.plan.columns.values()}
        names = [name for name in self.profile.columns if name not in used]
        for name in names:
            if is_verdict(self.profile[name]):
                yield f"“{name}” says which text somebody preferred, so annotators do not see it."
        if names:
            yield f"Columns that are left out: {', '.join(names)}."


def extracted_rows(table: Table, plan: Plan) -> Iterator[Extracted]:
    """Yield what each usable row contributes."""
    problems = TableProblems()
    yield from Extraction(plan, problems).run(_rows(table, problems, plan.fill_down))


def _asked(plan: Plan, profile: Profile, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that are read, but for texts of systems, and may repeat the value above."""
    used = [name for role, name in plan.columns.items() if not role.startswith("text")]
    if plan.layout != LONG:
        found += headings(profile, plan.columns)
    return tuple(name for name in profile.columns if name in found and name in used)


def _rows(
    table: Table, problems: TableProblems, fill_down: tuple[str, ...]
) -> Iterator[tuple[int, Row]]:
    rows = without_footer(table.rows(problems), problems, with_notes=True)
    return filled_down(rows, fill_down, problems)


def _check_plan(plan: Plan, profile: Profile, problems: TableProblems, chosen: set[str]) -> None:
    """Name the roles that are missing, unless the table could not be read at all."""
    columns = plan.columns
    if problems.is_fatal or not profile.rows:
        if not problems.total:
            problems.stop(None, "empty", "The table has no rows below its header.")
        problems.is_fatal = True
        return
    pair = [role for role in PAIR_ROLES if role in columns]
    guessed = [name for name in plan.systems.values() if name not in chosen]
    same = _same_columns([profile[name] for name in guessed])
    if plan.doubtful:
        names = ", ".join(plan.doubtful)
        problems.stop(None, "doubtful_text", DOUBTFUL.format(names))
    elif plan.unclear:
        code, reason = ("unclear_columns", UNCLEAR) if plan.unclear[1:] else ("one_text", ONE_TEXT)
        problems.stop(None, code, reason.format(", ".join(plan.unclear)))
    elif same:
        problems.stop(None, "same_texts", SAME_TEXTS.format(", ".join(same)))
    elif plan.layout == PROMPTS and "source" not in columns:
        problems.stop(None, "no_source", NO_SOURCE)
    elif pair and len(pair) < len(PAIR_ROLES):
        problems.stop(None, "half_a_pair", HALF_A_PAIR)
    elif plan.layout == LONG and "text" not in columns:
        problems.stop(None, "no_text", NOTHING_TO_READ)
    elif plan.layout == LONG and "system" not in columns:
        problems.stop(None, "no_system", NO_SYSTEM)
    elif plan.layout == LONG and not {"instance", "source"} & columns.keys():
        problems.stop(None, "no_instance", NO_INSTANCE)
    elif plan.layout not in (LONG, PROMPTS) and not pair and not plan.systems:
        problems.stop(None, "no_text", NOTHING_TO_READ)
    elif len(plan.systems) > MAX_SYSTEMS:
        problems.stop(None, "too_many_systems", f"A study has at most {MAX_SYSTEMS:,} systems.")
    _check_second_header(plan, profile, problems)


def _same_columns(systems: list[Column]) -> list[str]:
    """Return the names of several columns that have the same cells in all rows, if there are."""
    by_content: dict[tuple[int, int], list[str]] = {}
    for column in systems:
        by_content.setdefault((column.filled, column.content), []).append(column.name)
    return next((names for names in by_content.values() if len(names) > 1), [])


def _check_empty_systems(plan: Plan, profile: Profile, problems: TableProblems) -> None:
    """Name columns without any text that look like the systems' columns."""
    if not plan.systems:
        return
    for column in profile.columns.values():
        if not column.filled and says_answer(column.name) and not says(column.name, "reference"):
            reason = "The column has no texts, so it is not a system. Fill it in, or leave it out."
            problems.add(None, column.name, "empty_system", reason)


def _check_second_header(plan: Plan, profile: Profile, problems: TableProblems) -> None:
    """Name a first row that looks like another header: short words above long texts."""
    if len(profile.head) < 3 or problems.is_fatal:
        return
    first, others = profile.head[0], profile.head[1:]
    if _is_above_numbers(first, others):
        problems.stop(2, "two_headers", TWO_HEADERS)
        return
    cells = [str(value) for value in first.values() if value not in (None, "")]
    if len(set(cells)) < len(cells) or any(len(cell) > 40 or cell.isdecimal() for cell in cells):
        return
    texts = [c for r, c in plan.columns.items() if r.startswith("text") or r == "source"]
    for name in texts:
        lengths = [len(str(value)) for row in others if (value := row.get(name))]
        if not lengths or not first.get(name) or 4 * len(str(first[name])) >= min(lengths):
            return
    if texts:
        problems.stop(2, "two_headers", TWO_HEADERS)


def _is_above_numbers(first: Row, others: list[Row]) -> bool:
    """Whether the first row has words in two or more columns, and in all, that otherwise have numbers."""
    columns = [[str(row.get(n)) for row in others if row.get(n) not in (None, "")] for n in first]
    below = [
        n for n, cells in zip(first, columns, strict=True) if cells and all(map(is_number, cells))
    ]
    words = [str(first[name]) for name in below if first[name] not in (None, "")]
    return len(words) > 1 and not any(map(is_number, words))
