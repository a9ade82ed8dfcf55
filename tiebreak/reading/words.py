"""Counts and scales in words."""

from collections.abc import Iterable

from tiebreak.digits import counted
from tiebreak.report.model.report import CriterionSection, Report
from tiebreak.report.model.systems import PairCounts
from tiebreak.scales import BAD, PREFERENCES, Scale
from tiebreak.stats import EloConstants

# Preference scales by the number of their answers; others are named after it.
PREFERENCE_TITLES = {2: "Which is better", 3: "Which is better, with ties"}

# Constants of Elo ratings as papers write them.
ELO_SYMBOLS = {"step": "K", "alpha": "α", "beta": "β", "threshold": "T"}

# How many instances a sentence names.
MAX_NAMED = 3

# Groups of ratings, each of which is in exactly one.
RATING_GROUPS = {
    "counted": "In the statistics: first answers to main items",
    "nonresponses": "Answers without a label to main items: cannot say, broken or harmful",
    "repeats": "Planned repeats of main items",
    "training": "Training",
    "test": "Test before the first task",
    "gold": "Gold checks",
    "superseded": "Left out: changed by the annotator later",
    "excluded": "Left out: excluded",
    "late": "Left out: arrived after the study was closed",
    "partial": "Left out: part of a task that was left unfinished",
    "surplus": "Left out: the task already had all its responses",
}


def elo_in_words(constants: EloConstants) -> str:
    """Return a sentence about the constants of Elo ratings, and whether they are the published ones.

    >>> elo_in_words(EloConstants(step=16))
    'Constants: K = 16, α = 2, β = 6, T = 0.4 (published with SEP-Elo: K = 4, α = 2, β = 6, T = 0.4).'
    """
    used, published = map(_constants, (constants, EloConstants()))
    if used == published:
        return f"Constants: {used} (as published with SEP-Elo)."
    return f"Constants: {used} (published with SEP-Elo: {published})."


def _constants(constants: EloConstants) -> str:
    return ", ".join(f"{ELO_SYMBOLS[name]} = {value:g}" for name, value in vars(constants).items())


def counts_of(section: CriterionSection) -> tuple[PairCounts, ...]:
    """Return how often each system of each pair was preferred."""
    systems = section.systems
    return tuple((systems.counts or {}).values()) if systems else ()


def counts_lines(section: CriterionSection) -> tuple[str, ...]:
    """Return a line per pair, such as `a preferred 12, tied 2, b preferred 2 (of 16 ratings …)`."""
    has_ties = 0 in section.labels
    return tuple(_line(pair, has_ties=has_ties) for pair in counts_of(section))


def _line(pair: PairCounts, *, has_ties: bool) -> str:
    first, second = pair.systems
    parts = [f"{first} preferred {pair.first:,}", f"{second} preferred {pair.second:,}"]
    if has_ties:
        parts.insert(1, f"tied {pair.ties:,}")
    if pair.bad:
        parts.append(f"both bad {pair.bad:,}")
    ratings = counted(pair.ratings, "rating")
    people, items = counted(pair.raters, "annotator"), counted(pair.units, "item")
    return f"{', '.join(parts)} (of {ratings} by {people} on {items})"


def counts_sentence(pair: PairCounts, *, has_ties: bool) -> str:
    """Return the counts of a pair as a sentence of a text."""
    first, second = pair.systems
    parts = [f"{first} was preferred in {pair.first:,}", f"{second} in {pair.second:,}"]
    if has_ties:
        parts.append(f"neither in {pair.ties:,} (ties)")
    if pair.bad:
        parts.append(f"both were called bad in {pair.bad:,}")
    return (
        f"{counted(pair.raters, 'annotator')} gave {counted(pair.ratings, 'rating')} of"
        f" {counted(pair.units, 'comparison')}: {', '.join(parts[:-1])}, and {parts[-1]}."
    )


def ratings_in_words(report: Report) -> str:
    """Return how many ratings a report counts, annotators' and machine raters' apart."""
    sections = report.criteria.values()
    people, machines = (
        sum(getattr(one, n) for one in sections) for n in ("n_ratings", "n_machine_ratings")
    )
    by_people = f"{counted(people, 'rating')} by annotators"
    return f"{by_people} and {machines} by machine raters" if machines else by_people


def question_about(what: str, name: str) -> str:
    """Return a question with a name in it, which has one mark if the name is a question itself."""
    mark = "" if name.rstrip().endswith(("?", "!", "？")) else "?"
    return f"{what} “{name}”{mark}"


def named_instances(keys: Iterable[str]) -> str:
    """Return the names of instances, such as `instance a`; of many the first, after "such as"."""
    names = [*dict.fromkeys(keys)]
    noun = "instance" if len(names) == 1 else "instances"
    such_as = "such as " if len(names) > MAX_NAMED else ""
    return f"{such_as}{noun} {', '.join(names[:MAX_NAMED])}"


def preference_title(scale: Scale) -> str:
    """Return what a preference scale asks, named after the number of its answers."""
    n = len(scale.labels or ())
    return PREFERENCE_TITLES.get(n, f"Which is better, in {n} steps")


def scale_in_words(code: str) -> str:
    """Return what annotators could answer on a scale, for readers who do not know its code."""
    base, _, extra = code.strip().partition("+")
    if base in PREFERENCES:
        return preference_title(Scale.parse(base)).lower() + (
            ", or both are bad" if extra == BAD else ""
        )
    kind, _, rest = code.partition(":")
    low, _, high = rest.partition("..")
    if kind == "nominal":
        return f"one of the labels {', '.join(rest.split(','))}"
    if kind == "ordinal" and "," in rest:
        return f"one of {', '.join(rest.split(','))}, in this order"
    if kind == "ordinal":
        return f"a score from {low} to {high}"
    numbers = f"a number from {low} to {high}" if high else "any number"
    return numbers if kind == "interval" else "a number from 0 up"
