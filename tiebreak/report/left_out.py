"""What of a ratings file no number uses, so nothing disappears without a word."""

from collections.abc import Iterable, Iterator

from tiebreak.formats import RatingTable
from tiebreak.formats.rating_cells import COLUMNS, FLAGS
from tiebreak.formats.ratings import is_known
from tiebreak.report.criterion import Criterion

PREFIX = "left out: "
MAX_NAMED = 10


def left_out(
    table: RatingTable, criteria: Iterable[Criterion], *, is_file: bool
) -> Iterator[tuple[str, str]]:
    """Yield a key and a sentence for whatever was left out, once the report is computed."""
    if table.unlabelled:
        where = f"They are on the lines {_listed(table.unlabelled)}."
        yield f"{PREFIX}empty labels", f"{_empty(len(table.unlabelled))}. {where}"
    for criterion in criteria:
        if criterion.missing:
            marks = ", ".join(f"“{mark}” ({n})" for mark, n in criterion.missing.items())
            sentence = f"{_empty(sum(criterion.missing.values()))}, which were marked by {marks}."
            yield f"{PREFIX}empty labels of {criterion.name}", sentence
    if table.unread:
        sentence = f"These columns are not of the ratings format: {_listed(table.unread)}."
        yield f"{PREFIX}columns", sentence
    not_asked = [name for name in COLUMNS if name not in table.looked_at]
    unused = [name for name in not_asked if _has_values(table, name)]
    if unused and is_file:
        sentence = f"No number of this report uses these columns: {_listed(unused)}."
        yield f"{PREFIX}known columns", sentence


def _empty(n: int) -> str:
    return "1 empty label was left out" if n == 1 else f"{n} empty labels were left out"


def _listed(values: Iterable[object]) -> str:
    names = [str(value) for value in values]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _has_values(table: RatingTable, name: str) -> bool:
    if name not in FLAGS:
        return bool(is_known(table.columns[name]).any())
    flags = table.coded(name)
    return bool(flags.distinct[flags.used].any())
