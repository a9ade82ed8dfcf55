"""Guessing who rated what in a table of ratings, by the cells first and by names second."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tiebreak.errors import DomainError
from tiebreak.formats.layouts.names import (
    is_computed,
    is_criterion,
    is_fact,
    is_machine,
    is_rater,
    role_of,
)
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.tables.names import other_side, says, words_of
from tiebreak.formats.tables.profiles import Column, Profile

DEFAULT = "preference"
RATER_OF, LABEL_OF = "rater:", "label:"
MAX_WORDS_OF_LABELS = 60
MAX_RATERS = 200
WHO = "Say which column names them, as in --columns rater=COLUMN, or which columns are raters."
_SYSTEM = {"system", "model", "sys", "generator", "llm", "engine", "modelname", "systemname", "mt"}
_TAIL = re.compile(
    r"(?P<stem>.*?[^\W\d_])[\W_]*(?P<tail>(?:rater|annotator|ann|anno|coder|judge|expert|worker|user|human"
    r"|person|evaluator|reviewer|[arjhe])?[\W_]*\d{1,3}|(?<=[\W_])[A-Za-z])",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"(?P<tail>(?:rater|annotator|anno?|coder|judge|expert|worker|user|human|person|evaluator|reviewer"
    r"|[arjh](?=[\W_]*\d))[\W_]*\w{1,3})[\W_]+(?P<stem>\D.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Cell:
    """A column of labels: whose, and for which criterion; "" where another column says so."""

    column: str
    rater: str = ""
    criterion: str = ""


@dataclass(frozen=True)
class Layout:
    """Which columns describe a rating, and which have labels.

    ``facts`` are columns by role; the roles are columns of the ratings format. ``keys`` are the
    columns that name the item together; without any, each row is an item.
    """

    facts: Mapping[str, str]
    cells: tuple[Cell, ...]
    keys: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the layout is called: long, raters, criteria, or raters and criteria."""
        parts = ["raters"] if self.cells[0].rater else []
        parts += ["criteria"] if self.cells[0].criterion else []
        return " and ".join(parts) or "long"

    @property
    def columns(self) -> dict[str, str]:
        """The column of each role, as `layout_of` takes them."""
        roles = dict(self.facts)
        for cell in self.cells:
            grid = f"{RATER_OF}{cell.rater}:{cell.criterion}"
            # Without the colon at the end, the rater "coder: 2" would be a coder of the criterion 2.
            rater = grid if ":" in cell.rater else f"{RATER_OF}{cell.rater}"
            only = rater if cell.rater else f"{LABEL_OF}{cell.criterion}"
            is_plain = not (cell.rater or cell.criterion)
            roles["label" if is_plain else grid if cell.rater and cell.criterion else only] = (
                cell.column
            )
        return roles | ({"unit": self.keys[0]} if len(self.keys) == 1 else {})


def layout_of(profile: Profile, chosen: Mapping[str, str], left_out: Iterable[str] = ()) -> Layout:
    """Return how a table of ratings is to be read.

    ``chosen`` has columns by role, which are not guessed: columns of the ratings format,
    ``rater:NAME`` and ``label:CRITERION``. Raises `DomainError` if it is not clear who rated what.
    """
    _check(profile, chosen, left_out)
    return _Guess(profile, chosen, {*left_out}).layout()


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
    def __init__(self, profile: Profile, chosen: Mapping[str, str], left_out: set[str]) -> None:
        self.profile, self.chosen = profile, chosen
        taken = {*chosen.values()} | left_out
        self.free = [c for c in profile.columns.values() if c.filled and c.name not in taken]
        self.roles = {c.name: role_of(c.name) for c in self.free}
        self.facts = {role: c for role, c in chosen.items() if role in COLUMNS and role != "label"}

    def layout(self) -> Layout:
        self._native()
        self._systems()
        cells = self._chosen_cells()
        if "rater" not in self.facts and not any(cell.rater for cell in cells):
            self._rater()
        cells = cells or self._cells()
        has_raters = bool(cells[0].rater)
        if not has_raters and "rater" not in self.facts:
            raise _unclear("no_rater", f"No column says who rated. {WHO}")
        self._leave({cell.column for cell in cells})
        return Layout(self.facts, tuple(cells), self._keys(cells))

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
        named = [c for c in names if says(c.name, "system") and self.roles[c.name] != "rater"]
        by_words = {tuple(words_of(c.name)): c for c in named}
        for column in named:
            other = by_words.get(other_side(column.name) or ())
            if other is not None:
                self._take("system_a", column)
                self._take("system_b", other)
                return
        plain = [c for c in named if {"".join(words_of(c.name)), *words_of(c.name)[-1:]} & _SYSTEM]
        if plain and plain[0].distinct > 1 and plain[0].repeats > 1:
            self._take("system_a", plain[0])

    def _rater(self) -> None:
        """Find the column that names raters, whose names repeat unless each rated once."""
        named = [c for c in self.free if self.roles[c.name] == "rater" and not c.is_prose]
        named = [c for c in named if not self._is_label(c) or c.repeats > 1] or named
        if len(named) == 1 and not is_rater(named[0].name.removesuffix("_id")):
            self._take("rater", named[0])
        elif named:
            plain = [
                c for c in named if len(words_of(c.name)) <= 2 and not re.search(r"\d", c.name)
            ]
            if len(plain) == 1:
                self._take("rater", plain[0])

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
        is_named = self.roles.get(column.name) == "unit"
        is_numbering = column.is_number and column.filled > 2 and column.distinct == column.filled
        return is_named or (
            is_numbering and column is self.profile.columns.get(next(iter(self.profile.columns)))
        )

    def _cells(self) -> list[Cell]:
        self.free = [c for c in self.free if self.facts.get("label") != c.name]
        candidates = [c for c in self.free if self._is_label(c) and not is_computed(c.name)]
        if "rater" in self.facts:
            return self._beside_raters([c for c in candidates if not is_fact(c.name)])
        return self._without_raters(candidates)

    def _beside_raters(self, candidates: list[Column]) -> list[Cell]:
        """Return one column of labels, or one for each criterion, where a column names the rater."""
        named = [c for c in candidates if self.roles[c.name] == "label"]
        if "criterion" not in self.facts:
            named += [c for c in candidates if c not in named and is_criterion(c.name)]
        else:
            named = named[:1]
        by_role = [c for c in self.free if self.roles[c.name] == "label" and not c.is_prose]
        chosen = named or by_role[:1] or [c for c in candidates if c.distinct <= 21]
        if not chosen:
            raise _unclear(
                "no_label", "No column has labels. Say which, as in --columns label=COLUMN."
            )
        if "criterion" not in self.facts:
            criterion = [
                c for c in self.free if self.roles[c.name] == "criterion" and c not in chosen
            ]
            if len(chosen) == 1 and criterion and criterion[0].is_short:
                self._take("criterion", criterion[0])
        if len(chosen) == 1:
            return [Cell(chosen[0].name)]
        return [Cell(c.name, "", c.name.strip()) for c in chosen]

    def _without_raters(self, candidates: list[Column]) -> list[Cell]:
        """Return the columns of raters, if each has its own."""
        shown = ", ".join(c.name for c in candidates[:6])
        if _are_counts(candidates, self.profile):
            raise _unclear(
                "counts_per_label",
                f"The columns {shown} count how often each label was given, so nothing says who gave which."
                " Agreement needs one row for each rating, or one column for each rater.",
            )
        grid = _grid(candidates)
        if grid:
            return grid
        raters = [c for c in candidates if is_rater(c.name) or is_machine(c.name)]
        others = [c for c in candidates if not is_fact(c.name) and not is_criterion(c.name)]
        others = [c for c in others if self.roles[c.name] != "label" or is_rater(c.name)]
        if len(raters) < 2:
            raters = [c for c in others if _shares_labels(c, others)]
        if len(raters) < 2 or len(raters) > MAX_RATERS:
            found = (
                f"The columns {shown} may have labels, but no column says who gave them."
                if shown
                else ("No column has labels.")
            )
            raise _unclear("no_rater", f"{found} {WHO}")
        return [Cell(c.name, c.name.strip()) for c in raters]

    # What names the item.

    def _keys(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """Return the fewest columns that name the item, so that nobody rated one twice."""
        if "unit" in self.chosen:
            return (self.chosen["unit"],)
        by_name = {name.strip().casefold(): name for name in self.profile.columns}
        if "unit" in by_name:
            return (by_name["unit"],)
        once = [
            self.facts[role]
            for role in ("rater", "criterion", "run", "repeat")
            if role in self.facts
        ]
        systems = [self.facts[role] for role in ("system_a", "system_b") if role in self.facts]
        ids = sorted((c for c in self.free if self._may_name_items(c)), key=self._rank)
        for size in (1, 2, 3):
            for some in combinations(ids, size):
                names = [c.name for c in some]
                for keys in ([*names, *systems], names):
                    if self._tells_apart([*keys, *once]) and self._is_shared(keys, cells):
                        return tuple(keys)
        if cells[0].rater:
            return ()
        named = [c.name for c in ids if self.roles[c.name] == "unit"]
        if not named:
            raise _unclear(
                "no_unit",
                "No column says which item a row rates. Say which, as in --columns unit=COLUMN.",
            )
        return (named[0], *systems)

    def _may_name_items(self, column: Column) -> bool:
        if is_computed(column.name) or column.is_listed:
            return False
        is_named = self.roles[column.name] in ("unit", "instance")
        return is_named or not (is_fact(column.name) or column.is_number or column.distinct < 2)

    def _rank(self, column: Column) -> tuple[bool, bool, float]:
        return self.roles[column.name] not in ("unit", "instance"), column.is_prose, -column.repeats

    def _tells_apart(self, names: Sequence[str]) -> bool:
        """Whether no two of the first rows are equal in these columns."""
        keys = [tuple(row.get(name) for name in names) for row in self.profile.head]
        return len({*keys}) == len(keys)

    def _is_shared(self, keys: Sequence[str], cells: Sequence[Cell]) -> bool:
        """Whether several rows of a long table have the same item, as several raters must."""
        if cells[0].rater:
            return True
        values = [tuple(row.get(name) for name in keys) for row in self.profile.head]
        return len({*values}) < len(values)


def rater_and_criterion(role: str) -> tuple[str, str]:
    """Return whose labels a column has, and for which criterion: "" where another column says so."""
    if role.startswith(LABEL_OF):
        return "", role.removeprefix(LABEL_OF)
    name = role.removeprefix(RATER_OF)
    rater, colon, criterion = name.rpartition(":")
    return (rater, criterion) if colon else (name, "")


def _grid(candidates: Sequence[Column]) -> list[Cell]:
    """Return the cells of columns such as `fluency_r1` and `rater2_coherence`."""
    for pattern in (_TAIL, _HEAD):
        matches = {c.name: m for c in candidates if (m := pattern.fullmatch(c.name.strip()))}
        of_stem: dict[str, set[str]] = defaultdict(set)
        for match in matches.values():
            of_stem[match["stem"].strip(" _-.").casefold()].add(match["tail"].casefold())
        whole = [stem for stem, tails in of_stem.items() if len(tails) > 1]
        if not whole or any(of_stem[stem] != of_stem[whole[0]] for stem in whole):
            continue
        chosen = [(n, m) for n, m in matches.items() if m["stem"].strip(" _-.").casefold() in whole]
        if len(whole) == 1:
            is_named = is_criterion(whole[0])
            criterion = chosen[0][1]["stem"].strip(" _-.") if is_named else ""
            if not is_named and role_of(whole[0]) not in ("label", "rater"):
                continue
            return [
                Cell(n, m["tail"].strip(" _-.") if is_named else n, criterion) for n, m in chosen
            ]
        if all(is_rater(f"{stem} 1") and not is_criterion(stem) for stem in whole):
            continue
        return [Cell(n, m["tail"].strip(" _-."), m["stem"].strip(" _-.")) for n, m in chosen]
    return []


def _are_counts(candidates: Sequence[Column], profile: Profile) -> bool:
    """Whether each row of whole numbers has the same sum, as counts of the labels of R raters do."""
    named = [c for c in candidates if not is_rater(c.name)]
    if len(named) < 2 or len(named) < len(candidates):
        return False
    names = [c.name for c in named]
    rows = [[row.get(name) for name in names] for row in profile.head]
    try:
        numbers = [
            [float(str(cell)) for cell in cells if cell not in (None, "None", "")] for cells in rows
        ]
    except ValueError:
        return False
    sums = {sum(cells) for cells in numbers}
    is_whole = all(n >= 0 and n.is_integer() for cells in numbers for n in cells)
    has_none = sum(0 in cells for cells in numbers) > len(rows) / 4
    return is_whole and len(rows) > 2 and len(sums) == 1 and max(sums) > 1 and has_none


def _shares_labels(column: Column, others: Sequence[Column]) -> bool:
    """Whether most of a column's values are also in another column of labels."""
    return any(
        other is not column
        and len(column.values & other.values) >= 0.5 * min(len(column.values), len(other.values))
        for other in others
    )


def _unclear(code: str, sentence: str) -> DomainError:
    return DomainError(code, sentence, status=400)
