"""Guessing who rated what in a table of ratings, by the cells first and by names second."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tiebreak.errors import DomainError
from tiebreak.formats.label_cells import side_of
from tiebreak.formats.layouts.grids import (
    BLANK,
    INITIALS,
    beside_means,
    between_people,
    counts_in,
    follows,
    grid_of,
    is_marked,
    named_items,
    never_agree,
    number_questions,
    numbered,
    paired_with_raters,
    series_of,
    shares_labels,
)
from tiebreak.formats.layouts.layout import LABEL_OF, RATER_OF, Cell, Layout, rater_and_criterion
from tiebreak.formats.layouts.unnamed import (
    is_item_part,
    is_remark,
    labels_of_one,
    may_number_answers,
)
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.rating_names import (
    UNNAMED,
    is_about_person,
    is_computed,
    is_criterion,
    is_fact,
    is_machine,
    is_plain_label,
    is_rater,
    kind_of,
    kinds_of,
    opposite_of,
    role_of,
    stem_of,
)
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import names_model, other_side, says, words_of
from tiebreak.formats.tables.profiles import TRUTHS, Column, Profile

MAX_WORDS_OF_LABELS = 60
MAX_RATERS = 200
WHO = (
    "Choose the column that names the raters, or the columns of which each has one rater's labels. If one person"
    " gave all labels, choose the columns that have them, each with that person's name and its criterion."
)
_PAIR = ("system_a", "system_b")
_SYSTEM = {"system", "model", "sys", "generator", "llm", "engine", "modelname", "systemname", "mt"}
# Names of raters where nothing else is: a subject is an item beside columns of raters.
_PEOPLE = {
    *("subject", "person", "name", "listener", "student", "teacher", "panelist", "voter", "email")
}
_USERS = {
    *("user", "username", "userid", "nutzer", "utilisateur", "utilisatrice", "utente", "usuario"),
    *("usuaria", "utilizador", "用户", "사용자"),
}
NO_UNIT = "No column says which item a row rates. Choose it."
TWICE = (
    "The columns {} may have several criteria, or one criterion that was labelled more than once. Choose one"
    " of them, or name the criteria."
)
OF_TEXTS = (
    "Columns of labels such as {} have the same numbers as columns of texts such as {}, so each number may be an item"
    " of its own. Give each text a row of its own, or choose the columns of labels if their numbers are criteria."
)
RANKED = (
    "Raters of an item have different numbers in the columns {}, which may be their ranks of several things in one row,"
    " beside the labels of {}. Give each thing a row of its own, or choose the columns that have labels."
)
SAME = (
    "All raters of an item have the same {}, so it may be known from elsewhere, and {} may have their labels."
    " Choose the column that has them."
)
SEVERAL = (
    "Rows of one {} have different texts in {}, so raters may have rated different things. Choose the column"
    " that names what each row rates, or leave out texts that raters wrote."
)
MAY_BE_LABELS = (
    "No column says who gave the labels of {}, and the columns {} may have labels, too, or describe the item. Choose"
    " those that have labels, or leave out the others."
)
RATED_TWICE = (
    "The columns {} may have labels, but no column says who gave them, and several rows have the same {}, so several"
    " people may have rated an item. Choose the column that names the raters, or those that name the item."
)
FILLS_LABELS = "The column {!r} has labels, and an empty cell is no label of the row above. Fill down other columns only."
MIN_ROWS = 5


class UnclearLayoutError(DomainError):
    """It is not clear who rated what. ``example`` shows how columns are chosen: `ROLE=COLUMN,…`, or ""."""

    def __init__(self, code: str, sentence: str, example: str = "") -> None:
        super().__init__(code, sentence, status=400)
        self.example = example


def layout_of(
    profile: Profile,
    chosen: Mapping[str, str],
    left_out: Iterable[str] = (),
    fill_down: Iterable[str] = (),
    name: str = "",
) -> Layout:
    """Return how a table of ratings, the file of this name, is to be read.

    ``chosen`` has columns by role, which are not guessed: columns of the ratings format,
    ``rater:NAME`` and ``label:CRITERION``. Columns of ``fill_down`` have no labels, because none may be
    made up. Raises `DomainError` if it is not clear who rated what.
    """
    fill_down = [*fill_down]
    _check(profile, chosen, [*left_out, *fill_down])
    layout = _Guess(profile, chosen, {*left_out}, name).layout()
    if made_up := next((c.column for c in layout.cells if c.column in fill_down), None):
        raise DomainError("fills_labels", FILLS_LABELS.format(made_up), status=400)
    return layout


def _check(profile: Profile, chosen: Mapping[str, str], left_out: Iterable[str]) -> None:
    for role in chosen:
        if role not in COLUMNS and not role.startswith((RATER_OF, LABEL_OF)):
            sentence = (
                f"{role!r} is not a role of a column of ratings. The roles are unit, rater, label,"
                f" criterion, rater:NAME, label:CRITERION, and {', '.join(COLUMNS[3:])}."
            )
            raise DomainError("unknown_role", sentence, status=400)
    for column in (*chosen.values(), *left_out):
        if column not in profile.columns:
            names = ", ".join(profile.columns)[:1000] or "none"
            sentence = f"The table has no column {column!r}. Its columns are: {names}."
            raise DomainError("unknown_column", sentence, status=400)


class _Guess:
    def __init__(
        self, profile: Profile, chosen: Mapping[str, str], left_out: set[str], name: str
    ) -> None:
        self.profile, self.chosen, self.name = profile, chosen, name
        taken = {*chosen.values()} | left_out
        self.free = [c for c in profile.columns.values() if c.filled and c.name not in taken]
        self.roles = {c.name: role_of(c.name) for c in self.free}
        # A row that is there twice says nothing of what names the item.
        self.n_rows = len({tuple(sorted(row.items())) for row in profile.head})
        self.facts = {role: c for role, c in chosen.items() if role in COLUMNS and role != "label"}

    def layout(self) -> Layout:
        self._native()
        self._systems()
        cells = self._chosen_cells()
        if "rater" not in self.facts and not any(cell.rater for cell in cells):
            self._rater({"rater"})
        if "rater" not in self.facts and not cells:
            self._person_of_each_row()
            cells = [] if "rater" in self.facts else self._columns_of_raters()
        if "rater" not in self.facts and not any(cell.rater for cell in cells):
            self._rater({"person"})
        if "rater" not in self.facts and not any(cell.rater for cell in cells):
            return self._of_one(cells)
        self._kind_of_raters()
        computed = [] if self.chosen else self._computed(cells)
        cells = [cell for cell in cells if cell.column not in computed]
        self._leave({cell.column for cell in cells})
        if not self.chosen:
            computed += self._said_twice()
            self._leave({*computed})
        if not cells:
            self._criterion()
        items = self._columns_of_items(cells)
        if items:
            return Layout(self.facts, items)
        keys = self._keys(is_long=not cells or not cells[0].rater)
        if "rater" in self.facts and keys and "unit" not in self.chosen:
            keys = self._without_passes(self._with_what_was_shown(keys))
        self._leave({*keys})
        cells = _by_item(cells or self._beside_raters(keys))
        self._ask_if_of_texts(cells, keys)
        is_one_hot = not self.chosen and not cells[0].rater and self._is_one_hot(cells)
        winners = {"system_a", "system_b"} <= self.facts.keys() and self._has_winners(cells)
        return Layout(self.facts, tuple(cells), keys, tuple(computed), is_one_hot, winners)

    def _of_one(self, chosen: Sequence[Cell]) -> Layout:
        """Return the layout of labels by one source that nothing names, if no item has two of a criterion."""
        self._criterion()
        found, unclear, computed = labels_of_one(self.free, self._candidates(), self.profile)
        side = self.profile.columns.get(self.facts.get("system_a", ""))
        if side is not None and "chosen" in words_of(side.name):  # beside the rejected one
            found, unclear, computed = [side], [], []
        labels = [c for c in found if c.name not in self._said_twice()]
        if chosen:
            labels, unclear, computed = [self.profile[cell.column] for cell in chosen], [], []
        if not labels:
            raise self._nobody()
        if unclear:
            names = [", ".join(c.name for c in some) for some in (labels, unclear)]
            example = ",".join(f"{LABEL_OF}{c.name}={c.name}" for c in (*labels, *unclear))
            raise UnclearLayoutError("unclear_label", MAY_BE_LABELS.format(*names), example)
        if not chosen:
            self._check_criteria(labels)
        self._leave({c.name for c in (*labels, *computed)})
        is_judge = any("judge" in kinds_of(n) for n in (self.name, *(c.name for c in labels)))
        rater = UNNAMED[is_judge]
        cells = [Cell(c.name, rater, c.name.strip() if len(labels) > 1 else "") for c in labels]
        cells = [replace(cell, rater=rater) for cell in chosen] or cells
        cells, keys = _by_item(cells), self._keys_of_one(cells)
        ends = Counter(c.name.rpartition(".")[2] for c in labels if "." in c.name)
        are_repeated = any(n > 1 and "judged" in kinds_of(end) for end, n in ends.items())
        if are_repeated and not cells[0].item and not chosen:
            raise self._nobody()  # what the same criteria are beside may be raters
        self._ask_if_of_texts(cells, keys)
        winners = {"system_a", "system_b"} <= self.facts.keys() and self._has_winners(cells)
        names = [c.name for c in computed]
        return Layout(self.facts, tuple(cells), keys, tuple(names), has_winners=winners)

    def _keys_of_one(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """Return the columns that name the item, so that one source gave it one label of each criterion."""
        if given := self.chosen.get("unit"):
            return (given,)
        once = [self.facts[role] for role in ("criterion", "run") if role in self.facts]
        systems = [self.facts[role] for role in ("system_a", "system_b") if role in self.facts]
        known = [c for c in self.free if is_item_part(c)]
        known += [self.profile[self.facts[r]] for r in ("category",) if r in self.facts]
        known = sorted(known, key=self._rank)[:12]
        ids = [c for c in known if self.roles.get(c.name) in ("unit", "instance")]
        for some in (ids, known):
            keys = self._fewest(some, once, systems, is_shared=False)
            if keys and not self._are_answers(keys, known):
                return keys
        same = " and ".join([*(c.name for c in known[:4]), *systems]) or "item"
        labels = ", ".join(cell.column for cell in cells[:6])
        raise UnclearLayoutError("no_rater", RATED_TWICE.format(labels, same), "rater=COLUMN")

    def _are_answers(self, keys: tuple[str, ...], known: Sequence[Column]) -> bool:
        """Whether a number tells rows apart that all are about an item of other rows, too."""
        rest = [c.name for c in known if c.name not in keys and not says(c.name, "category")]
        items = Counter(tuple(row.get(name) for name in rest) for row in self.profile.head)
        are_repeated = bool(rest) and min(items.values()) > 1
        return are_repeated and len(keys) == 1 and may_number_answers(self.profile[keys[0]])

    def _ask_if_of_texts(self, cells: Sequence[Cell], keys: tuple[str, ...]) -> None:
        """Ask what is rated, if labels of a row are numbered as its texts are, and an item has various of these."""
        labels = numbered(self.profile[c.column] for c in cells if not (c.item or self.chosen))
        texts = [c for c in self.profile.columns.values() if c.is_prose]
        for stem, ends in numbered(texts).items():
            alike = [label for label, numbers in labels.items() if numbers == ends]
            differ = any(self._differs(c, keys) for c in texts if c.name.startswith(stem))
            if alike and (differ or not self._is_shared(keys)):
                names = [f"{name}{min(ends)}" for name in (alike[0], stem)]
                example = f"label={names[0]}"
                raise UnclearLayoutError("unclear_unit", OF_TEXTS.format(*names), example)

    def _is_one_hot(self, cells: Sequence[Cell]) -> bool:
        """Whether each of the first rows marks exactly one of several columns, and all are marked somewhere."""
        rows = [[is_marked(row.get(cell.column)) for cell in cells] for row in self.profile.head]
        return len(cells) > 1 and all(row.count(True) == 1 and None not in row for row in rows)

    def _has_winners(self, cells: Sequence[Cell]) -> bool:
        """Whether all labels of the first rows name a side or a system of their pair."""
        first, second = self.facts["system_a"], self.facts["system_b"]
        return all(
            side_of(label, str(row.get(first)), str(row.get(second))) is not None
            for row in self.profile.head
            for cell in cells
            if (label := row.get(cell.column)) not in BLANK
        )

    # What describes a rating.

    def _native(self) -> None:
        """Take the columns that have names of the ratings format, except for those of labels."""
        for column in list(self.free):
            role = column.name.strip().casefold()
            if (
                role in COLUMNS
                and role not in {"label", *self.facts}
                and role not in {"unit", "instance"}
            ):
                self._take(role, column)

    def _systems(self) -> None:
        """Find the column of systems, or both columns of a pair of systems."""
        if {"system_a", "system_b"} & self.facts.keys():
            return
        names = [c for c in self.free if c.is_short and not c.is_number and not is_computed(c.name)]
        # What is in brackets is a codebook, and of what a rater is named beside, there are labels.
        plain_names = {c.name: re.sub(r"\(.*?\)|\[.*?\]", " ", c.name) for c in names}
        named = [c for c in names if says(plain_names[c.name], "system")]
        named = [c for c in named if not any(role_of(w) == "rater" for w in words_of(c.name))]
        # The output of a model is no name of one.
        named = [c for c in named if not says(words_of(c.name)[-1], "text")]
        pair = self._pair(named, names)
        for role, column in zip(_PAIR, pair, strict=True) if pair else ():
            self._take(role, column)
        plain = [
            c
            for c in named
            if {"".join(words_of(c.name)), *words_of(c.name)[-1:], *words_of(c.name)[:1]} & _SYSTEM
        ]
        if plain and plain[0].distinct > 1 and plain[0].repeats > 1:
            self._take("system_a", plain[0])

    def _pair(
        self, named: Sequence[Column], names: Sequence[Column]
    ) -> tuple[Column, Column] | None:
        """Return the columns of both sides that are named as systems, or that a column of winners names."""
        for some in (named, [c for c in names if c.repeats > 1]):
            by_words = {tuple(words_of(c.name)): c for c in some}
            for column in some:
                rejected = ("rejected" if w == "chosen" else w for w in words_of(column.name))
                other = by_words.get(other_side(column.name) or tuple(rejected))
                if other is None or other is column:
                    continue
                if some is named or any(self._picks(c, column, other) for c in names):
                    return column, other
        return None

    def _picks(self, winner: Column, first: Column, second: Column) -> bool:
        """Whether a column of winners names one of two different sides in each row, now this, now that."""
        rows = [[row.get(c.name) for c in (winner, first, second)] for row in self.profile.head]
        are_sides = all(a != b and chosen in (a, b, *BLANK) for chosen, a, b in rows)
        picked = {row.index(row[0], 1) for row in rows if are_sides and row[0] not in BLANK}
        return "winner" in kinds_of(winner.name) and len(picked) == 2

    def _rater(self, roles: set[str]) -> None:
        """Take the column that names raters: one name in a cell, and not a column for each of them."""
        named = [c for c in self.free if self._names_raters(c, roles)]
        plain = [c for c in named if c.repeats > 1] or named
        if len(plain) > 1:  # users may have written the texts
            plain = [c for c in plain if _USERS.isdisjoint(words_of(c.name))] or plain
            plain = [c for c in plain if "id" in words_of(c.name)] or plain
        if plain:
            self._take("rater", plain[0])

    def _names_raters(self, column: Column, roles: set[str]) -> bool:
        words = set(words_of(column.name))
        is_person = bool(words & _PEOPLE) and any(self.roles[c.name] == "label" for c in self.free)
        role = "person" if is_person else self.roles[column.name]
        has_several = bool(column.values) and all(re.search(r"[,;|]", v) for v in column.values)
        is_numbered = re.search(r"\d", column.name) is not None or len(column.name.strip()) == 1
        is_other = column.is_prose or has_several or is_numbered or is_computed(column.name)
        return role in roles and not is_other and "." not in column.name

    def _person_of_each_row(self) -> None:
        """Take the column that numbers the rows as that of raters, if rows are persons who rated a series."""
        ids = [c for c in self.free if self.roles[c.name] == "unit" and not c.is_prose]
        is_asked = named_items([c.name for c in self._candidates() if not is_fact(c.name)])
        if is_asked and any(is_about_person(c.name) for c in self.free):
            for column in ids[:1]:
                if self._tells_apart([column.name], [column.name]):
                    self._take("rater", column)

    def _kind_of_raters(self) -> None:
        """Take the column that says of each rater whether it is a person or a machine: `rater_type`."""
        for column in self.free if "rater" in self.facts else ():
            is_of_raters = any(role_of(word) == "rater" for word in words_of(column.name))
            are_kinds = column.values and {*map(kind_of, column.values)} <= {"human", "machine"}
            if is_of_raters and are_kinds and not self._differs(column, [self.facts["rater"]]):
                self._take("kind", column)

    def _criterion(self) -> None:
        """Take the column that names criteria: short words, each of many ratings."""
        named = [c for c in self.free if self.roles[c.name] == "criterion" and c.is_short]
        named = [c for c in named if c.repeats >= 2 and not c.is_number]
        if named and "criterion" not in self.facts:
            self._take("criterion", named[0])

    def _take(self, role: str, column: Column) -> None:
        if role not in self.facts:
            self.facts[role] = column.name
            self._leave({column.name})

    def _leave(self, names: set[str]) -> None:
        self.free = [c for c in self.free if c.name not in names]

    # What has labels.

    def _chosen_cells(self) -> list[Cell]:
        cells = []
        for role, column in self.chosen.items():
            if role == "label":
                cells.append(Cell(column))
            elif role.startswith((LABEL_OF, RATER_OF)):
                cells.append(Cell(column, *rater_and_criterion(role)))
        return cells

    def _is_label(self, column: Column) -> bool:
        """Whether the cells look like labels: numbers, or a few short words that repeat."""
        if column.is_link or column.is_listed or self._is_key(column):
            return False
        if column.is_number:
            return True
        is_worded = column.length <= MAX_WORDS_OF_LABELS and column.distinct <= 30
        return is_worded and (column.repeats >= 1.5 or column.distinct <= 3)

    def _is_key(self, column: Column) -> bool:
        is_numbering = column.is_number and column.filled > 2 and column.distinct == column.filled
        is_first = column.name == next(iter(self.profile.columns))
        return self.roles.get(column.name) == "unit" or (is_numbering and is_first)

    def _candidates(self) -> list[Column]:
        return [c for c in self.free if self._is_label(c) and not is_computed(c.name)]

    def _beside_raters(self, keys: Sequence[str]) -> list[Cell]:
        """Return one column of labels, or one for each criterion, where a column names the rater."""
        free = [
            c for c in self._candidates() if not (is_fact(c.name) or "measured" in kinds_of(c.name))
        ]
        free = [c for c in free if not (is_remark(c) or (c.is_prose and c.repeats < 1.5))] or free
        # An answer differs between raters of an item and items of a rater, or it says something else.
        rater = [self.facts["rater"]]
        differing = [c for c in free if self._differs(c, keys) and self._differs(c, rater)]
        named = [c for c in free if self.roles[c.name] == "label"]
        named = [c for c in named if "predicted" not in kinds_of(c.name)] or named
        if (
            len(named) > 1
        ):  # what is the same for all raters of an item was computed from their labels
            named = [c for c in named if c in differing] or named
        has_criteria = len(named) > 1 or any(is_criterion(c.name) for c in free)
        if "criterion" not in self.facts and has_criteria:
            # Beside several scores, what is said with yes or no is one more of them.
            alike = [c for c in differing if not named or c.values <= TRUTHS]
            named = [c for c in free if c in named or c in alike or is_criterion(c.name)]
        plain = [c for c in self.free if self.roles[c.name] == "label" and not c.is_prose]
        plain = [c for c in plain if not is_remark(c)]
        items = [key for key in keys if key in self.roles]
        is_item = any(self.roles[key] == "unit" or self.profile[key].is_prose for key in items)
        is_clear = self._is_shared(keys) and is_item
        keyed = self._with_gold(free)
        chosen = named or plain[:1] or (differing if is_clear else [])
        if not chosen:
            found, unclear, _ = labels_of_one(self.free, self._candidates(), self.profile)
            chosen = [] if unclear else found
        chosen = _with_series([c for c in free if c in chosen or c in keyed] or chosen, free)
        others = [c.name for c in differing if c not in chosen and not self.roles[c.name]]
        if others and len(chosen) == 1 and chosen[0] not in differing and self._is_shared(keys):
            sentence = SAME.format(chosen[0].name, ", ".join(others[:6]))
            raise UnclearLayoutError("unclear_label", sentence, f"label={others[0]}")
        if not chosen:
            sentence = "No column has labels. Choose the column that has them."
            raise UnclearLayoutError("no_label", sentence, "label=COLUMN")
        self._ask_if_ranked(chosen, keys)
        if len(chosen) == 1 or "criterion" in self.facts:
            return [Cell(chosen[0].name)]
        self._check_criteria(chosen)
        return [Cell(c.name, "", c.name.strip()) for c in chosen]

    def _ask_if_ranked(self, chosen: Sequence[Column], keys: Sequence[str]) -> None:
        """Ask about ranks that are no labels but differ between raters of an item."""
        ranks = [c for c in self.free if c not in chosen and "rank" in words_of(c.name)]
        given = [c.name for c in ranks if c.is_number and self._differs(c, keys)]
        if len(given) > 1 and not self.chosen:
            sentence = RANKED.format(", ".join(given[:6]), ", ".join(c.name for c in chosen[:6]))
            example = ",".join(f"{LABEL_OF}{name}={name}" for name in given)
            raise UnclearLayoutError("unclear_label", sentence, example)

    def _check_criteria(self, chosen: Sequence[Column]) -> None:
        """Ask whether several columns of labels, of which names say no more, have several criteria."""
        stems = {stem_of(c.name) for c in chosen} - {""}
        is_series = len(stems) == 1 < len(chosen) and role_of(next(iter(stems))) == "label"
        plain = [
            c for c in chosen if role_of(c.name) == "label" and "judged" not in kinds_of(c.name)
        ]
        if (
            is_series
            or len(plain) == len(chosen) == sum(shares_labels(c, plain) for c in plain) > 1
        ):
            names = [c.name for c in chosen]
            example = ",".join(f"{LABEL_OF}{name}={name}" for name in names)
            raise UnclearLayoutError("repeated_label", TWICE.format(", ".join(names)), example)

    def _with_gold(self, free: Sequence[Column]) -> list[Column]:
        """Return the columns of labels beside which another has the agreed ones: `gold_scope`."""
        words = {tuple(words_of(name)) for name in self.profile.columns if is_computed(name)}
        agreed = {of_name[1:] for of_name in words if of_name[0] in ("gold", "true")} - {()}
        return [c for c in free if any(tuple(words_of(c.name))[-len(w) :] == w for w in agreed)]

    def _differs(self, column: Column, keys: Sequence[str]) -> bool:
        """Whether a column has several values in the rows of one key."""
        values: dict[tuple[object, ...], set[object]] = defaultdict(set)
        for row in self.profile.head:
            values[tuple(row.get(key) for key in keys)].add(row.get(column.name))
        return any(len(of_key) > 1 for of_key in values.values())

    def _columns_of_raters(self) -> list[Cell]:
        """Return the columns of raters, if each has its own by its name, and they are not those of systems."""
        numbers = [c for c in self.free if c.is_number]
        cells = beside_means(numbers, self.profile) or self._likely_raters()
        columns = [self.profile[cell.column] for cell in cells]
        are_named = any(is_rater(cell.rater) for cell in cells)
        are_others = not are_named and never_agree(columns, self.profile.head)
        return [] if are_others or any(self._is_system(c.rater) for c in cells) else cells

    def _likely_raters(self) -> list[Cell]:
        sides = self._compared()
        candidates = [c for c in self._candidates() if c not in sides]
        # What models wrote are no labels, although columns may be called after models that rated.
        free = [c for c in self.free if c not in sides and not (c.is_prose and is_machine(c.name))]
        others = [c for c in free if c not in candidates and not is_computed(c.name)]
        grid = grid_of(candidates, others)
        nested = [c for c in candidates if role_of(c.name.rpartition(".")[0]) in ("label", "rater")]
        votes = [c.name for c in nested if c.name.casefold().rpartition(".")[0].endswith("votes")]
        counts = votes or counts_in(candidates, self.profile)
        if votes or (counts and not {cell.column for cell in grid} >= {*counts}):
            raise UnclearLayoutError(
                "counts_per_label",
                f"The columns {', '.join(counts)} count how often each label was given, so nothing says who"
                " gave which. Agreement needs one row for each rating, or one column for each rater.",
            )
        paired = paired_with_raters(free, self.profile)
        if paired:
            return paired
        listed = [c.name.rpartition(".")[2].rpartition(" ") for c in nested]
        if any(end.isdecimal() for *_, end in listed):  # lists in an object
            # They are by criterion and then by rater, or by rater; only names of criteria tell.
            if not any(is_criterion(name) for name, *_ in listed):
                raise self._nobody()
            return [
                Cell(c.name, end, name) for c, (name, _, end) in zip(nested, listed, strict=True)
            ]
        criteria = [c for c in nested if "judged" in kinds_of(c.name.rpartition(".")[2])]
        if len(nested) > 1 and not criteria:
            return [Cell(c.name, c.name.rpartition(".")[2]) for c in nested]
        if grid:
            return grid
        named = [c for c in (*candidates, *others) if is_rater(c.name) or is_machine(c.name)]
        named += [c for c in candidates if c not in named and INITIALS.fullmatch(c.name.strip())]
        short = [c for c in free if c.is_short and not c.is_prose and not is_computed(c.name)]
        named += [c for c in between_people(short) if c not in named]
        raters = [c for c in free if c in named and shares_labels(c, named)]
        # Two who used a slider may have no number in common, although all have one series of columns.
        series = {series_of(c) for c in raters} - {""}
        raters = [c for c in free if c in raters or (c in named and series_of(c) in series)]
        coded = [c.name.strip() for c in raters if 0 < len(stem_of(c.name)) < 3]
        numbers = {name.removeprefix(stem_of(name)) for name in coded}
        if len(raters) < 2 or (coded and number_questions(numbers, self.free)):
            return []
        return [Cell(c.name, c.name.strip()) for c in raters[:MAX_RATERS]]

    def _is_system(self, name: str) -> bool:
        """Whether a name is that of a model that writes and does not judge, or of one that has texts beside."""
        of_it = [c for c in self.free if c.is_prose and c.name.startswith(name) and c.name != name]
        has_text = any(says(c.name.removeprefix(name), "text") for c in of_it)
        return has_text or (names_model(name) and not is_machine(name) and not is_rater(name))

    def _compared(self) -> list[Column]:
        """Return the columns of both sides of a pair, if another column says which side is better."""
        sides = {c.name: {side_of(v, "", "") for v in c.values} for c in self.free}
        picks = [
            name for name, of_cells in sides.items() if {-1, 1} <= of_cells - {None} == of_cells
        ]
        names = {tuple(words_of(c.name)) for c in self.free if c.name not in picks}
        return [
            c for c in self.free if picks and c.name not in picks and other_side(c.name) in names
        ]

    def _columns_of_items(self, cells: Sequence[Cell]) -> tuple[Cell, ...]:
        """Return a numbered series of columns, if a row has all labels of a rater and nothing else."""
        columns = [self.profile[cell.column] for cell in cells] or self.free
        rater = [*self.facts.values()]
        is_other = {*self.facts} != {"rater"} or any(cell.rater for cell in cells)
        if is_other or len(columns) < 3 or not self._tells_apart(rater, rater):
            return ()
        labels = [c for c in columns if self._is_label(c) and not is_fact(c.name)]
        grid = _by_item([Cell(c.name, "", c.name.strip()) for c in labels])
        if any(cell.item for cell in grid):
            return tuple(grid)
        stems = {stem_of(c.name) for c in columns if not c.name.strip().isdecimal()}
        are_labels = all(c in labels and shares_labels(c, columns) for c in columns)
        is_series = are_labels and len(stems) < 2 and "" not in stems
        return tuple(Cell(c.name, item=c.name.strip()) for c in columns) if is_series else ()

    def _nobody(self) -> DomainError:
        names = [c.name for c in self._candidates() if c.distinct > 1]
        if not names:
            return UnclearLayoutError(
                "no_rater", f"No column says who rated. {WHO}", "rater=COLUMN"
            )
        of_each = ",".join(f"{RATER_OF}{name}={name}" for name in names[:3])
        of_one = ",".join(f"{RATER_OF}NAME:{name}={name}" for name in names[:3])
        example = f"{of_each}, or --columns {of_one} if one person gave all labels"
        named = (
            f"The columns {', '.join(names[:6])} may have labels, but no column says who gave them."
        )
        return UnclearLayoutError("no_rater", f"{named} {WHO}", example)

    def _computed(self, cells: Sequence[Cell]) -> list[str]:
        """Return the columns of labels that follow from the others: their sum, mean or majority."""
        names = [cell.column for cell in cells if cell.rater and not cell.criterion]
        if len(names) < 4 or len(self.profile.head) < MIN_ROWS:
            return []
        rows = [[row.get(name) for name in names] for row in self.profile.head]
        return [name for k, name in enumerate(names) if follows(rows, k)]

    def _said_twice(self) -> list[str]:
        """Return the columns that say in another way what another column of labels says: its number or opposite."""
        free = self._candidates()
        labels = sorted(
            (c for c in free if is_plain_label(c.name)), key=lambda c: (-c.filled, not c.is_number)
        )
        twice = [b.name for a, b in combinations(labels, 2) if self._say_the_same(a, b)]
        by_name = {c.name.casefold(): c for c in free}
        for best in free:
            worst = by_name.get(opposite_of(best.name))
            is_pair = worst is not None and len(best.values | worst.values) == 2
            if worst and is_pair and self._say_the_same(best, worst):
                twice.append(worst.name)
        return list(dict.fromkeys(twice))

    def _say_the_same(self, first: Column, second: Column) -> bool:
        """Whether one label of several follows from the other in each of the first rows, both ways."""
        both = [(self._said(first, row), self._said(second, row)) for row in self.profile.head]
        both = [pair for pair in both if not {*BLANK} & {*pair}]
        sizes = {len({*cells}) for cells in (both, *zip(*both, strict=True))}
        return len(both) >= MIN_ROWS and len(sizes) == 1 and 1 not in sizes

    def _said(self, column: Column, row: Row) -> object:
        """Return which side of the row's pair a cell says, or else the cell."""
        pair = [row.get(self.facts.get(role, "")) for role in _PAIR]
        cell = row.get(column.name)
        side = side_of(cell, *map(str, pair)) if cell not in BLANK and None not in pair else None
        return cell if side is None else side

    # What names the item.

    def _keys(self, *, is_long: bool) -> tuple[str, ...]:
        """Return the fewest columns that name the item, so that nobody rated one twice."""
        by_name = {name.strip().casefold(): name for name in self.profile.columns}
        given = self.chosen.get("unit") or by_name.get("unit")
        if given:
            return (given,)
        once = [
            self.facts[role]
            for role in ("rater", "criterion", "run", "repeat")
            if role in self.facts
        ]
        systems = [self.facts[role] for role in ("system_a", "system_b") if role in self.facts]
        ids = sorted((c for c in self.free if self._may_name_items(c)), key=self._rank)[:12]
        named = [c for c in ids if self.roles[c.name] in ("unit", "instance")]
        texts, links = [c for c in ids if c.is_prose], [c for c in ids if c.is_link]
        for some, shared in (
            (named, is_long),
            (texts, is_long),
            (named, False),
            (links if is_long else ids, is_long),
        ):
            keys = self._fewest(some, once, systems, is_shared=shared)
            if keys:
                return keys
        if not is_long:
            return ()
        crossed = self._crossed(once)
        if crossed:
            return crossed
        if not named:
            raise UnclearLayoutError("no_unit", NO_UNIT, "unit=COLUMN")
        return (named[0].name, *systems)

    def _crossed(self, once: list[str]) -> tuple[str, ...]:
        """Return the column whose values each rater labelled once, if all but labels follows from it."""
        labels = [c for c in self.free if self.roles[c.name] == "label"]
        others = [c for c in self.free if c not in labels and not is_fact(c.name)]
        for column in others if labels else ():
            key = [column.name]
            cells = {tuple(row.get(name) for name in once) for row in self.profile.head}
            is_complete = len(self.profile.head) == len(cells) * column.distinct
            rest = [c for c in others if self._differs(c, key) and self._differs(c, once[:1])]
            if is_complete and column.distinct > 2 and len(cells) > 1 and not rest:
                return (column.name,) if self._tells_apart([*key, *once], key) else ()
        return ()

    def _fewest(
        self, ids: Sequence[Column], once: list[str], systems: list[str], *, is_shared: bool
    ) -> tuple[str, ...]:
        """Return the fewest of some columns by which each of the first rows is a rating of its own."""
        for size in (1, 2, 3):
            for some in combinations(ids, size):
                names = [c.name for c in some]
                for keys in ([*names, *systems], names):
                    is_own = self._tells_apart([*keys, *once], keys)
                    if is_own and (not is_shared or self._is_shared(keys)):
                        return tuple(keys)
        return ()

    def _with_what_was_shown(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys with the column by which raters of one key saw different things, if any.

        It names one side of each pair, or tells apart the same rows as texts do.
        """
        free = [c for c in self.free if c.name not in keys and self._differs(c, keys)]
        texts = [c for c in free if c.is_prose and self._was_shown(c, keys)]
        names = [c.name for c in texts]
        seen = self._count(*keys, *names)
        for column in (c for c in free if not self.roles[c.name]):
            tells = {self._count(*keys, column.name), self._count(*keys, column.name, *names)}
            is_code = texts and not column.is_prose and tells == {seen}
            if is_code or self._names_a_side(column):
                return (*keys, column.name)
        if texts:
            sentence = SEVERAL.format(" and ".join(keys), ", ".join(names))
            raise UnclearLayoutError("unclear_unit", sentence, f"unit={names[0]}")
        return keys

    def _without_passes(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys without the column that numbers the passes of machines over the same texts."""
        texts = [c.name for c in self.free if c.is_prose and self.roles[c.name] != "reason"]
        if not all(map(is_machine, self.profile[self.facts["rater"]].values)):
            return keys
        for column in keys if len(keys) > 1 and "run" not in self.facts else ():
            rest = tuple(key for key in keys if key != column)
            are_same = self._count(*rest, *texts) == self._count(*rest) > 1
            if says(column, "sample") and {*texts} - {*keys} and are_same:
                self.facts["run"] = column
                return rest
        return keys

    def _was_shown(self, column: Column, keys: Sequence[str]) -> bool:
        """Whether texts are what raters saw and not what they wrote, as some have more than one rater."""
        is_partial = column.filled < self.profile.rows
        if (
            is_partial
            or says(column.name, "remark")
            or not self._differs(column, [self.facts["rater"]])
        ):
            return False
        of_raters = self._count(*keys, column.name, self.facts["rater"])
        return says(column.name, "text") or self._count(*keys, column.name) < of_raters

    def _names_a_side(self, column: Column) -> bool:
        """Whether winners that are among a column's names are that of their row, which does not follow from them."""
        for name in self.profile.columns if not column.is_number else ():
            pairs = {(row.get(name), row.get(column.name)) for row in self.profile.head}
            named = [pair for pair in pairs if pair[0] in column.values]
            are_same = len(named) > 1 and all(winner == side for winner, side in named)
            if are_same and self._differs(column, [name]) and "winner" in kinds_of(name):
                return True
        return False

    def _count(self, *names: str) -> int:
        """Return how many different rows there are in these columns."""
        return len({tuple(row.get(name) for name in names) for row in self.profile.head})

    def _may_name_items(self, column: Column) -> bool:
        if is_computed(column.name) or column.is_listed or column.distinct < 2:
            return False
        if self.roles[column.name] in ("unit", "instance"):
            return True
        return not (column.is_number or self.roles[column.name])

    def _rank(self, column: Column) -> tuple[bool, bool, bool, float]:
        is_named = self.roles.get(column.name) in ("unit", "instance")
        return not is_named, is_fact(column.name), column.is_prose, -column.distinct

    def _tells_apart(self, names: Sequence[str], keys: Sequence[str]) -> bool:
        """Whether no two of the first rows are equal in these columns alone, and none lacks a key."""
        cells = [tuple(row.get(name) for name in names) for row in self.profile.head]
        has_keys = all(row.get(key) not in BLANK for row in self.profile.head for key in keys)
        return has_keys and len({*cells}) == self.n_rows

    def _is_shared(self, keys: Sequence[str]) -> bool:
        """Whether several rows of a long table have the same item, as several raters must."""
        values = [tuple(row.get(name) for name in keys) for row in self.profile.head]
        return len({*values}) < len(values)


def _by_item(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with items and criteria, if they are those of a numbered series of texts."""
    found = named_items([cell.criterion for cell in cells]) if len(cells) > 3 else {}
    if not found or any(cell.rater not in ("", *UNNAMED) for cell in cells):
        return [*cells]
    parts = ((cell, *found[cell.criterion]) for cell in cells)
    return [Cell(cell.column, cell.rater, criterion, item) for cell, item, criterion in parts]


def _with_series(chosen: Sequence[Column], free: Sequence[Column]) -> list[Column]:
    """Return the columns with all others of their numbered series, also those that always say no.

    What is said with yes or no beside such columns is one more of them.
    """
    stems = Counter(stem_of(c.name) for c in chosen)
    truths = [k for k, c in enumerate(free) if c.values <= TRUTHS]
    answers = {k for k in truths if len(chosen) > 1 and free[k] in chosen}
    beside = set(answers)
    for k in (*truths, *reversed(truths)):
        beside |= {k} & {place + step for place in beside for step in (-1, 1)}
    more = [c for c in free if c not in chosen and stems[stem_of(c.name) or " "] > 1]
    more += [free[k] for k in beside - answers if free[k] not in more]
    return [c for c in free if c in more or c in chosen] if more else [*chosen]
