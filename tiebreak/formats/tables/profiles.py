"""What the cells of each column look like, in memory that does not grow with the table."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tiebreak.errors import DomainError
from tiebreak.formats.cells import MAX_COLUMNS
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.nesting import decoded, is_conversation, is_json, is_list_of_texts
from tiebreak.formats.tables.problems import BadCell
from tiebreak.nonresponse import is_missing as is_missing_label

HEAD_ROWS = 1000
HEAD_CHARACTERS = 200
EXAMPLES = 3
TRUTHS = {"true", "false", "True", "False", "yes", "no", "Yes", "No"}
MANY = 3
MAX_CODE = 80
MAX_MARK = 10
# Texts of which as many have the same length are no texts that someone wrote.
MANY_EQUAL = 8
_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*%?\s*")
# One word, unless its writing puts no spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
_ONE_WORD = re.compile(
    r"\s*[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+\s*"
)
_LINK = re.compile(r"(https?|ftp|file)://|www\.|\w:\\|/\w+/")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ,]|$)")
# Cells of several words that nobody reads: dates in words, times, addresses, names of files, measures.
_MONTH = (
    r"(jan|feb|m[aä]r|a[pv]r|ma[yi]|jui?n|juil|jul|aug|ao[uû]|sep|o[ck]t|nov|de[cz]|f[eé]v|d[eé]c)"
    r"[a-zéû]*\.?"
)
_CODE = re.compile(
    rf"(\w+\.?,? )?\d{{1,2}}\.? {_MONTH},? \d{{4}}.{{0,20}}|{_MONTH} \d{{1,2}},? \d{{4}}.{{0,20}}"
    r"|\d{4}年\d{1,2}月.{0,12}|\d{1,2}:\d{2}(:\d{2})?( ?[ap]\.?m\.?)?"
    r"|[^<>@]{0,60}<?[^\s@<>]+@[^\s@<>]+\.\w+>?"
    r"|(\S+ ){0,3}\S+\.(csv|tsv|txt|jsonl?|xlsx?|pdf|png|jpe?g|wav|mp3|docx?|html?|xml|zip|gz|md|py)"
    r"|[-+]?[\d.,]*\d[\d\s.,:;/()%±+-]*([a-zA-Zµ°]{1,3}\.?)?",
    re.IGNORECASE,
)


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(text) is not None


class Repetition:
    """How often values repeat: counts of a sample of the values, drawn by their hash.

    When the sample is full, half of the values leave it for good, so those which stay were
    counted from the beginning.
    """

    MAX = 4096

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.stride = 1

    def add(self, value: str) -> None:
        key = hash(value)
        if key % self.stride:
            return
        self.counts[key] += 1
        if len(self.counts) > self.MAX:
            self.stride *= 2
            self.counts = Counter({k: n for k, n in self.counts.items() if k % self.stride == 0})

    @property
    def distinct(self) -> int:
        """Number of different values, estimated if there are more than `MAX`."""
        return len(self.counts) * self.stride

    @property
    def mean(self) -> float:
        """How often a value occurs on average."""
        return self.counts.total() / len(self.counts) if self.counts else 0.0


@dataclass
class Column:
    """A column: counts of its cells by how they look."""

    name: str
    filled: int = 0
    characters: int = 0
    words: int = 0
    numbers: int = 0
    links: int = 0
    questions: int = 0
    lists: int = 0
    conversations: int = 0
    encoded: int = 0
    single_words: int = 0
    codes: int = 0
    shortest: int = 0
    longest: int = 0
    # A hash of all cells in their order: columns that have it in common are the same.
    content: int = 0
    objects: int = 0
    repetition: Repetition = field(default_factory=Repetition)
    examples: list[str] = field(default_factory=list)
    values: set[str] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Count a cell that is not empty."""
        self.filled += 1
        self.lists += is_list_of_texts(value)
        self.conversations += is_conversation(value)
        self.encoded += decoded(value) is not value
        self.objects += is_json(value)
        text = value if isinstance(value, str) else str(value)
        head = text[:HEAD_CHARACTERS]
        length = len(text)
        self.characters += length
        self.shortest = length if self.filled == 1 else min(self.shortest, length)
        self.longest = max(self.longest, length)
        self.content = hash((self.content, text))
        is_one_word = _ONE_WORD.fullmatch(head) is not None
        self.single_words += is_one_word
        self.codes += not is_one_word and length <= MAX_CODE and _CODE.fullmatch(head) is not None
        self.words += len(_WORD.findall(head))
        parts = value if isinstance(value, list) else [value]
        is_numeric = all(isinstance(part, int | float) for part in parts)
        self.numbers += is_numeric or _NUMBER.fullmatch(head) is not None
        self.links += _LINK.match(head) is not None or _DATE.match(head) is not None
        self.questions += text.rstrip().endswith("?")
        self.repetition.add(text)
        if len(self.examples) < EXAMPLES:
            self.examples.append(head)
        if len(self.values) <= EXAMPLES * 10:
            self.values.add(head)

    def share(self, count: int) -> float:
        """Return a count as a share of the cells that are not empty."""
        return count / self.filled if self.filled else 0.0

    @property
    def length(self) -> float:
        """Characters of a cell on average."""
        return self.share(self.characters)

    @property
    def distinct(self) -> int:
        """Number of different values, estimated if there are many."""
        return self.repetition.distinct

    @property
    def repeats(self) -> float:
        """How often a value occurs on average."""
        return self.repetition.mean

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers or truth values."""
        return self.share(self.numbers) > 0.95 or (bool(self.values) and self.values <= TRUTHS)

    @property
    def is_link(self) -> bool:
        """Whether the cells are links, paths or dates."""
        return self.share(self.links) > 0.8 and self.share(self.words) < 4

    @property
    def is_listed(self) -> bool:
        """Whether the cells are lists of texts or conversations."""
        return self.share(self.lists + self.conversations) > 0.5 or self.is_encoded

    @property
    def is_encoded(self) -> bool:
        """Whether the cells are texts that hold JSON lists, as in a CSV file."""
        return self.share(self.encoded) > 0.9

    @property
    def is_prose(self) -> bool:
        """Whether the cells look like texts that someone wrote."""
        if self.is_number or self.is_link or self.is_doubtful:
            return False
        return self.is_listed or self.share(self.words) >= 2.5 or self.length >= 40

    @property
    def is_doubtful(self) -> bool:
        """Whether the cells are hardly texts to read: single words, ids, always the same, or code."""
        return self.is_constant or self.is_tokens or self.is_code or self._has_codes

    @property
    def _has_codes(self) -> bool:
        """Whether cells of one length have words with digits, such as `R2 D2`."""
        if self.filled < MANY_EQUAL or self.shortest != self.longest:
            return False
        words = [word for value in self.values for word in value.split()]
        return sum(any(map(str.isdigit, word)) for word in words) > 0.5 * len(words)

    @property
    def is_constant(self) -> bool:
        """Whether all of several cells are the same."""
        return self.filled >= MANY and len(self.values) == 1

    @property
    def is_tokens(self) -> bool:
        """Whether most cells are single words, ids or hashes."""
        return not self.is_listed and self.share(self.single_words) > 0.5

    @property
    def is_numbered(self) -> bool:
        """Whether most cells are single words, with a digit in each that is kept, as in `art01`."""
        return self.is_tokens and all(any(map(str.isdigit, value)) for value in self.values)

    @property
    def is_id(self) -> bool:
        """Whether most cells are single words of one length, as hashes and ids are."""
        return self.filled >= MANY and self.is_tokens and self.shortest == self.longest

    @property
    def is_code(self) -> bool:
        """Whether most cells are JSON, links, dates, addresses, names of files or measures."""
        return max(map(self.share, (self.objects, self.links, self.codes))) > 0.5

    @property
    def is_short(self) -> bool:
        """Whether the cells are short enough for a name."""
        return 0 < self.length <= 60 and not self.is_listed


@dataclass
class Profile:
    """The columns of a table in their order, its first rows, and the number of its rows."""

    columns: dict[str, Column] = field(default_factory=dict)
    head: list[Row] = field(default_factory=list)
    rows: int = 0

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]


def profile_of(rows: Iterable[tuple[int, Row]]) -> Profile:
    """Return what the cells of each column look like."""
    profile = Profile()
    for _, row in rows:
        profile.rows += 1
        for name, value in row.items():
            column = profile.columns.get(name)
            if column is None:
                check_width(len(profile.columns) + 1)
                column = profile.columns[name] = Column(name)
            if not is_empty(value) and not is_missing(value):
                column.add(value)
        if len(profile.head) < HEAD_ROWS:
            profile.head.append({name: _shortened(value) for name, value in row.items()})
    return profile


def check_width(columns: int) -> None:
    """Refuse a table with more columns than anyone needs."""
    if columns > MAX_COLUMNS:
        reason = f"The table has more than {MAX_COLUMNS} columns. Delete those that are not needed."
        raise BadCell("too_many_columns", reason)


def check_columns(profile: Profile, chosen: Iterable[str]) -> None:
    """Refuse a choice of columns that the table does not have."""
    for column in chosen:
        if column not in profile.columns:
            names = ", ".join(profile.columns)[:1000] or "none"
            sentence = f"The table has no column {column!r}. Its columns are: {names}."
            raise DomainError("unknown_column", sentence, status=400)


def is_empty(value: Any) -> bool:
    """Whether a cell has no value; NaN is none."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str | list) and not value)


def is_blank(value: Any) -> bool:
    """Whether a cell has no value, or white space alone."""
    return is_empty(value) or (isinstance(value, str) and not value.strip())


def is_missing(value: Any) -> bool:
    """Whether a cell is a usual mark of a missing value."""
    return isinstance(value, str) and len(value) <= MAX_MARK and is_missing_label(value)


def _shortened(value: Any) -> Any:
    if not isinstance(value, str):
        return str(value)[:HEAD_CHARACTERS]
    is_long = len(value) > HEAD_CHARACTERS
    return f"{value[:HEAD_CHARACTERS]}#{hash(value)}" if is_long else value
