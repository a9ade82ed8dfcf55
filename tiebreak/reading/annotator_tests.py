"""The alternative annotator test of each machine rater, as its page shows it."""

from dataclasses import dataclass
from math import ceil

from tiebreak.digits import in_digits
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.reading.words import counted
from tiebreak.report.model.machines import AnnotatorTestSection
from tiebreak.report.model.report import CriterionSection

ASKS = (
    "The alternative annotator test leaves out each annotator in turn and asks whether the machine's labels are"
    " shown to fit the others' labels at least as well as this annotator's do, give or take ε. It is passed if that"
    " is shown for at least half of the annotators."
)
DECISION = (
    "The winning rate ω is the share of annotators whom the machine rater is shown to match, so half is needed. The"
    " advantage probability ρ is how often its label fits at least as well as the label of the annotator who was"
    " left out. It can be high while ω is low: each annotator is compared on the items that they rated alone, and"
    " few items leave open whether the machine rater is as good. So a test that is not passed does not show that it"
    " is worse than annotators are. Where annotators disagree much, even a coin may pass the test; a licence rules"
    " that out."
)
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
    rows = (_row(name, test, states_findings) for name, test in sorted(tests.items()))
    return AnnotatorTests(tuple(rows))


def _row(machine: str, test: AnnotatorTestSection, states_findings: bool) -> TestRow:
    if test.reason is not None:
        return TestRow(machine, "", "", in_digits(test.epsilon), "", "", test.reason)
    return TestRow(
        machine,
        in_digits(test.winning_rate),
        in_digits(test.advantage_probability),
        in_digits(test.epsilon),
        _scope(test),
        _outcome(test) if states_findings else "",
        "",
    )


def _scope(test: AnnotatorTestSection) -> str:
    sentence = f"ω applies to these {counted(test.annotators, 'annotator')} only."
    if test.left_out:
        few = counted(test.left_out, "annotator")
        sentence += f" {few} shared too few instances with others to be compared."
    return sentence + READING_IF_DRAWN[test.speaks_of]


def _outcome(test: AnnotatorTestSection) -> str:
    verdict = "Passed" if test.passes else "Not passed"
    return f"{verdict}: shown to match {matched(test)}; {needed(test)} are needed."


def matched(test: AnnotatorTestSection) -> str:
    """Return how many of the annotators a machine rater is shown to match, less the allowance ε."""
    n = round(test.winning_rate * test.annotators)
    return f"{n} of {counted(test.annotators, 'annotator')}"


def needed(test: AnnotatorTestSection) -> int:
    """Return how many annotators a machine rater must match to pass the test."""
    return ceil(test.annotators / 2)
