"""What a column of a table may hold, by its name and its cells: texts, systems, ids or votes."""

from collections import defaultdict
from collections.abc import Sequence

from tiebreak.formats.tables.names import names_model, says, says_answer, words_of
from tiebreak.formats.tables.profiles import Column, Profile

MAX_SYSTEM_NAMES = 1000
MAX_VERDICTS = 10


def may_be_text(column: Column) -> bool:
    name = column.name
    is_other = says_answer(name) or says(name, "text") or says(name, "reference")
    is_id = column.is_tokens and says(name, "instance")
    is_id |= column.is_numbered and not is_other
    if column.is_number or column.is_link or is_id or is_vote(column):
        return False
    if says(name, "fact") and not says_answer(name) and not column.length > 200:
        return False
    if column.is_short and says(name, "category") and not says_answer(name):
        return False
    if (
        column.is_short
        and says(name, "instance")
        and not says_answer(name)
        and column.share(column.words) < 2
    ):
        return False
    if column.is_prose:
        return True
    named = is_other or says(name, "source")
    return (named and not says(name, "system")) or (names_model(name) and column.repeats < 2)


VOTES = {
    *("a", "b", "tie", "both", "neither", "left", "right", "model_a", "model_b", "tie (bothbad)"),
    *("1", "2", "0", "-1", "yes", "no", "win", "lose", "loss", "draw", "same", "equal", "none"),
    *("a is better", "b is better", "good", "bad", "x", "y"),
}


def is_vote(column: Column) -> bool:
    """Whether the cells are short, and are votes by their name or their content."""
    if column.length > 40 or column.is_listed:
        return False
    values = {value.strip().lower() for value in column.values}
    says_vote = says(column.name, "vote") and not names_model(
        column.name.lower().replace("model", "")
    )
    other_roles = ("system", "instance", "category")
    has_other_name = names_model(column.name) or any(says(column.name, r) for r in other_roles)
    is_plain_vote = bool(values) and values <= VOTES and not has_other_name
    return says_vote or is_plain_vote or is_verdict(column)


_VERDICTS = {
    *("winner", "wins", "won", "preferred", "preference", "vote", "voted", "better", "best"),
    *("pick", "verdict"),
}


def is_verdict(column: Column) -> bool:
    """Whether a column says by a few repeating words which text somebody preferred, a model or a person."""
    is_few = column.is_tokens and column.distinct <= MAX_VERDICTS and column.repeats >= 2
    return is_few and not _VERDICTS.isdisjoint(words_of(column.name))


def may_be_system(column: Column) -> bool:
    is_few = column.distinct <= MAX_SYSTEM_NAMES and not column.is_number
    # A prompt for a model may be as short as a name, but it is a sentence, and another in each row.
    is_sentences = column.is_prose and column.distinct > 1 and column.repeats < 1.05
    is_name = column.is_short and is_few and not is_sentences
    return is_name and not is_vote(column) and not column.is_link


def may_be_unnamed_system(column: Column) -> bool:
    """Whether short words repeat that are no id, text or category by their name."""
    roles = ("instance", "text", "source", "reference", "category", "fact", "remark", "sample")
    is_word = column.share(column.words) < 4 and column.repeats >= 1.5
    return is_word and column.distinct >= 2 and not any(says(column.name, role) for role in roles)


def are_systems(pair: tuple[Column, Column]) -> bool:
    if not all(may_be_system(c) and not says(c.name, "vote") for c in pair):
        return False
    named = all(says(c.name, "system") or says(c.name, "fact") for c in pair)
    return named and not any(says(c.name, "text") for c in pair)


def may_be_id(column: Column) -> bool:
    is_code = column.length <= 80 and not column.is_listed and column.share(column.words) <= 3
    if column.is_link or (column.is_code and not column.is_number):
        return False
    return is_code and not is_vote(column)


def is_plain_source(column: Column) -> bool:
    return says(column.name, "source") and not says_answer(column.name)


def source_rank(column: Column) -> tuple[bool, float]:
    """Rank names: a prompt or question is the source, even next to a longer context."""
    asked = {"prompt", "question", "instruction", "query", "article", "document", "source"}
    return not asked.isdisjoint(words_of(column.name)), column.length


def per_key(profile: Profile, keys: Sequence[str], column: str) -> float:
    """Return the number of different values of a column in the rows of one key, on average."""
    values: dict[object, set[object]] = defaultdict(set)
    for row in profile.head:
        key = tuple(row.get(name) for name in keys)
        if not {None, "None", ""} & set(key):
            values[key].add(row.get(column))
    return sum(map(len, values.values())) / len(values) if values else 0.0
