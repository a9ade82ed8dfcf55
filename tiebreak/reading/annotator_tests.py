"""The alternative annotator test of each machine rater, as its page shows it."""

from dataclasses import dataclass
from math import ceil

from tiebreak.digits import counted, in_digits
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.model.machines import AnnotatorTestSection, NoiseCeiling
from tiebreak.report.model.report import CriterionSection

ASKS = (
    "The alternative annotator test leaves out each annotator in turn and asks whether the machine's labels are"
    " shown to fit the others' labels at least as well as this annotator's do, but for an allowance. It is passed if that"
    " is shown for at least half of the annotators."
)
DECISION = (
    "The share of annotators matched, called the winning rate ω, counts those whom the machine rater is shown to"
    " match, so half is needed. The allowance is called ε. Each annotator is compared on the items that they rated"
    " alone, and few items leave open whether the machine rater is as good. So a test that is not passed does not"
    " show that it is worse than annotators are. Where annotators disagree much, even a coin may pass the test; the"
    " test for each kind of item rules that out."
)
ADVANTAGE = (
    "How often its label fits at least as well as the label of the annotator who was left out is called the"
    " advantage probability ρ. It can be high while ω is low, because ω asks what is shown for each annotator alone."
)
PASSED, NOT_PASSED, NOT_TESTED, NOT_KNOWN = "Passed", "Not passed", "Not tested", "Not known"
UNDECIDED = "Undecided"
MATCHED = "shown to match {matched}; {needed} are needed"
TOO_FEW = "too few ratings per annotator"
RATES = "{machine} against {people} between annotators"  # how often labels equal an annotator's
IS_AS_GOOD = f"{RATES}; {TOO_FEW} to decide."
LESS_OFTEN = "less often than they do with each other"
IS_BELOW = f"{RATES}: agrees less often."
NOT_BEYOND_CHANCE = "no agreement beyond chance is shown"
IS_OPEN = f"{RATES}; that it agrees less often is not shown."
IS_CHANCE = f"{NOT_BEYOND_CHANCE.capitalize()}, so it cannot stand in."
OF_ALL_PLANNED = "It is stated of all ratings, once as many are there as were planned."
NOT_STORED = (
    "The stored report was computed before this test was added. The next report will contain it."
)


@dataclass(frozen=True)
class TestRow:
    """One machine's test: whether it is passed, how many annotators are matched, and why.

    Where a page states no finding, the state is that it is not known.
    """

    machine: str
    rate: str
    probability: str
    epsilon: str
    scope: str
    state: str
    matched: str
    needed: int
    why: str
    is_worse: bool = False

    @property
    def verdict(self) -> str:
        """Whether it may stand in, which is undecided where nothing is shown either way."""
        is_open = self.state == NOT_PASSED or self.why == IS_CHANCE
        return UNDECIDED if is_open and not self.is_worse else self.state

    @property
    def outcome(self) -> str:
        """What the test shows, in sentences, or an empty text."""
        if self.state not in (PASSED, NOT_PASSED):
            return ""
        shown = MATCHED.format(matched=self.matched, needed=self.needed)
        return f"{self.state}: {shown}. {self.why}".strip()

    @property
    def reason(self) -> str:
        """Why there is no test, or an empty text."""
        return self.why if self.state == NOT_TESTED else ""


@dataclass(frozen=True)
class AnnotatorTests:
    """What the page says about the test, with a row per machine; `missing` says why it has none."""

    rows: tuple[TestRow, ...]
    asks: str = ASKS
    decision: str = DECISION
    missing: str = ""


def annotator_tests(section: CriterionSection, *, states_findings: bool) -> AnnotatorTests | None:
    """Return the tests, or None where there is no machine or the report says why there is none."""
    tests = section.alternative_annotator_test
    if tests is None:
        is_older = (
            section.all_units.machines and "alternative_annotator_test" not in section.problems
        )
        return AnnotatorTests((), missing=NOT_STORED) if is_older else None
    rows = (_row(section, name, states_findings) for name in sorted(tests))
    return AnnotatorTests(tuple(rows))


def _row(section: CriterionSection, machine: str, states_findings: bool) -> TestRow:
    test = (section.alternative_annotator_test or {})[machine]
    epsilon = in_digits(test.epsilon)
    if test.reason is not None:
        return TestRow(machine, "", "", epsilon, "", NOT_TESTED, "", 0, test.reason)
    state, why = NOT_KNOWN, OF_ALL_PLANNED
    if states_findings:
        state, why = (PASSED if test.passes else NOT_PASSED), _why(section, machine, test)
    return TestRow(
        machine,
        in_digits(test.winning_rate),
        in_digits(test.advantage_probability),
        epsilon,
        _scope(test),
        state,
        matched(test),
        needed(test),
        why,
        state == NOT_PASSED and _is_worse(section, machine),
    )


def _scope(test: AnnotatorTestSection) -> str:
    sentence = f"The share matched applies to these {counted(test.annotators, 'annotator')} only."
    if test.left_out:
        few = counted(test.left_out, "annotator")
        sentence += f" {few} shared too few instances with others to be compared."
    return sentence + READING_IF_DRAWN[test.speaks_of]


def _why(section: CriterionSection, machine: str, test: AnnotatorTestSection) -> str:
    """Return what the number of annotators who are matched does not say, as the page's heading does."""
    if test.passes:
        return "" if is_beyond_chance(section, machine) else IS_CHANCE
    found = (section.noise_ceiling or {}).get(machine)
    if found is None:
        return ""
    why = IS_BELOW if is_below(found) else IS_AS_GOOD if is_as_good(found) else IS_OPEN
    rates = {"machine": found.agreement.value, "people": found.annotators.value}
    return why.format(**{name: in_digits(rate) for name, rate in rates.items()})


def is_beyond_chance(section: CriterionSection, machine: str) -> bool:
    """Return whether the machine rater is shown to agree with an annotator beyond chance."""
    alpha = section.all_units.machines[machine].single_human_machine.krippendorff_alpha
    return alpha.low > 0  # NaN without an interval


def is_below(found: NoiseCeiling) -> bool:
    """Return whether the intervals of both agreements, on the same items, do not even touch."""
    return found.agreement.high < found.annotators.low  # NaN without an interval


def is_as_good(found: NoiseCeiling) -> bool:
    """Return whether the machine rater agrees with an annotator as often as two annotators do."""
    return found.agreement.value >= found.annotators.value


def _is_worse(section: CriterionSection, machine: str) -> bool:
    found = (section.noise_ceiling or {}).get(machine)
    return found is not None and is_below(found)


def matched(test: AnnotatorTestSection) -> str:
    """Return how many of the annotators a machine rater is shown to match, less the allowance ε."""
    n = round(test.winning_rate * test.annotators)
    return f"{n:,} of {counted(test.annotators, 'annotator')}"


def needed(test: AnnotatorTestSection) -> int:
    """Return how many annotators a machine rater must match to pass the test."""
    return ceil(test.annotators / 2)
