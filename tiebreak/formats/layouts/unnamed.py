"""Labels of one unnamed source: which columns have them, and which name the item, where none says who rated."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from tiebreak.formats.label_cells import side_of
from tiebreak.formats.layouts.grids import affixes_of, follows
from tiebreak.formats.rating_names import SOURCES, is_computed, is_fact, kinds_of, role_of
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import other_side, says, words_of
from tiebreak.formats.tables.profiles import TRUTHS, Column, Profile, is_number

MAX_WORDS, MAX_LABELS, MIN_REPEATS, POINTS = 3, 12, 1.5, (-10, 100)
# Names of labels that may as well be those of a text, a pupil's year, a measure or a group.
_VAGUE = frozenset(("answer", "answers", "response", "responses", "value", "class", "grade"))
FLAGS = TRUTHS | {"0", "1"}
# `quality_1_5`, `Difficulty (out of 10)`, `rating (1-7)`, `score/10`; and `score_a`.
_RANGE = re.compile(
    r".*\D[01][\s_]?([-–_]|to)[\s_]?\d{1,3}\W*|.*(out[\s_]of[\s_]|/)\d{1,3}\W*", re.IGNORECASE
)
_WORDED = re.compile(r".*\(\w+(/\w+)+\)\W*")  # `tone (bad/good)`
_SIDE = re.compile(r"[\W_]+([abAB]|left|right)$")
# What is said of an item before it is rated: words that name it, its system or its group.
_OF_ITEMS = ("instance", "sample", "category", "system", "source", "text", "reference")
_PARTS = re.compile(
    "turn|step|chunk|comparison|claim|mode|modality|setting|setup|strategy|template|scenario|persona|intent|locale"
)
_NUMBERED = re.compile(r"^\s*q\d+[\W_]+(?=\w)", re.IGNORECASE)  # `Q1_Ease`
# What a program may have found out.
_MATCHED = re.compile(r"(is[\W_]?)?(correct|passed)")
# Ids of rows say nothing of the item; those of answers may.
_RECORDS = re.compile(
    "(column|row|record|entry|annotation|assignment|rating|judgment|vote|session|submission|log|unnamed)"
    r"[\W_]*(id|uuid|\d+)|unnamed.*|index"
)
_TIMES = frozenset(
    ("time", "times", "timestamp", "date", "datetime", "created", "updated", "submitted", "started")
) | {"finished", "ended", "elapsed", "duration", "latency", "seconds", "ms", "zeitstempel", "datum"}
_ANSWERS = re.compile(r"(response|answer|review|task)[\W_]*id")


def labels_of_one(
    columns: Sequence[Column], candidates: Iterable[Column], profile: Profile
) -> tuple[list[Column], list[Column], list[Column]]:
    """Return the columns of one source's labels, those that may be more, and those that follow from them."""
    of_sides = {c.name.replace("rejected", "chosen") for c in columns if "rejected" in c.name}
    likely = [c for c in candidates if _has_labels(c) and c.name not in of_sides]
    named = [c for c in likely if _is_named(c)]
    sources = {kind for c in named for kind in kinds_of(c.name) & SOURCES}
    labels = [c for c in named if _is_on_grid(c) and (kinds_of(c.name) & SOURCES or not sources)]
    are_means = any("spread" in kinds_of(c.name) for c in columns)
    if not labels or len(sources) > 1 or are_means or _may_be_matched(labels, columns):
        return [], [], []
    vague = [c for c in likely if c.is_number and not c.is_constant and _is_on_grid(c)]
    vague = [c for c in vague if c not in labels and (_is_named(c) is None or _is_judged(c))]
    vague = [c for c in vague if c.distinct > 2 or not _MATCHED.fullmatch(c.name.casefold())]
    runs = _runs_of(columns, [*labels, *vague], labels)
    near = _on_their_scale(runs, labels)
    # Words, and numbers that stand before all labels and apart, describe the item.
    later = columns[columns.index(runs[0][0]) :]
    unclear = [c for c in vague if c in later and c not in near]
    unclear += [c for c in named if not _is_on_grid(c)]
    unclear += [
        c for c in columns if c not in named and c.distinct > 1 and _WORDED.fullmatch(c.name)
    ]
    unclear += _words_beside(columns, labels)
    flags = [c for c in unclear if c.values <= FLAGS]
    asked = flags_beside(columns, labels)
    # Beside labels that all are called after their source, flags are of the record.
    sourced = len(labels) > 1 and bool(sources)
    unclear = [c for c in unclear if c not in (flags if sourced else asked)]
    labels = [c for c in columns if c in labels or c in near or (c in asked and not sourced)]
    computed = [c for c in (*labels, *unclear) if _follows(c, labels, profile.head)]
    unclear += _of_no_pair(labels, profile.columns)
    kept = [c for c in labels if c not in computed and c not in unclear]
    return kept, [c for c in unclear if c not in computed], computed


def _runs_of(
    columns: Sequence[Column], some: Sequence[Column], labels: Sequence[Column]
) -> list[list[Column]]:
    """Return the columns of each run of some that has a label."""
    runs = [[*run] for is_run, run in groupby(columns, lambda c: c in some) if is_run]
    return [run for run in runs if any(c in labels for c in run)]


def sources_in(labels: Iterable[Column]) -> set[str]:
    """Return the first and last parts of names of labels that say whose they are: `human_`, `_llm`."""
    return {a for c in labels for a in affixes_of(c.name) if kinds_of(a.strip("_")) & SOURCES}


def flags_beside(
    columns: Sequence[Column], labels: Sequence[Column], flags: set[str] = FLAGS
) -> list[Column]:
    """Return the columns that say yes or no side by side with a label that does.

    What a program may have measured is among them only if the table has no other numbers, or it is called alike.
    """
    runs = _runs_of(columns, [c for c in columns if c.values <= flags], labels)
    beside = [c for run in runs for c in run]
    if all(c.values <= FLAGS for c in columns if c.is_number and not is_item_part(c)):
        return beside
    alike = {affix for c in labels for affix in affixes_of(c.name)}
    return [c for c in beside if not is_no_answer(c) or not alike.isdisjoint(affixes_of(c.name))]


def _words_beside(columns: Sequence[Column], labels: Sequence[Column]) -> list[Column]:
    """Return the columns next to labels in words, and next to these, that have a few words of their own."""
    worded = [c for c in columns if not c.is_number and 1 < c.distinct <= MAX_LABELS]
    worded = [c for c in worded if c.repeats >= MIN_REPEATS and c.words <= MAX_WORDS * c.filled]
    of_words = [c for c in labels if not c.is_number]
    beside = [c for run in _runs_of(columns, [*worded, *of_words], of_words) for c in run]
    return [c for c in beside if c not in labels and _is_named(c) is None and not is_item_part(c)]


def _has_labels(column: Column) -> bool:
    """Whether cells are points of a usual scale, or a few short words."""
    is_worded = column.words <= MAX_WORDS * column.filled and column.distinct <= MAX_LABELS
    are_points = all(POINTS[0] <= number <= POINTS[1] for number in _numbers(column))
    return are_points and (column.is_number or is_worded)


def _numbers(column: Column) -> list[float]:
    numbers = filter(is_number, column.values if column.is_number else ())
    return [*map(_number, numbers)]


def _number(text: str) -> float:
    return float(text.replace(",", ".").rstrip(" %"))


def _is_on_grid(column: Column) -> bool:
    """Whether numbers are whole or half points, or twentieths from 0 to 1 that no source is named for."""
    numbers = _numbers(column)
    step = 2 if max(numbers, default=0) > 1 or kinds_of(column.name) & SOURCES else 20
    return all(abs(number * step - round(number * step)) < 1e-6 for number in numbers)


def _is_named(column: Column) -> bool | None:
    """Return whether a column's name says that it has labels, or None if it may have anything."""
    *path, name = column.name.split(".")
    name = _SIDE.sub("", name)
    kinds, last = kinds_of(name), next(reversed(words_of(name)), name)
    if is_no_answer(column) or _PARTS.fullmatch(last):
        return False
    if _RANGE.fullmatch(name) or name.endswith("?"):
        return True
    if last not in _VAGUE and any(says(last, r) for r in _OF_ITEMS):
        of_rater = kinds & SOURCES and not says(last, "text") and not says(last, "instance")
        is_choice = "judged" in kinds and (column.is_number or _names_sides(column))
        return bool(of_rater or is_choice)
    is_inside = any(role_of(part) == "label" or kinds_of(part) & SOURCES for part in path)
    is_label = role_of(name) == "label" and last not in _VAGUE
    return bool(is_inside or is_label or kinds & {"judged", *SOURCES}) or None


def _is_judged(column: Column) -> bool:
    return "judged" in kinds_of(column.name) and bool(_is_named(column))


def _names_sides(column: Column) -> bool:
    return all(side_of(value, "", "") is not None for value in column.values)


def is_no_answer(column: Column) -> bool:
    """Whether a name says a measure, a gold label, a fact, or what a rater remarked."""
    name = column.name.rpartition(".")[2]
    kinds = kinds_of(name)
    is_field = (is_fact(name) or says(name, "fact")) and "judged" not in kinds
    is_known = is_computed(name) or bool(kinds & {"measured", "predicted"})
    words = words_of(name)
    is_known = is_known or not _TIMES.isdisjoint(words[:1] + words[-1:])
    return is_field or is_known or is_remark(column)


def is_remark(column: Column) -> bool:
    """Whether a column has what a rater remarked; a French `note` is a mark, and a number."""
    is_called = any(says(word, "remark") for word in words_of(column.name)[-1:])
    return is_called and (not column.is_number or column.values <= TRUTHS)


def _of_no_pair(labels: Sequence[Column], names: Iterable[str]) -> list[Column]:
    """Return columns of winners, of which no other column names or has the sides that were compared."""
    words = {tuple(words_of(name)): name for name in names}
    has_sides = any(other_side(name) in words for name in words.values())
    winners = [c for c in labels if "winner" in kinds_of(c.name) and not c.is_number]
    winners = [c for c in winners if not c.values <= {*words.values()}]
    return [c for c in winners if not has_sides and (len(labels) > 1 or not _names_sides(c))]


def _may_be_matched(labels: Sequence[Column], columns: Sequence[Column]) -> bool:
    """Whether a program may have compared answers with a key: only `correct`, beside `answer` and `gold`."""
    name = labels[0].name
    is_right = re.match(r"(is[\W_]?)?(correct|acc|score|passed)", name.casefold())
    is_said = kinds_of(name) & SOURCES or _RANGE.fullmatch(name) or len(labels) > 1
    has_key = any(is_computed(c.name) or "predicted" in kinds_of(c.name) for c in columns)
    return has_key and bool(is_right) and not is_said


def _on_their_scale(runs: Sequence[list[Column]], labels: Sequence[Column]) -> list[Column]:
    """Return the other numbers of each run of columns at least half of which are labels, within their scale."""
    highest = max((number for c in labels for number in _numbers(c)), default=0)
    most = [run for run in runs if 2 * sum(c in labels for c in run) >= len(run)]
    others = [c for run in most for c in run if c not in labels and c.is_number]
    ends = [(c, min(_numbers(c), default=0), max(_numbers(c), default=0)) for c in others]
    near = [c for c, low, high in ends if low >= 0 and not c.values <= FLAGS and high <= highest]
    return near if all(c.is_number for c in labels) else []


def _follows(column: Column, labels: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Whether a column that is called overall or score is the sum or mean of at least two others."""
    others = [c.name for c in labels if c is not column and c.is_number]
    is_summary = {"overall", "score", "composite"} & {*words_of(column.name)}
    cells = [[row.get(name) for name in (column.name, *others)] for row in rows]
    return bool(is_summary) and len(others) > 1 and len(rows) > 4 and follows(cells, 0)


def is_item_part(column: Column) -> bool:
    """Whether a column is part of what names an item, and no number of a row and no rater."""
    if column.distinct < 2 or numbers_rows(column) or is_no_answer(column):
        return False
    name = _NUMBERED.sub("", column.name)
    is_part = any(says(name, role) for role in _OF_ITEMS) or _PARTS.search(name.casefold())
    return bool(is_part) or role_of(column.name) in ("unit", "instance")


def numbers_rows(column: Column) -> bool:
    """Whether a column's name says that it numbers the rows of a file: `Unnamed: 0`, `row_id`."""
    return _RECORDS.fullmatch(column.name.strip().casefold()) is not None


def tells_clicks_apart(name: str) -> bool:
    """Whether a column may differ although a rater only sent one answer again: its number or time."""
    is_number = _RECORDS.fullmatch(name.strip().casefold()) is not None
    return is_number or not _TIMES.isdisjoint(words_of(name))


def may_number_answers(column: Column) -> bool:
    """Whether a column may number answers rather than items: `id` with numbers, `response_id`."""
    return column.is_number or _ANSWERS.fullmatch(column.name.strip().casefold()) is not None
