"""Instances and generations from the rows of a table."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.bundle import GenerationRow, InstanceRow
from tiebreak.formats.cells import check_id
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.nesting import (
    answer_of,
    decoded,
    is_conversation,
    is_list_of_texts,
    question_of,
    shared_turns,
    text_after,
    text_of,
)
from tiebreak.formats.tables.plan import FIELD_OF, LONG, PROMPTS, Plan
from tiebreak.formats.tables.problems import BadCell, TableProblems
from tiebreak.formats.tables.profiles import is_missing
from tiebreak.odd_texts import OddTexts, is_error

MAX_CATEGORY = 200
MAX_SAMPLE = 30_000
EMPTY = "The text of “{}” is missing. Fill it in, or leave {} out."
MISSING_TEXT = "The text “{}” is a mark of a missing value. Fill in the text, or leave {} out."
ERROR_TEXT = "error_text"
ERROR_SENTENCE = (
    "The text of “{}” is an error of a program or an empty answer. Correct it, or leave {} out."
)
THE_ROW, THE_TEXT = "the row", "it"
NO_KEY = (
    "The row has no {}, which alone says which rows belong together. Fill it in, choose a column with ids,"
    " or say that empty cells repeat the value above."
)
NO_SOURCE = "The row has no source, so there is nothing to generate texts from. Fill it in."
Turns = list[dict[str, Any]]


@dataclass(frozen=True)
class Extracted:
    """What a row contributes: its instance if no earlier row has it, and its texts."""

    row: int
    instance: InstanceRow | None
    generations: tuple[GenerationRow, ...]


@dataclass(frozen=True)
class _Cell:
    """The texts of one system in a row: a conversation, a list of samples, or a text."""

    system: str
    column: str
    value: Any
    sample: int | None


@dataclass
class _Known:
    """An instance of an earlier row, without its texts."""

    row: int
    content: int


@dataclass
class Extraction:
    """One pass over a table: yields what each row contributes, and counts it.

    Only ids, hashes and counts are kept, so memory does not grow with the texts.
    """

    plan: Plan
    problems: TableProblems
    instances: dict[str, _Known] = field(default_factory=dict)
    systems: dict[str, int] = field(default_factory=dict)
    generations: int = 0
    # For an instance and system: the next sample, and in rows of pairs hashes of the texts.
    _samples: dict[tuple[str, str], int] = field(default_factory=dict)
    _texts: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    _by_source: dict[int, str] = field(default_factory=dict)
    odd: OddTexts = field(default_factory=OddTexts)
    # The first system of each instance, and the instances that have another.
    _first: dict[str, str] = field(default_factory=dict)
    _compared: set[str] = field(default_factory=set)
    # The system that was first to have a text, by a hash of its instance, its sample and the text.
    _writers: dict[int, str] = field(default_factory=dict)
    # Instances of which two systems have the same text, in their order.
    same: dict[str, None] = field(default_factory=dict)
    # The first instance with a source and its fields, by their hash, and later ones with the same.
    _sources: dict[int, str] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)
    # Hashes of the rows, if rows repeat the texts of earlier ones.
    _rows: set[int] = field(default_factory=set)

    def run(self, rows: Iterable[tuple[int, Row]]) -> Iterator[Extracted]:
        """Yield what each row contributes; rows that cannot be used become problems."""
        count = 0
        for count, (number, row) in enumerate(rows, start=1):
            with self.problems.at(number):
                extracted = self._extracted(number, row, count)
                if extracted is not None:
                    yield extracted

    def _extracted(self, number: int, row: Row, count: int) -> Extracted | None:
        cells = self._with_texts(number, list(self._row_texts(row)))
        shared = self._shared(row, cells)
        instance = self._instance(row, count, shared)
        texts = [(c.system, self._samples_of(c, shared), c.sample) for c in cells]
        known = self.instances.get(instance.id)
        if self._repeats_a_row(instance, texts):
            self.problems.leave_out("repeated_rows", number)
            return None
        self._check_same(instance, known)
        generations = tuple(self._generations(instance.id, texts))
        if known is None:
            self.instances[instance.id] = _Known(number, _content(instance))
            self._compare_source(instance)
        for generation in generations:
            self._count(generation)
            self.odd.add(generation.instance, generation.system, generation.text)
        return Extracted(number, instance if known is None else None, generations)

    @property
    def compared(self) -> int:
        """Number of instances that have texts of two systems."""
        return len(self._compared)

    @property
    def alone(self) -> list[str]:
        """The instances with texts of one system only, where others can be compared."""
        return [key for key in self._first if key not in self._compared] if self._compared else []

    def named(self, key: str) -> str:
        """Name an instance by its id, which later pages show, and by its first row in the file."""
        return f"instance {key} (row {self.instances[key].row})"

    def _count(self, generation: GenerationRow) -> None:
        key = (generation.instance, generation.system)
        if self._first.setdefault(generation.instance, generation.system) != generation.system:
            self._compared.add(generation.instance)
        text = hash((generation.instance, generation.sample_index, generation.text))
        if self._writers.setdefault(text, generation.system) != generation.system:
            self.same[generation.instance] = None
        self.systems[generation.system] = self.systems.get(generation.system, 0) + 1
        self.generations += 1
        # Later rows may have texts of the same instance and system.
        if self.plan.layout == LONG or self._is_pairs or self.plan.repeats:
            self._samples[key] = max(self._samples.get(key, 0), generation.sample_index + 1)
        if self._is_pairs:
            self._texts.setdefault(key, set()).add(hash(generation.text))

    def _compare_source(self, instance: InstanceRow) -> None:
        source = instance.source.strip() or str(instance.messages or "")
        content = hash((source, str(instance.metadata)))
        first = self._sources.setdefault(content, instance.id)
        if source and first != instance.id:
            self.again[instance.id] = first

    def _repeats_a_row(self, instance: InstanceRow, texts: list[Any]) -> bool:
        """Whether an earlier row has the same instance with the same texts, which are no further samples."""
        is_named = "instance" in self.plan.columns and not self.plan.repeats
        if not self.plan.repeats_rows and not is_named:
            return False
        row = hash((instance.id, _content(instance), str(texts)))
        is_known = row in self._rows
        self._rows.add(row)
        return is_known

    @property
    def _is_pairs(self) -> bool:
        return "text_a" in self.plan.columns

    # The instance.

    def _instance(self, row: Row, count: int, shared: Turns) -> InstanceRow:
        source, messages = self._source(row, shared)
        if self.plan.layout == PROMPTS and not (source.strip() or messages):
            raise BadCell("empty_source", NO_SOURCE, self.plan.columns["source"])
        category = _one_line(self._plain(row, "category"))
        if len(category) > MAX_CATEGORY:
            reason = f"The category is longer than {MAX_CATEGORY} characters."
            raise BadCell("category_too_long", reason, self.plan.columns["category"])
        reference = self._plain(row, "reference")
        if self._is_keyed_by_source and not (source.strip() or messages):
            column = self.plan.columns["source"]
            raise BadCell("empty_source", NO_KEY.format(f"“{column}”"), column)
        key = self._key(row, source or str(messages or ""), count)
        return InstanceRow(key, source, messages, category, reference, self._fields(row))

    def _fields(self, row: Row) -> dict[str, Any]:
        """Return the further texts that a row has, by the name of the field."""
        texts = {name: self._plain(row, f"{FIELD_OF}{name}") for name in self.plan.fields}
        return {name: text for name, text in texts.items() if text.strip()}

    def _key(self, row: Row, source: str, count: int) -> str:
        column = self.plan.columns.get("instance")
        if column is not None:
            value = row.get(column)
            with _named(column, "The id"):
                return check_id("it", value.strip() if isinstance(value, str) else _whole(value))
        if self._shares_sources or "text_a" in self.plan.columns:
            # A row without a source shares it with no other, and its number with none either.
            own = hash(source) if source else hash(("row", count))
            return self._by_source.setdefault(own, str(len(self._by_source) + 1))
        return str(count)

    @property
    def _is_keyed_by_source(self) -> bool:
        """Whether nothing but the source says which rows are of one instance."""
        columns = self.plan.columns
        is_keyed = self.plan.layout == LONG and "instance" not in columns
        return is_keyed and {"source", "system"} <= columns.keys()

    @property
    def _shares_sources(self) -> bool:
        """Whether rows with the same source are of the same instance."""
        plan = self.plan
        return plan.layout in (LONG, PROMPTS) or plan.repeats or plan.repeats_rows

    def _source(self, row: Row, shared: Turns) -> tuple[str, list[Any]]:
        """Return what the systems were given: a text, or turns of a conversation."""
        value = self._cell(row, "source")
        turns = shared
        if is_conversation(value):
            turns = value if value[-1]["role"] == "user" else question_of(value)
        elif "source" in self.plan.columns and len(shared) < 2:
            return self._plain(row, "source"), []
        return (turns[0]["content"], []) if len(turns) == 1 else ("", list(turns))

    def _shared(self, row: Row, cells: list[_Cell]) -> Turns:
        """Return the turns that the conversations of a row share, if its source says nothing else."""
        conversations = [cell.value for cell in cells if is_conversation(cell.value)]
        if not conversations or len(conversations) < len(cells):
            return []
        with self._in_column(cells[0].column):
            shared = shared_turns(conversations)
        source = self._cell(row, "source")
        if not isinstance(source, str) or not source.strip():
            return shared
        return shared if any(source.strip() == turn["content"].strip() for turn in shared) else []

    @contextmanager
    def _in_column(self, column: str) -> Iterator[None]:
        try:
            yield
        except BadCell as error:
            raise BadCell(error.code, error.message, column) from error

    def _check_same(self, instance: InstanceRow, known: _Known | None) -> None:
        if known is None:
            return
        if known.content != _content(instance):
            others = [] if "instance" not in self.plan.columns else ["source"]
            others += ["reference", "category"]
            raise BadCell(
                "duplicate_id",
                f"{self._named(instance.id)} is there already, in row {known.row}, with another"
                f" {', '.join(others)} or field.",
                self._key_column,
            )
        if not self.plan.repeats and self.plan.layout != LONG and "text_a" not in self.plan.columns:
            reason = f"{self._named(instance.id)} is there already, in row {known.row}."
            raise BadCell("duplicate_id", reason, self._key_column)

    @property
    def _key_column(self) -> str | None:
        return self.plan.columns.get("instance") or self.plan.columns.get("source")

    def _named(self, key: str) -> str:
        """Name an instance by what the table says: not by a number that was given to it here."""
        return f"“{key}”" if "instance" in self.plan.columns else "The same source"

    # The texts.

    def _row_texts(self, row: Row) -> Iterator[_Cell]:
        """Yield the system, its texts in this row and the number of the sample, if it is known."""
        columns = self.plan.columns
        if "text_a" in columns:
            for side in ("a", "b"):
                yield self._named_text(row, f"system_{side}", f"text_{side}")
        elif self.plan.layout == LONG:
            yield self._named_text(row, "system", "text")
        elif self.plan.layout != PROMPTS:
            yield from self._wide_texts(row)

    def _named_text(self, row: Row, system: str, text: str) -> _Cell:
        column = self.plan.columns.get(system)
        name = "system"
        if column is not None:
            value = row.get(column)
            with _named(column, "The system's name"):
                name = check_id("it", _one_line(_text(value, column)))
        return self._text_cell(row, name, self.plan.columns[text])

    def _text_cell(self, row: Row, system: str, column: str) -> _Cell:
        value = self._decoded(row.get(column), column)
        return _Cell(system, column, value, self._sample(row))

    def _wide_texts(self, row: Row) -> Iterator[_Cell]:
        present = [(s, c) for s, c in self.plan.systems.items() if "." not in c or c in row]
        if not present:
            raise BadCell("no_text", "The row has no text of a system.")
        for system, column in present:
            yield self._text_cell(row, system, column)

    def _sample(self, row: Row) -> int | None:
        column = self.plan.columns.get("sample")
        if column is None:
            return None
        value = _whole(row.get(column))
        number = int(value) if str(value).isdecimal() else -1
        if not 0 <= number <= MAX_SAMPLE:
            reason = f"The sample must be a whole number from 0 to {MAX_SAMPLE:,}, not {value!r}."
            raise BadCell("not_a_whole_number", reason[:200], column)
        return number

    def _with_texts(self, number: int, cells: list[_Cell]) -> list[_Cell]:
        """Return the cells that have texts if two have, which can be compared; otherwise all."""
        plain = [cell for cell in cells if not is_conversation(cell.value)]
        lacks = [lack for cell in plain if (lack := self._lack(cell, cell.value, THE_TEXT))]
        columns = {lack.column for lack in lacks}
        kept = [cell for cell in cells if cell.column not in columns]
        if len(kept) < 2:
            return cells
        for lack in lacks:
            self.problems.add_cell(number, lack)
        return kept

    def _lack(self, cell: _Cell, value: Any, left_out: str) -> BadCell | None:
        """Return what is wrong if a text is missing, and what may be left out."""
        texts = value if is_list_of_texts(value) else [_text(value, cell.column)]
        if not all(text.strip() for text in texts):
            return BadCell("empty_text", EMPTY.format(cell.system, left_out), cell.column)
        mark = next(filter(is_missing, texts), None) if cell.column in self.plan.prose else None
        if mark is not None:
            return BadCell("missing_text", MISSING_TEXT.format(mark, left_out), cell.column)
        if cell.system in self.plan.without_errors and any(is_error(t.strip()) for t in texts):
            return BadCell(ERROR_TEXT, ERROR_SENTENCE.format(cell.system, left_out), cell.column)
        return None

    def _samples_of(self, cell: _Cell, shared: Turns) -> list[str]:
        value = cell.value
        if is_conversation(value):
            value = text_after(shared, value)
        if lack := self._lack(cell, value, THE_ROW):
            raise lack
        return list(value) if is_list_of_texts(value) else [_text(value, cell.column)]

    def _generations(
        self, key: str, texts: list[tuple[str, list[str], int | None]]
    ) -> Iterator[GenerationRow]:
        for system, samples, sample in texts:
            new = [text for text in samples if not self._is_repeated(key, system, text, sample)]
            start = self._samples.get((key, system), 0) if sample is None else sample
            for index, text in enumerate(new, start=start):
                self._check_sample(key, system, index, sample)
                yield GenerationRow(key, system, index, text)

    def _is_repeated(self, key: str, system: str, text: str, sample: int | None) -> bool:
        """Whether an earlier pair has this text; in other layouts, a text of before is a mistake."""
        if self._is_pairs:
            return hash(text) in self._texts.get((key, system), ())
        if sample is not None or (key, system) not in self._samples:
            return False
        if not self.plan.repeats:
            row = self.instances[key].row
            name = self._named(key)
            reason = f"{name} has a text of “{system}” already; the instance begins in row {row}."
            raise BadCell("duplicate_text", reason, self._key_column)
        return False

    def _check_sample(self, key: str, system: str, index: int, sample: int | None) -> None:
        if sample is None:
            return
        taken = self._samples.setdefault((key, f"{system}\0{index}"), 0)
        if taken:
            name = self._named(key)
            reason = f"{name} has sample {index} of “{system}” already."
            raise BadCell("duplicate_sample", reason, self.plan.columns["sample"])
        self._samples[key, f"{system}\0{index}"] = 1

    # Cells.

    def _cell(self, row: Row, role: str) -> Any:
        column = self.plan.columns.get(role)
        return None if column is None else self._decoded(row.get(column), column)

    def _decoded(self, value: Any, column: str) -> Any:
        return decoded(value) if column in self.plan.encoded else value

    def _plain(self, row: Row, role: str) -> str:
        value = self._cell(row, role)
        return (
            answer_of(value)
            if is_conversation(value)
            else _text(value, self.plan.columns.get(role, ""))
        )


@contextmanager
def _named(column: str, subject: str) -> Iterator[None]:
    """Add the column, and a subject, to an `InvalidInput` about an id."""
    try:
        yield
    except InvalidInput as error:
        reason = f"{subject} cannot be used: {error.message}."
        raise BadCell(error.code, reason, column) from error


def _content(instance: InstanceRow) -> int:
    nested = (str(instance.messages), str(instance.metadata))
    return hash((instance.source, *nested, instance.category, instance.reference))


def _text(value: Any, column: str) -> str:
    try:
        return text_of(value)
    except BadCell as error:
        raise BadCell(error.code, error.message, column) from error


def _whole(value: Any) -> Any:
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def _one_line(text: str) -> str:
    return " ".join(text.split())
