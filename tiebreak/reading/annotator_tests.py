"""The alternative annotator test of each machine rater, as its page shows it."""

from dataclasses import dataclass
from math import ceil

from tiebreak.digits import in_digits
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.reading.words import counted
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
MATCHED = "shown to match {matched}; {needed} are needed"
NOT_PASSED = f"Not passed: {MATCHED}."
TOO_FEW = "too few ratings per annotator"
IS_AS_GOOD = (
    f"Not passed, {TOO_FEW}: its labels equal an annotator's as often ({{machine}}) as annotators' equal each"
    f" other's ({{people}}), but each annotator is compared on their own items alone. So it is {MATCHED}."
)
LESS_OFTEN = "less often than they do with each other"
IS_BELOW = f"Not passed: it agrees with annotators {LESS_OFTEN} ({{machine}} and {{people}}), and is {MATCHED}."
NOT_BEYOND_CHANCE = "no agreement beyond chance is shown"
NOT_STORED = (
    "The stored report was computed before this test was added. The next report will contain it."
)


@dataclass(frozen=True)
class TestRow:
    """One machine's test. `outcome` is empty where a page states no finding."""

    machine: str
    rate: str
    probability: str
    epsilon: str
    scope: str
    outcome: str
    reason: str


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
    if test.reason is not None:
        return TestRow(machine, "", "", in_digits(test.epsilon), "", "", test.reason)
    return TestRow(
        machine,
        in_digits(test.winning_rate),
        in_digits(test.advantage_probability),
        in_digits(test.epsilon),
        _scope(test),
        _outcome(section, machine, test) if states_findings else "",
        "",
    )


def _scope(test: AnnotatorTestSection) -> str:
    sentence = f"The share matched applies to these {counted(test.annotators, 'annotator')} only."
    if test.left_out:
        few = counted(test.left_out, "annotator")
        sentence += f" {few} shared too few instances with others to be compared."
    return sentence + READING_IF_DRAWN[test.speaks_of]


def _outcome(section: CriterionSection, machine: str, test: AnnotatorTestSection) -> str:
    """Return what the test shows, with the reason that the page's heading gives."""
    facts = {"matched": matched(test), "needed": needed(test)}
    if test.passes:
        passed = f"Passed: {MATCHED.format(**facts)}."
        chance = f"{NOT_BEYOND_CHANCE[:1].upper()}{NOT_BEYOND_CHANCE[1:]}, so it cannot stand in."
        return passed if is_beyond_chance(section, machine) else f"{passed} {chance}"
    found = (section.noise_ceiling or {}).get(machine)
    if found is None:
        return NOT_PASSED.format(**facts)
    why = IS_BELOW if is_below(found) else IS_AS_GOOD if is_as_good(found) else NOT_PASSED
    rates = {"machine": found.agreement.value, "people": found.annotators.value}
    return why.format(**facts, **{name: in_digits(rate) for name, rate in rates.items()})


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


def matched(test: AnnotatorTestSection) -> str:
    """Return how many of the annotators a machine rater is shown to match, less the allowance ε."""
    n = round(test.winning_rate * test.annotators)
    return f"{n} of {counted(test.annotators, 'annotator')}"


def needed(test: AnnotatorTestSection) -> int:
    """Return how many annotators a machine rater must match to pass the test."""
    return ceil(test.annotators / 2)
