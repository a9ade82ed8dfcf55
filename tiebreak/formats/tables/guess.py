"""Guessing the layout of a table and the roles of its columns."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from tiebreak.formats.tables.column_kinds import (
    are_systems,
    is_plain_source,
    is_vote,
    may_be_id,
    may_be_system,
    may_be_text,
    may_be_unnamed_system,
    per_key,
    source_rank,
)
from tiebreak.formats.tables.names import (
    SHOWN,
    is_field_name,
    names_model,
    other_side,
    says,
    says_answer,
    words_of,
)
from tiebreak.formats.tables.plan import FIELD_OF, LONG, PROMPTS, TEXT_OF, WIDE
from tiebreak.formats.tables.profiles import MANY, Column, Profile

# Before the names of what workers of Mechanical Turk answered, and no system wrote.
ANSWERS = "Answer."
# Texts whose lengths differ by more than this are hardly those of systems with the same task.
MAX_LENGTH_RATIO = 4
MAX_CATEGORY_WORDS = 4


class Guess:
    """One guess: ``roles`` are taken in the order in which they can be told apart."""

    def __init__(self, profile: Profile, chosen: Mapping[str, str]) -> None:
        self.profile = profile
        self.chosen = chosen
        taken = set(chosen.values())
        free = [c for c in profile.columns.values() if c.filled and c.name not in taken]
        self.free = [c for c in free if not c.name.startswith(ANSWERS)]

    def layout(self) -> str:
        return LONG if self._pair() is None and self._system() is not None else WIDE

    def columns(self, layout: str) -> dict[str, str]:
        return self._with_fields(self._main_columns(layout))

    def _main_columns(self, layout: str) -> dict[str, str]:
        if layout == LONG:
            return self._long()
        if layout == PROMPTS:
            return self._prompts()
        pair = self._pair() if not any(r.startswith(TEXT_OF) for r in self.chosen) else None
        return self._wide() if pair is None else self._pairs(pair)

    def left_answers(self, used: Iterable[str]) -> list[str]:
        """Return the columns that are named as texts of systems, but whose cells are none."""
        others = [c for c in self.profile.columns.values() if c.filled and c.name not in used]
        others = [c for c in others if says_answer(c.name) and not c.name.startswith(ANSWERS)]
        odd = ("reference", "vote", "fact", "remark", "instance", "system", "person")
        return [c.name for c in others if not any(says(c.name, role) for role in odd)]

    def unclear(self, layout: str, roles: Mapping[str, str]) -> tuple[str, ...]:
        """Return the columns of a guess for which neither their names nor their cells speak."""
        if layout == LONG:
            return self._unclear_long(roles)
        guessed = [
            self.profile[name]
            for role, name in roles.items()
            if role.startswith(TEXT_OF) and role not in self.chosen
        ]
        unnamed = [c for c in guessed if not self._is_named_text(c) and not _is_answer(c, guessed)]
        source = self.profile[roles["source"]] if "source" in roles else None
        if layout != WIDE or not guessed:
            return ()
        others = [c for c in self._texts() if c.is_prose and not says(c.name, "remark")]
        is_told = source is None or is_plain_source(source) or "source" in self.chosen
        if others and source and not is_told and not _stands_out(source, others):
            return tuple(c.name for c in (source, *others))
        if not unnamed:
            return ()
        lengths = [c.length for c in guessed]
        is_even = max(lengths) <= MAX_LENGTH_RATIO * min(lengths)
        if source and is_told and is_even and len(unnamed) == len(guessed):
            return ()
        return tuple(c.name for c in ([source] if source else []) + guessed)

    def _unclear_long(self, roles: Mapping[str, str]) -> tuple[str, ...]:
        guessed = [role for role in ("text", "source") if role in roles and role not in self.chosen]
        if "text" not in guessed:
            return ()
        text, *source = (self.profile[roles[role]] for role in guessed)
        others = [c for c in self._texts() if not says(c.name, "remark") and c.is_prose]
        others = [c for c in others if not says(c.name, "source") and not says(c.name, "reference")]
        is_named = says_answer(text.name) or says(text.name, "text")
        is_named &= all(says(c.name, "source") for c in source)
        return () if is_named or not others else tuple(c.name for c in (text, *source, *others))

    def _is_named_text(self, column: Column) -> bool:
        name = column.name
        is_named = says_answer(name) or says(name, "text") or says(name, "system")
        return is_named or self._has_other_side(column)

    def _with_fields(self, roles: dict[str, str]) -> dict[str, str]:
        """Add the texts that are plainly named as something to read, and belong to the instance."""
        key = roles.get("instance") or roles.get("source")
        for column in self._texts():
            is_field = is_field_name(column.name) and not says_answer(column.name)
            if is_field and not column.is_code and self._is_of_instance(key, column):
                roles[f"{FIELD_OF}{column.name}"] = column.name
        return roles

    def _is_of_instance(self, key: str | None, column: Column) -> bool:
        return key is None or per_key(self.profile, [key], column.name) <= 1

    # What a column can be.

    def _texts(self) -> list[Column]:
        shown = [c for c in self.free if c.name.startswith(SHOWN)]
        return [c for c in shown or self.free if may_be_text(c)]

    # Rows with a pair.

    def _pair(self) -> tuple[Column, Column, Column, Column] | None:
        """Return the columns of the systems and the texts of both sides."""
        by_words = {tuple(words_of(c.name)): c for c in self.profile.columns.values() if c.filled}
        sides = [
            (column, by_words[words])
            for column in self.profile.columns.values()
            if (words := other_side(column.name)) in by_words
        ]
        systems = [pair for pair in sides if are_systems(pair)]
        texts = [
            pair for pair in sides if all(may_be_text(c) for c in pair) and pair not in systems
        ]
        if not systems or not texts:
            return None
        first = max(texts, key=lambda pair: (says_answer(pair[0].name), pair[0].length))
        return (*systems[0], *first)

    def _has_other_side(self, column: Column) -> bool:
        names = {tuple(words_of(name)): name for name in self.profile.columns}
        sides = {words: other_side(name) for words, name in names.items()}
        words = tuple(words_of(column.name))
        return sides.get(words) in names or words in sides.values()

    def _pairs(self, pair: tuple[Column, Column, Column, Column]) -> dict[str, str]:
        system_a, system_b, text_a, text_b = (column.name for column in pair)
        roles = {
            "system_a": system_a,
            "text_a": text_a,
            "system_b": system_b,
            "text_b": text_b,
            **self.chosen,
        }
        self._leave_out(roles.values())
        roles = self._with_reference(roles)
        self._add(roles, "source", self._named_source(self._texts()))
        self._add(roles, "instance", self._instance())
        return self._with_category(roles)

    # One text in each row.

    def _system(self) -> Column | None:
        """Return the column with the systems' names, if the rows have one text each."""
        if "system" in self.chosen:
            return self.profile[self.chosen["system"]]
        names = [c for c in self.free if may_be_system(c)]
        answers = [
            c for c in self._texts() if says_answer(c.name) and not says(c.name, "reference")
        ]
        named = [c for c in names if says(c.name, "system") and not self._has_other_side(c)]
        if named and (len(answers) < 2 or named[0].distinct > 1):
            return max(named, key=lambda c: (c.distinct > 1, c.repeats > 1))
        if len(answers) > 1:
            return None
        others = [c for c in names if may_be_unnamed_system(c) and not self._has_other_side(c)]
        others = [c for c in others if self._tells_apart(c)]
        return min(others, key=lambda c: c.distinct, default=None)

    def _tells_apart(self, column: Column) -> bool:
        """Whether the column differs between the rows of each instance, as systems do."""
        return any(
            key is not column
            and per_key(self.profile, [key.name], column.name) >= 1.5
            and self._is_answered(key, column)
            for key in self.free
            if key.repeats >= 1.5
            and (may_be_text(key) or says(key.name, "instance") or not key.is_number)
        )

    def _is_answered(self, key: Column, system: Column) -> bool:
        """Whether each system has the same number of rows for each instance, or nearly so."""
        rows = [(r.get(key.name), r.get(system.name)) for r in self.profile.head]
        counts: dict[object, int] = defaultdict(int)
        for row in rows:
            counts[row] += 1
        return bool(counts) and max(counts.values()) <= 2 * min(counts.values())

    def _long(self) -> dict[str, str]:
        roles = dict(self.chosen)
        system = self._system()
        self._add(roles, "system", system)
        key = self._shared_instance(roles)
        if key is not None and key.is_numbered:
            self._leave_out([key.name])  # whatever its name says, nobody reads it
        roles = self._with_reference(roles)
        self._add(roles, "text", self._long_text())
        self._add(roles, "source", self._long_source(key))
        if key is None and "source" not in roles:
            key = self._instance()
        self._add(roles, "instance", key)
        self._add(roles, "sample", self._sample(roles))
        return self._with_category(roles)

    def _long_text(self) -> Column | None:
        """Return the column that differs most between rows, with the name of a text if it can be."""
        texts = [c for c in self._texts() if not says(c.name, "remark")]
        texts = [c for c in texts if not c.is_doubtful] or texts
        named = [c for c in texts if says_answer(c.name)] or [
            c for c in texts if says(c.name, "text")
        ]
        named = [c for c in named if not is_plain_source(c)] or named
        others = [c for c in texts if not is_plain_source(c)] or texts
        return max(named or others, key=lambda c: (c.distinct, c.length), default=None)

    def _long_source(self, key: Column | None) -> Column | None:
        texts = [
            c for c in self._texts() if not says(c.name, "remark") and not says(c.name, "fact")
        ]
        named = self._named_source(texts)
        if named is not None:
            return named
        same = [c for c in texts if key and per_key(self.profile, [key.name], c.name) <= 1.05]
        return max(
            same or [c for c in texts if c.repeats >= 1.5], key=lambda c: c.length, default=None
        )

    def _shared_instance(self, roles: Mapping[str, str]) -> Column | None:
        """Return the id that the rows of several systems share."""
        if "system" not in roles:
            return self._instance()
        system = self.profile[roles["system"]]
        if system.distinct < 2:
            return self._instance()
        exact = [c for c in self.free if self._is_exact_id(c, system)]
        if exact:
            return max(exact, key=lambda c: (says(c.name, "instance"), not c.is_number))
        ids = [
            c for c in self.free if may_be_id(c) and c.repeats >= 1.2 and not says(c.name, "sample")
        ]
        ids = [c for c in ids if per_key(self.profile, [c.name], system.name) >= 1.2]
        ids = [c for c in ids if self._names_items(c, system.distinct)]
        named = [c for c in ids if says(c.name, "instance")]
        unnamed = [c for c in ids if not c.is_number and not says(c.name, "category")]
        unnamed = [
            c
            for c in unnamed
            if per_key(self.profile, [c.name], system.name) >= 0.9 * system.distinct
            and (self._sources_of(c) or not self._sources_of())
        ]
        return max(named or unnamed, key=lambda c: c.distinct, default=None)

    def _names_items(self, column: Column, n_systems: int = 1) -> bool:
        """Whether each row has a value, or there are nearly as many values as items with one.

        A column with few values and empty cells says something else, such as who checked a row.
        """
        sources = [c.distinct for c in self._sources_of()]
        items = min([column.filled / n_systems, *sources])
        return column.filled == self.profile.rows or 2 * column.distinct >= items

    def _is_exact_id(self, column: Column, system: Column) -> bool:
        """Whether each value is an id that occurs once for each system, with a source of its own."""
        name = column.name
        is_named = says(name, "instance") or says(name, "sample")
        is_id = is_named or (column.is_numbered and not column.is_number)
        odd = any(says(name, role) for role in ("category", "fact", "person"))
        if not is_id or odd or not column.is_tokens or not may_be_id(column):
            return False
        pairs = Counter((row.get(name), row.get(system.name)) for row in self.profile.head)
        ids, systems = ({*values} for values in zip(*pairs, strict=True))
        # The first rows may end within an instance, and a system may lack a text.
        is_even = max(pairs.values()) == 1 and len(pairs) >= 0.9 * len(ids) * len(systems)
        has_own = any(per_key(self.profile, [c.name], name) == 1 for c in self._sources_of(column))
        return min(len(ids) - 1, len(systems)) > 1 and is_even and has_own

    def _sources_of(self, key: Column | None = None) -> list[Column]:
        """Return the texts that rows share, of which the rows with one value of a column have one."""
        texts = [c for c in self._texts() if c.is_prose and c.repeats >= 1.5 and c is not key]
        return [
            c for c in texts if key is None or per_key(self.profile, [key.name], c.name) <= 1.05
        ]

    def _sample(self, roles: Mapping[str, str]) -> Column | None:
        """Return the column that numbers the texts of one system for one instance."""
        numbers = [c for c in self.free if c.is_number and says(c.name, "sample")]
        small = [
            c
            for c in numbers
            if all(len(value) <= 4 and value.removesuffix(".0").isdecimal() for value in c.values)
        ]
        of = [roles[name] for name in ("instance", "system") if name in roles]
        of += [roles["source"]] if "source" in roles and "instance" not in roles else []
        return next((c for c in small if c.repeats > 1 and self._counts_anew(c, of)), None)

    def _counts_anew(self, column: Column, of: Sequence[str]) -> bool:
        """Whether a column's numbers differ among the rows of each instance and system, from 0 or 1 on.

        The first rows may end within an instance, and a few texts may be missing.
        """
        groups: dict[object, list[int]] = defaultdict(list)
        for row in self.profile.head:
            value = str(row.get(column.name)).removesuffix(".0")
            if value.isdecimal():
                groups[tuple(row.get(name) for name in of)].append(int(value))
        least = min(map(min, groups.values()), default=-1)
        begin = sum(least in numbers for numbers in groups.values())
        differ = sum(len({*numbers}) == len(numbers) for numbers in groups.values())
        return least in (0, 1) and min(begin, differ) >= 0.9 * len(groups)

    # The texts of several systems in each row.

    def _wide(self) -> dict[str, str]:
        roles = self._with_reference(dict(self.chosen))
        texts = [c for c in self._texts() if not says(c.name, "remark")]
        chosen_systems = any(role.startswith(TEXT_OF) for role in self.chosen)
        if chosen_systems:
            self._add(roles, "source", self._named_source(texts) or next(iter(texts), None))
        else:
            self._add(roles, "source", _wide_source(texts))
            systems = _wide_systems([c for c in texts if c.name != roles.get("source")])
            roles |= {f"{TEXT_OF}{name}": c.name for name, c in _system_names(systems).items()}
            self._leave_out(roles.values())
        self._add(roles, "instance", self._instance())
        return self._with_category(roles)

    def _prompts(self) -> dict[str, str]:
        roles = self._with_reference(dict(self.chosen))
        texts = [c for c in self._texts() if not says(c.name, "remark")]
        longest = max(texts, key=lambda c: c.length, default=None)
        self._add(roles, "source", self._named_source(texts) or longest)
        self._add(roles, "instance", self._instance())
        return self._with_category(roles)

    # Roles of every layout.

    def _add(self, roles: dict[str, str], role: str, column: Column | None) -> None:
        if column is not None and role not in self.chosen:
            roles[role] = column.name
            self._leave_out([column.name])

    def _leave_out(self, names: Iterable[str]) -> None:
        taken = set(names)
        self.free = [c for c in self.free if c.name not in taken]

    def _with_reference(self, roles: dict[str, str]) -> dict[str, str]:
        """Add the reference; further references are left out."""
        texts = [c for c in self._texts() if says(c.name, "reference") and not names_model(c.name)]
        self._add(roles, "reference", texts[0] if texts else None)
        self._leave_out(c.name for c in texts)
        return roles

    def _named_source(self, texts: list[Column]) -> Column | None:
        named = [c for c in texts if is_plain_source(c)]
        return max(named, key=source_rank, default=None)

    def _instance(self) -> Column | None:
        """Return the column with an id: by its name, or because its values are short and unique."""
        ids = [c for c in self.free if may_be_id(c) and not says(c.name, "person")]
        ids = [c for c in ids if c.distinct > 1 or self.profile.rows < MANY]
        ids = [c for c in ids if self._names_items(c)]
        named = [c for c in ids if says(c.name, "instance") and not says(c.name, "vote")]
        if named:
            return max(
                named,
                key=lambda c: (c.distinct > 1 or self.profile.rows == 1, c.filled, -c.repeats),
            )
        codes = [c for c in ids if c.repeats < 1.05 and not c.is_number and c.share(c.words) <= 1.2]
        codes = [c for c in codes if not c.is_link and not says(c.name, "category")]
        is_enough = self.profile.rows >= 3
        return codes[0] if codes and is_enough and codes[0] is self._first() else None

    def _first(self) -> Column:
        return next(iter(self.profile.columns.values()))

    def _with_category(self, roles: dict[str, str]) -> dict[str, str]:
        """Add a category: a short column by its name, or because few values repeat."""
        short = [c for c in self.free if c.is_short and not c.is_number and not c.is_link]
        short = [c for c in short if not says(c.name, "vote") and not says(c.name, "fact")]
        short = [c for c in short if c.distinct > 1 or self.profile.rows == 1]
        named = [c for c in short if says(c.name, "category")]
        few = [c for c in short if 2 <= c.distinct <= 50 and c.repeats >= 2 and not is_vote(c)]
        few = [c for c in few if not says(c.name, "instance") and not says(c.name, "system")]
        few = [c for c in few if not (is_field_name(c.name) and may_be_text(c))]
        few = [c for c in few if c.share(c.words) < MAX_CATEGORY_WORDS]
        key = roles.get("instance") or roles.get("source")
        named, few = (
            [c for c in kept if key is None or per_key(self.profile, [key], c.name) <= 1.05]
            for kept in (named, few)
        )
        self._add(roles, "category", next(iter(named or few), None))
        return roles


def _wide_source(texts: list[Column]) -> Column | None:
    answers = [c for c in texts if _is_answer(c, texts)]
    others = [c for c in texts if c not in answers]
    named = [c for c in others if is_plain_source(c)]
    if named:
        return max(named, key=source_rank)
    if len(answers) >= 2:
        return max(others, key=lambda c: c.length, default=None)
    if len(texts) < 3:
        return None
    return _standing_out(others or texts)


def _standing_out(texts: list[Column]) -> Column:
    """Return the text that is much longer than the others, asks questions, or comes first."""
    alone = (c for c in texts if _stands_out(c, [other for other in texts if other is not c]))
    return next(alone, texts[0])


def _stands_out(column: Column, others: list[Column]) -> bool:
    """Whether the cells alone are much longer than those of other columns, or alone are questions."""
    is_long = all(column.length > 2.5 * c.length for c in others)
    asks = [c.share(c.questions) > 0.5 for c in (column, *others)]
    return bool(others) and (is_long or (asks[0] and not any(asks[1:])))


def _wide_systems(texts: list[Column]) -> list[Column]:
    """Return the columns of systems: those named so, and others whose texts are as long."""
    answers = [c for c in texts if _is_answer(c, texts)]
    answers = answers or [c for c in texts if any(_are_alike(c, other) for other in texts)]
    plain = [c for c in texts if c in answers or not is_plain_source(c)]
    plain = [c for c in plain if not says(c.name, "fact")]
    if len(answers) < 2:
        return plain or answers
    if set.intersection(*(set(words_of(c.name)) for c in answers)) - {"1", "2"}:
        return answers
    mean = sum(c.length for c in answers) / len(answers)
    return [c for c in plain if c in answers or mean / 3 <= c.length <= mean * 3]


def _is_answer(column: Column, texts: list[Column]) -> bool:
    """Whether the name means what a system wrote, or is like one with a model: `story new`, `story ours`."""
    models = [c for c in texts if names_model(c.name)]
    return says_answer(column.name) or any(_are_alike(column, model) for model in models)


def _are_alike(one: Column, other: Column) -> bool:
    """Whether two names begin with the same word and go on, and the texts are of like length."""
    if one is other or is_field_name(one.name) or is_field_name(other.name):
        return False
    words = [words_of(c.name) for c in (one, other)]
    lengths = sorted((one.length, other.length))
    return (
        min(map(len, words)) > 1
        and words[0][0] == words[1][0]
        and lengths[1] <= MAX_LENGTH_RATIO * lengths[0]
    )


def _system_names(columns: list[Column]) -> dict[str, Column]:
    """Name systems after their columns, without what nested columns or their first words have in common."""
    parts = [c.name.split(".") for c in columns]
    if len(columns) < 2 or any(len(part) < 2 for part in parts):
        last = len(columns) == 1
        return _without_first_word(
            {c.name.rpartition(".")[2] if last else c.name: c for c in columns}
        )
    start, end = _common(parts), _common([part[::-1] for part in parts])
    names = [".".join(part[start : len(part) - end]) for part in parts]
    if len(set(names)) < len(names) or not all(names):
        return {c.name: c for c in columns}
    return dict(zip(names, columns, strict=True))


def _without_first_word(names: dict[str, Column]) -> dict[str, Column]:
    """Return "gpt-4o" for "Answer gpt-4o", but keep "Answer A" and "Llama 3 8B", whose rests say too little."""
    parts = {name: name.partition(" ") for name in names}
    first = {word for word, _, _ in parts.values()}
    rests = {
        name: re.sub(r"^\((.*)\)$", r"\1", rest.strip(" :-–—"))
        for name, (_, _, rest) in parts.items()
    }
    if (
        len(names) < 2
        or len(first) > 1
        or names_model(*first)
        or len({*rests.values()}) < len(names)
    ):
        return names
    are_names = all(re.search(r"[^\W\d_]{3}", rest) for rest in rests.values())
    return {rests[name]: c for name, c in names.items()} if are_names else names


def _common(parts: list[list[str]]) -> int:
    """Return how many first parts all names share."""
    shortest = min(len(part) for part in parts)
    differs: Callable[[int], bool] = lambda i: len({part[i] for part in parts}) > 1  # noqa: E731
    return next((i for i in range(shortest) if differs(i)), shortest)
