"""What may be concluded of one machine rater on all items and in groups of items, in sentences.

A sentence claims something of all items only. Groups are many, so some intervals lie to one side
by chance; where theirs lie is told, and that nothing follows from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isnan

from tiebreak.digits import in_digits
from tiebreak.reading.findings import scope_sentence, stratum_name
from tiebreak.report.model.fields import BY_KEY
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.stats import Estimate

MAX_NAMED, MAX_REASONS = 5, 3
ON = {
    "new": "On all items",
    "dataset": "Over the dataset",
    "selected": "On the selected instances",
    "these": "On these items",
}
DELTA = {
    "above": (
        "{on}, {whose} agree with each other more than {machine} agrees with their majority (Δ"
        " {numbers}), although a majority is easier to agree with than a person."
    ),
    "below": (
        "{on}, {machine} agrees with the majority more than {whose} agree with each other (Δ"
        " {numbers}). That does not show that it can replace an annotator, because a majority is easier"
        " to agree with than a person."
    ),
    "open": (
        "{on}, the interval of Δ includes 0 ({numbers}): neither a difference nor equal agreement is"
        " shown."
    ),
}
DELTA_OF_GROUPS = {
    "above": "The interval of Δ lies above 0 in {groups}.",
    "below": "The interval of Δ lies below 0 in {groups}.",
    "open": "The interval of Δ includes 0 in {groups}, where neither a difference nor equality is shown.",
}
CHANCE = {
    "above": "{on}, {machine} and one of {whose} agree beyond chance (α {numbers}).",
    "below": "{on}, {machine} and one of {whose} agree less than chance predicts (α {numbers}).",
    "open": (
        "{on}, the interval of α of {machine} with one annotator includes 0 ({numbers}): agreement"
        " beyond chance is not shown, and neither is that {machine} labels at random."
    ),
}
CHANCE_OF_GROUPS = {
    "above": "The interval of α with one annotator lies above 0 in {groups}.",
    "below": "The interval of α with one annotator lies below 0 in {groups}.",
    "open": "The interval of α with one annotator includes 0 in {groups}.",
}
DELTA_COMPARES = (
    "Whether it agrees less than annotators agree with each other is what Δ says, not whether lines"
    " overlap."
)
GUESSING = {
    "above": "{on}, {machine} gives the majority label of {whose} more often than random labels would"
    " ({numbers}).",
    "below": "{on}, {machine} gives the majority label of {whose} less often than random labels would"
    " ({numbers}).",
    "open": (
        "{on}, {machine} is not shown to give the majority label more often than random labels would"
        " ({numbers}). That does not show that it guesses."
    ),
}
GUESSING_IN_GROUPS = {
    "above": "It does so more often than random labels, by the interval of each group, in {groups}.",
    "below": "It does so less often than random labels, by the interval of each group, in {groups}.",
    "open": "The interval includes what random labels would reach in {groups}.",
}
NOTHING = "Nothing can be concluded about all items together. {reason}"
NO_INTERVAL = "There is no interval in {groups}. {reason}"
NO_INTERVAL_EITHER = "There is none in {groups} either, for reasons that the numbers below give."
ONE_OF_MANY = (
    "This sentence is about {machine} alone: of {n} machine raters, some lie to one side by chance."
)
MORE_GROUPS = "{named} and {n} more groups"
UNCORRECTED = (
    "Each interval applies to one group alone and is not corrected for the number of groups, which is {n}: of so"
    " many, some lie to one side by chance. Do not conclude that {machine} suits one kind of item better"
    " than another."
)
DESCRIBED = (
    "Groups by agreement or by number of different labels were chosen for how annotators agree: their"
    " values describe them, and nothing can be concluded from them."
)
Sentences = Mapping[str, str]


@dataclass(frozen=True)
class _Compared:
    """An estimate, and the values with which its interval is compared: 0, or what chance reaches."""

    estimate: Estimate
    low: float = 0.0
    high: float = 0.0

    @property
    def side(self) -> str:
        estimate = self.estimate
        if not estimate.has_interval or isnan(self.low):
            return "none"
        if estimate.low > self.high:
            return "above"
        return "below" if estimate.high < self.low else "open"


Compare = Callable[[StratumSection], _Compared]
Groups = Sequence[tuple[str, _Compared]]


def delta_finding(section: CriterionSection, machine: str) -> str:
    """Return whether annotators agree more with each other than the machine with their majority."""

    def compared(stratum: StratumSection) -> _Compared:
        return _Compared(stratum.machines[machine].delta.krippendorff_alpha)

    return _finding(section, machine, compared, DELTA, DELTA_OF_GROUPS)


def chance_finding(section: CriterionSection, machine: str) -> str:
    """Return whether the machine agrees with one annotator more than chance predicts."""

    def compared(stratum: StratumSection) -> _Compared:
        return _Compared(stratum.machines[machine].single_human_machine.krippendorff_alpha)

    return f"{_finding(section, machine, compared, CHANCE, CHANCE_OF_GROUPS)} {DELTA_COMPARES}"


def guessing_finding(section: CriterionSection, machine: str) -> str:
    """Return whether the machine gives the majority label more often than random labels would."""

    def compared(stratum: StratumSection) -> _Compared:
        groups = stratum.machines[machine]
        chance = groups.random_baseline.percentage_agreement
        ends = (chance.low, chance.high) if chance.has_interval else (chance.value, chance.value)
        return _Compared(groups.human_machine.percentage_agreement, *ends)

    return _finding(section, machine, compared, GUESSING, GUESSING_IN_GROUPS)


def _finding(
    section: CriterionSection,
    machine: str,
    compare: Compare,
    of_all: Sentences,
    of_groups: Sentences,
) -> str:
    groups = [
        (stratum_name(stratum.stratifier, stratum.stratum, section.strata), compare(stratum))
        for stratum in _groups(section)
    ]
    all_items = compare(section.all_units)
    parts = [_of_all(all_items, machine, of_all)]
    if (machines := len(section.all_units.machines)) > 1 and all_items.side in ("above", "below"):
        parts.append(ONE_OF_MANY.format(machine=machine, n=machines))
    parts += _where_intervals_lie(groups, of_groups)
    if any(one.side != "none" for _, one in groups):
        parts.append(UNCORRECTED.format(n=len(groups), machine=machine))
    return " ".join([*parts, DESCRIBED])


def _groups(section: CriterionSection) -> list[StratumSection]:
    """Return the groups that were not made from the labels, where there are several of a kind."""
    kinds = (
        [one for one in section.strata if one.stratifier == kind and one.n_units] for kind in BY_KEY
    )
    return list(chain.from_iterable(strata for strata in kinds if len(strata) > 1))


def _of_all(all_items: _Compared, machine: str, sentences: Sentences) -> str:
    estimate = all_items.estimate
    words = {
        "on": ON[estimate.scope.instances],
        "whose": "annotators" if estimate.scope.raters == "new" else "these annotators",
        "machine": machine,
    }
    if all_items.side == "none":
        return NOTHING.format(reason=estimate.reason)
    numbers = f"{in_digits(estimate.low)} to {in_digits(estimate.high)}"
    claim = sentences[all_items.side].format(numbers=numbers, **words)
    return f"{claim} {scope_sentence(estimate)}"


def _where_intervals_lie(groups: Groups, sentences: Sentences) -> Iterator[str]:
    for side, sentence in sentences.items():
        if names := [name for name, one in groups if one.side == side]:
            yield sentence.format(groups=_named(names))
    yield from _why_none(groups)


def _why_none(groups: Groups) -> Iterator[str]:
    """Yield the groups without an interval, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, one in groups:
        if one.side == "none":
            by_reason.setdefault(one.estimate.reason or "", []).append(name)
    reasons = list(by_reason.items())
    for reason, names in reasons[:MAX_REASONS]:
        yield NO_INTERVAL.format(groups=_named(names), reason=reason)
    if others := [name for _, names in reasons[MAX_REASONS:] for name in names]:
        yield NO_INTERVAL_EITHER.format(groups=_named(others))


def _named(names: list[str]) -> str:
    """Return the names, the first of them if there are many."""
    if len(names) > MAX_NAMED + 1:
        named = ", ".join(names[:MAX_NAMED])
        return MORE_GROUPS.format(named=named, n=len(names) - MAX_NAMED)
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
