"""What is known of a table of ratings while its layout is guessed."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tiebreak.errors import DomainError
from tiebreak.formats.label_cells import side_of
from tiebreak.formats.layouts.grids import BLANK
from tiebreak.formats.layouts.unnamed import numbers_rows
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.rating_names import asked_of_things, is_computed, role_of
from tiebreak.formats.tables.names import SIDES, other_side, says, words_of
from tiebreak.formats.tables.profiles import Column, Profile

MAX_WORDS_OF_LABELS = 60
PAIR = ("system_a", "system_b")
_OF_SIDE = re.compile(r"(?:(.*)[\W_])?(a|b|left|right)(?:[\W_](.*))?", re.IGNORECASE)


class UnclearLayoutError(DomainError):
    """It is not clear who rated what. ``example`` shows how columns are chosen: `ROLE=COLUMN,…`, or ""."""

    def __init__(self, code: str, sentence: str, example: str = "") -> None:
        super().__init__(code, sentence, status=400)
        self.example = example


class Known:
    """What is known of a table so far: the columns of roles, and those that are free."""

    def __init__(
        self, profile: Profile, chosen: Mapping[str, str], left_out: set[str], name: str
    ) -> None:
        self.profile, self.chosen, self.name = profile, chosen, name
        taken = {*chosen.values()} | left_out
        self.free = [c for c in profile.columns.values() if c.filled and c.name not in taken]
        self.roles = {c.name: role_of(c.name) for c in self.free}
        self.asked = asked_of_things(self.roles)
        self.roles |= dict.fromkeys(self.asked, "")  # of a sample, and not its name
        # A row that is there twice says nothing of what names the item.
        self.n_rows = len({tuple(sorted(row.items())) for row in profile.head})
        self.facts = {role: c for role, c in chosen.items() if role in COLUMNS and role != "label"}

    def take(self, role: str, column: Column) -> None:
        """Note the first column of a role, which has no other then."""
        if role not in self.facts:
            self.facts[role] = column.name
            self.leave({column.name})

    def leave(self, names: set[str]) -> None:
        self.free = [c for c in self.free if c.name not in names]

    def is_label(self, column: Column) -> bool:
        """Whether the cells look like labels: numbers, or a few short words that repeat."""
        if column.is_link or column.is_listed or self.is_key(column):
            return False
        if column.is_number:
            return True
        is_worded = column.length <= MAX_WORDS_OF_LABELS and column.distinct <= 30
        return is_worded and (column.repeats >= 1.5 or column.distinct <= 3)

    def is_key(self, column: Column) -> bool:
        is_numbering = column.is_number and column.filled > 2 and column.distinct == column.filled
        is_first = column.name == next(iter(self.profile.columns))
        is_row = is_numbering and (is_first or numbers_rows(column))
        return self.roles.get(column.name) == "unit" or is_row

    def candidates(self) -> list[Column]:
        return [c for c in self.free if self.is_label(c) and not is_computed(c.name)]

    def sides_in(self, name: str) -> set[object]:
        """Return which sides of its row's pair the cells of a column name; None is any other cell."""
        first, second = (self.facts.get(role, "") for role in PAIR)
        return {
            side_of(cell, str(row.get(first)), str(row.get(second)))
            for row in self.profile.head
            if (cell := row.get(name)) not in BLANK
        }

    def compared(self) -> list[Column]:
        """Return the columns of both sides of a pair, if another column says which side is better."""
        sides = {c.name: self.sides_in(c.name) for c in self.free}
        picks = {
            name for name, of_cells in sides.items() if {-1, 1} <= of_cells - {None} == of_cells
        }
        firsts = {c.name: other_side(c.name) for c in self.free if picks and c.name not in picks}
        seconds = {n: words for n in firsts if (words := tuple(words_of(n))) in firsts.values()}
        firsts = {n: words for n, words in firsts.items() if words in seconds.values()}
        return [c for c in self.free if c.name in firsts or c.name in seconds]

    def sides_of(self, names: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return the side and the criterion of each name, if all are those of both sides of a comparison; else {}.

        Such as `tone_a` or `scores.tone.A`, beside columns of both texts or systems.
        """
        matches = {n: m for n in names if (m := _OF_SIDE.fullmatch(n)) and (m[1] or m[3])}
        found = {n: (m[2], ".".join(filter(None, (m[1], m[3])))) for n, m in matches.items()}
        both, rests = ({parts[k] for parts in found.values()} for k in (0, 1))
        is_full = len(found) == len(names) == 2 * len(rests)
        is_pair = is_full and tuple(sorted(map(str.casefold, both))) in SIDES
        others = self.profile.columns.values() if is_pair else ()
        return found if any(map(self.is_compared, others)) else {}

    def is_compared(self, first: Column) -> bool:
        """Whether a column has one of two texts or systems, and another that is called alike the other."""
        words = other_side(first.name)
        others = [c for n, c in self.profile.columns.items() if (*words_of(n),) == words]
        if not others or words_of(first.name)[-1].isdecimal():
            return False
        rows = [(row.get(first.name), row.get(others[0].name)) for row in self.profile.head]
        differ = len(rows) > 4 and all(a != b for a, b in rows)
        is_named = says(first.name, "system") and not self.are_same(first.name, others[0].name)
        return first.is_prose or is_named or differ

    def are_same(self, first: str, second: str) -> bool:
        """Whether two columns say the same in half of the rows, as the names of compared systems do not."""
        same = [row.get(first) == row.get(second) for row in self.profile.head]
        return bool(2 * sum(same) >= len(same))

    def differs(self, column: Column, keys: Sequence[str]) -> bool:
        """Whether a column has several values in the rows of one key."""
        values: dict[tuple[object, ...], set[object]] = defaultdict(set)
        for row in self.profile.head:
            values[tuple(row.get(key) for key in keys)].add(row.get(column.name))
        return any(len(of_key) > 1 for of_key in values.values())

    def count(self, *names: str) -> int:
        """Return how many different rows there are in these columns."""
        return len({tuple(row.get(name) for name in names) for row in self.profile.head})

    def tells_apart(self, names: Sequence[str], keys: Sequence[str]) -> bool:
        """Whether no two of the first rows are equal in these columns alone, and none lacks a key."""
        cells = [tuple(row.get(name) for name in names) for row in self.profile.head]
        has_keys = all(row.get(key) not in BLANK for row in self.profile.head for key in keys)
        return has_keys and len({*cells}) == self.n_rows

    def is_shared(self, keys: Sequence[str]) -> bool:
        """Whether several rows of a long table have the same item, as several raters must."""
        values = [tuple(row.get(name) for name in keys) for row in self.profile.head]
        return len({*values}) < len(values)
