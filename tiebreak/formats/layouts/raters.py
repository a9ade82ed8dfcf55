"""Which columns have one rater's labels each."""

from collections.abc import Sequence

from tiebreak.errors import DomainError
from tiebreak.formats.layouts.grids import (
    INITIALS,
    beside_means,
    counts_in,
    grid_of,
    never_agree,
    number_questions,
    paired_with_raters,
    shares_labels,
)
from tiebreak.formats.layouts.known import Known, UnclearLayoutError
from tiebreak.formats.layouts.layout import RATER_OF, Cell
from tiebreak.formats.rating_names import (
    SOURCES,
    is_computed,
    is_criterion,
    is_machine,
    is_rater,
    kinds_of,
    role_of,
    stem_of,
)
from tiebreak.formats.tables.names import names_model, says, words_of
from tiebreak.formats.tables.profiles import Column

MAX_RATERS = 200
WHO = (
    "Choose the column that names the raters, or the columns of which each has one rater's labels. If one person"
    " gave all labels, choose the columns that have them, each with that person's name and its criterion."
)


def columns_of_raters(table: Known) -> list[Cell]:
    """Return the columns of raters, if each has its own by its name, and they are not those of systems."""
    numbers = [c for c in table.free if c.is_number]
    cells = beside_means(numbers, table.profile) or _likely_raters(table)
    columns = [table.profile[cell.column] for cell in cells]
    are_named = any(is_rater(cell.rater) for cell in cells)
    are_others = not are_named and never_agree(columns, table.profile.head)
    are_others = are_others or bool(table.sides_of([c.name for c in columns if not c.is_prose]))
    return [] if are_others or any(_is_system(table, c.rater) for c in cells) else cells


def _likely_raters(table: Known) -> list[Cell]:
    """Return the columns whose names say raters, alone or with a criterion; counts are refused."""
    sides = table.compared()
    candidates = [c for c in table.candidates() if c not in sides]
    # What models wrote are no labels, although columns may be called after models that rated.
    free = [c for c in table.free if c not in sides and not (c.is_prose and is_machine(c.name))]
    others = [c for c in free if c not in candidates and not is_computed(c.name)]
    grid = grid_of(candidates, others)
    nested = [c for c in candidates if role_of(c.name.rpartition(".")[0]) in ("label", "rater")]
    votes = [c.name for c in nested if c.name.casefold().rpartition(".")[0].endswith("votes")]
    votes = votes or [c.name for c in candidates if _counts_votes(c)]
    counts = votes or counts_in(candidates, table.profile)
    if votes or (counts and not {cell.column for cell in grid} >= {*counts}):
        raise UnclearLayoutError(
            "counts_per_label",
            f"The columns {', '.join(counts)} seem to count how often each label was given, so nothing says who"
            " gave which. Agreement needs one row for each rating, or one column for each rater. If these have"
            " one rater's labels each, choose them as those of the raters.",
        )
    likely = paired_with_raters(free, table.profile)
    likely = likely or _in_objects(table, nested) or grid
    return likely or _called_raters(table, free, candidates, nested)


def _in_objects(table: Known, nested: Sequence[Column]) -> list[Cell]:
    """Return the columns of objects of labels by their raters; keys of which nothing says what they are are asked about."""
    keys = {c.name: c.name.rpartition(".")[2] for c in nested}
    listed = [(column, *key.rpartition(" ")) for column, key in keys.items()]
    if any(end.isdecimal() for *_, end in listed):  # lists in an object
        # They are by criterion and then by rater, or by rater; only names of criteria tell.
        if not any(is_criterion(name) for _, name, *_ in listed):
            raise nobody(table)
        return [Cell(column, end, name) for column, name, _, end in listed]
    if len(nested) < 2 or any("judged" in kinds_of(key) for key in keys.values()):
        return []
    # A name, a number or a model may say who gave the labels.
    if any(key[:1].isupper() or is_rater(key) or names_model(key) for key in keys.values()):
        return [Cell(*both) for both in keys.items()]
    if not any(kinds_of(column) & SOURCES for column in keys):
        raise nobody(table)
    return []


def _called_raters(
    table: Known, free: Sequence[Column], candidates: Sequence[Column], nested: Sequence[Column]
) -> list[Cell]:
    """Return the columns that are called after raters and share labels, or are one series."""
    plain = [c for c in free if not is_computed(c.name)]
    parts = [(c, c.name.rpartition(".")[2] if c in nested else c.name) for c in plain]
    # What is called after a machine and what it judged is one of its criteria.
    named = [
        c
        for c, name in parts
        if is_rater(name) or (is_machine(name) and "judged" not in kinds_of(name))
    ]
    named += [c for c in candidates if c not in named and INITIALS.fullmatch(c.name.strip())]
    raters = [c for c in free if c in named and shares_labels(c, named)]
    # Two who used a slider may have no number in common, although all have one series of columns.
    series = {stem_of(c.name) for c in raters} - {""}
    raters = [c for c in free if c in raters or (c in named and stem_of(c.name) in series)]
    coded = [c.name.strip() for c in raters if 0 < len(stem_of(c.name)) < 3]
    numbers = {name.removeprefix(stem_of(name)) for name in coded}
    if len(raters) < 2 or (coded and number_questions(numbers, table.free)):
        return []
    return [Cell(c.name, c.name.strip()) for c in raters[:MAX_RATERS]]


def _counts_votes(column: Column) -> bool:
    """Whether votes or wins are numbers from none to more than two, as the vote of one person hardly is."""
    is_vote = not {"vote", "votes", "wins", "losses"}.isdisjoint(words_of(column.name))
    counts = {int(value) for value in column.values if value.isdecimal()}
    return is_vote and len(counts) == len(column.values) and 0 in counts and max(counts) > 2


def _is_system(table: Known, name: str) -> bool:
    """Whether a name is that of a model that writes and does not judge, or of one that has texts beside."""
    of_it = [c for c in table.free if c.is_prose and c.name.startswith(name) and c.name != name]
    has_text = any(says(c.name.removeprefix(name), "text") for c in of_it)
    return has_text or (names_model(name) and not is_machine(name) and not is_rater(name))


def nobody(table: Known) -> DomainError:
    names = [c.name for c in table.candidates() if c.distinct > 1]
    if not names:
        return UnclearLayoutError("no_rater", f"No column says who rated. {WHO}", "rater=COLUMN")
    of_each = ",".join(f"{RATER_OF}{name}={name}" for name in names[:3])
    of_one = ",".join(f"{RATER_OF}NAME:{name}={name}" for name in names[:3])
    example = f"{of_each}, or --columns {of_one} if one person gave all labels"
    named = f"The columns {', '.join(names[:6])} may have labels, but no column says who gave them."
    return UnclearLayoutError("no_rater", f"{named} {WHO}", example)
