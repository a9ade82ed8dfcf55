"""What an annotator's answers show about how they were given: time, agreement and patterns.

These numbers are evidence, not a verdict. None of them depends on which system was preferred, so
that a researcher can decide about an annotator without looking at the outcome.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import geometric_mean
from typing import Any

import scipy
from django.db.models import QuerySet

from annotation.models import Participation, Rater, Rating
from annotation.services.screening import CheckRecord, check_record, check_records
from annotation.views.unit_presentation import Choice, choice_as_shown
from studies.models import Unit, texts_of
from tiebreak.digits import duration, percent

# Only the newest answers are looked at so that the page of a tireless annotator opens.
MAX_ANSWERS = 2000
# A page of many annotators looks at no more answers than these, which take a third of a second.
MAX_AT_ONCE = 2000
# Average adults read 238 words of non-fiction a minute, and hardly any over 600 (Brysbaert 2019).
FAST_WORDS_PER_MINUTE = 600
# The least numbers from which a person should look. Rules with a probability need none.
FEW_FAST = 3
FEW_TIMES = 5
FEW_PAIRS = 20
FEW_REPEATS = 4
# Prolific lets researchers reject who failed two attention checks.
FEW_FAILED = 2
UNLIKELY = 0.001
NO_CHECKS = CheckRecord(0, 0)


@dataclass(frozen=True)
class Sign:
    """One number about an annotator, and the same number about others on the same units.

    `value` is None if nothing is known. `is_unusual` says that a person should look, by the rule
    in `rule`, not that anything is wrong.
    """

    name: str
    value: float | None
    n: int
    others: float | None = None
    is_unusual: bool = False
    rule: str = ""
    is_share: bool = True

    @property
    def said(self) -> str:
        """The number in a few words, for a table; only of a sign that has one."""
        value, others = (
            None if one is None else percent(one) if self.is_share else duration(one)
            for one in (self.value, self.others)
        )
        return SAID[self.name].format(value=value, others=others, n=self.n)


SAID = {
    "seconds": "{value} s an answer; on the same items, others took {others} s",
    "fast": f"{{value}} of the answers were faster than {FAST_WORDS_PER_MINUTE} words a minute",
    "agreement": "{value} agreement with others; on the same items, others agree in {others}",
    "repeats": "{value} of {n} repeated items were answered the same way",
    "checks": "{value} of {n} gold checks were failed",
    "first-text": "{value} of the preferences were for the text shown first",
    "run": "one choice was made {value} times in a row",
}


@dataclass(frozen=True)
class Evidence:
    """The signs of one participation, computed from its newest `answers`.

    `translated` of them were given on a page that the browser had translated.
    """

    answers: int
    translated: int
    checks: CheckRecord
    signs: tuple[Sign, ...]

    def sign(self, name: str) -> Sign:
        return next(sign for sign in self.signs if sign.name == name)


def evidence_of(participation: Participation) -> Evidence:
    """Return the evidence about a participation, excluded ratings included, in three statements."""
    rows = list(_answers_of([participation.pk])[:MAX_ANSWERS])[::-1]
    checks = check_record(participation)
    return Evidence(
        answers=len(rows),
        translated=sum(map(is_translated, rows)),
        checks=checks,
        signs=_signs(rows, _by_unit(rows), checks),
    )


def are_too_many(people: Collection[int] | QuerySet[Any, Any]) -> bool:
    """Whether participations, by their ids, gave more than `MAX_AT_ONCE` answers, which no page looks at."""
    return bool(_answers_of(people).order_by()[MAX_AT_ONCE:].exists())


def worth_a_look(people: Collection[Participation]) -> dict[int, list[Sign]]:
    """Return the unusual signs of those participations of a study that have any, by their ids.

    The rules are those of their own pages. Excluded people need no look any more, and if the others
    `are_too_many`, nobody gets one. Takes few statements.
    """
    raters = {one.pk: one.rater_id for one in people if one.status != Participation.Status.EXCLUDED}
    return {} if not raters or are_too_many(raters) else unusual_signs(people)


def unusual_signs(people: Collection[Participation]) -> dict[int, list[Sign]]:
    """Return the same of people who are known not to be too many."""
    raters = {one.pk: one.rater_id for one in people if one.status != Participation.Status.EXCLUDED}
    newest = _answers_of(raters)
    by_unit, answers = _by_unit(newest), defaultdict(list)
    for row in newest:
        answers[row.assignment.participation_id].append(row)
    study = next((one.study_id for one in people), "")
    checks = check_records(study, raters=set(raters.values()))
    found = {
        person: _signs(rows[:MAX_ANSWERS][::-1], by_unit, checks.get(raters[person], NO_CHECKS))
        for person, rows in answers.items()
    }
    unusual = {person: [one for one in signs if one.is_unusual] for person, signs in found.items()}
    return {person: signs for person, signs in unusual.items() if signs}


def _answers_of(participations: Collection[int] | QuerySet[Any, Any]) -> Any:
    """Return the answers of participations, of each the newest first."""
    main = Rating.objects.filter(
        assignment__participation__in=participations, unit__role=Unit.Role.MAIN, superseded=False
    )
    rows = main.select_related("criterion", "assignment", "unit")
    in_order = rows.order_by("-assignment__position", "-position", "-pk")
    return in_order.prefetch_related(texts_of("unit__texts"))


def _by_unit(rows: Iterable[Rating]) -> dict[int, list[Rating]]:
    """Return the annotators' ratings in the statistics of what the rows rate, by unit."""
    people = Rating.objects.in_statistics().filter(rater__kind=Rater.Kind.HUMAN)
    fields = ("unit", "criterion", "rater", "label", "duration_ms")
    by_unit: dict[int, list[Rating]] = defaultdict(list)
    for row in people.filter(unit__in={row.unit_id for row in rows}).only(*fields):
        by_unit[row.unit_id].append(row)
    return by_unit


def _signs(
    rows: list[Rating], by_unit: Mapping[int, list[Rating]], checks: CheckRecord
) -> tuple[Sign, ...]:
    """Return the signs of one annotator's answers, from the first on."""
    first = [row for row in rows if not row.repeat]
    units, raters = {row.unit_id for row in first}, {row.rater_id for row in rows}
    rated = (other for unit in units for other in by_unit.get(unit, ()))
    others = [other for other in rated if other.rater_id not in raters]
    shown = [
        (row, choice_as_shown(row.label, row.criterion, a_first=is_first(row)))
        for row in first
        if row.label is not None
    ]
    return (
        _time(first, others),
        _speed(first),
        _agreement(first, others),
        _consistency(rows),
        _checks(checks),
        _first_text(shown),
        _run(shown),
    )


def _time(rows: list[Rating], others: list[Rating]) -> Sign:
    theirs, usual = typical_seconds(rows), typical_seconds(others)
    timed = sum(row.duration_ms is not None for row in rows)
    is_unusual = (
        theirs is not None and usual is not None and timed >= FEW_TIMES and theirs < usual / 3
    )
    rule = f"less than a third of the others' time, in at least {FEW_TIMES} answers"
    return Sign("seconds", theirs, timed, usual, is_unusual, rule, is_share=False)


def _speed(rows: list[Rating]) -> Sign:
    """Return the share of answers given too quickly for the compared texts to have been read."""
    timed = [(_words(row.unit), row.duration_ms) for row in rows if row.duration_ms is not None]
    fast = sum(words > FAST_WORDS_PER_MINUTE * ms / 60_000 for words, ms in timed)
    share = _share(fast, len(timed))
    is_unusual = share is not None and fast >= FEW_FAST and share > 0.1
    rule = f"more than a tenth of the answers, and at least {FEW_FAST}"
    return Sign("fast", share, len(timed), None, is_unusual, rule)


def _words(unit: Unit) -> int:
    return sum(len(generation.text.split()) for generation in unit.generations)


def _agreement(rows: list[Rating], others: list[Rating]) -> Sign:
    theirs, usual = pair_agreement(rows, others), pair_agreement(others, others)
    value, n = theirs.share, theirs.pairs
    is_unusual = (
        value is not None
        and usual.share is not None
        and n >= FEW_PAIRS
        and value < usual.share - 0.2
    )
    rule = f"20 percentage points below the others, in at least {FEW_PAIRS} pairs of answers"
    return Sign("agreement", value, n, usual.share, is_unusual, rule)


def _consistency(rows: list[Rating]) -> Sign:
    """Return the share of planned repeats that were answered like the first time."""
    labelled = [row for row in rows if row.label is not None]
    first = {(row.unit_id, row.criterion_id): row.label for row in labelled if not row.repeat}
    again = [
        (row.label, first[row.unit_id, row.criterion_id])
        for row in labelled
        if row.repeat and (row.unit_id, row.criterion_id) in first
    ]
    share = _share(sum(one == other for one, other in again), len(again))
    is_unusual = share is not None and len(again) >= FEW_REPEATS and share < 0.5
    rule = f"fewer than half of at least {FEW_REPEATS}"
    return Sign("repeats", share, len(again), None, is_unusual, rule)


def _checks(record: CheckRecord) -> Sign:
    share = _share(record.failed, record.of)
    is_unusual = share is not None and record.failed >= FEW_FAILED and share > 0.2
    rule = f"more than a fifth, and at least {FEW_FAILED}"
    return Sign("checks", share, record.of, None, is_unusual, rule)


def _first_text(shown: Sequence[tuple[Rating, Choice]]) -> Sign:
    sides = [choice.side for _, choice in shown if choice.side]
    n = len(sides)
    first = sides.count("first")
    share = _share(first, n)
    is_unusual = bool(n and scipy.stats.binomtest(first, n).pvalue < UNLIKELY)
    rule = f"chance alone would give so uneven a share with p < {UNLIKELY}"
    return Sign("first-text", share, n, None, is_unusual, rule)


def _run(shown: Sequence[tuple[Rating, Choice]]) -> Sign:
    """Return the longest run of one choice, as shown, in answers to one question."""
    by_criterion: dict[int, list[str]] = defaultdict(list)
    for row, choice in shown:
        by_criterion[row.criterion_id].append(choice.value)
    runs = [(longest_run(values), values) for values in by_criterion.values()]
    length, values = max(runs, key=lambda run: run[0], default=(None, []))
    is_unusual = length is not None and is_unlikely_run(length, values)
    rule = f"a random order would give so long a run with p < {UNLIKELY}"
    return Sign("run", length, len(values), None, is_unusual, rule, is_share=False)


def longest_run(values: Iterable[str]) -> int:
    return max((len(list(group)) for _, group in groupby(values)), default=0)


def is_unlikely_run(length: int, values: Sequence[str]) -> bool:
    """Whether so long a run is unlikely to occur anywhere if the same choices are shuffled.

    The bound is Boole's, over the places where a run can begin: the probability that the next
    `length` answers are equal is as in drawing them without replacement.
    """
    n = len(values)
    probability = 0.0
    for choice in set(values):
        k, equal = values.count(choice), 1.0
        for drawn in range(length):
            equal *= max(0, k - drawn) / (n - drawn)
        probability += (n - length + 1) * equal
    return n > 0 and probability < UNLIKELY


def is_first(row: Rating) -> bool:
    """Whether the text of system A was shown first, or on the left."""
    return row.side_a in {"left", "first", ""}


def is_translated(row: Rating) -> bool:
    return row.layout.endswith("_translated")


@dataclass(frozen=True)
class PairAgreement:
    """The share of pairs of answers that are equal, None if there is no pair."""

    share: float | None
    pairs: int


def pair_agreement(rows: Iterable[Rating], others: Iterable[Rating]) -> PairAgreement:
    """Compare the labels in pairs of answers by two raters to one unit and criterion."""
    by_question: dict[tuple[int, int], list[Rating]] = defaultdict(list)
    for other in others:
        by_question[other.unit_id, other.criterion_id].append(other)
    are_equal = [
        row.label == other.label
        for row in rows
        for other in by_question[row.unit_id, row.criterion_id]
        if other.rater_id != row.rater_id and None not in (row.label, other.label)
    ]
    return PairAgreement(_share(sum(are_equal), len(are_equal)), len(are_equal))


def typical_seconds(rows: Iterable[Rating]) -> float | None:
    """Return the geometric mean time per answer, which results show, too."""
    times = [max(row.duration_ms, 1) / 1000 for row in rows if row.duration_ms is not None]
    return geometric_mean(times) if times else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
