"""The alternative annotator test of each machine rater, as its page shows it."""

from dataclasses import dataclass

from tiebreak.digits import in_digits
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.reading.words import counted
from tiebreak.report.model.machines import AnnotatorTestSection
from tiebreak.report.model.report import CriterionSection

DECISION = (
    "This test informs whether a machine rater may take over the work of one annotator. It leaves out"
    " each annotator in turn and asks whether the machine's labels fit those of the other annotators"
    " at least as well as the labels of the annotator who was left out, give or take ε. The winning"
    " rate ω is the share of annotators that the machine may replace; the test is passed if ω is at"
    " least 0.5. The advantage probability ρ is how often the machine's label fits at least as well"
    " as the label of the annotator who was left out. A test that is not passed does not show that the"
    " machine is worse than annotators are. Where annotators disagree much, even a coin may pass it; a"
    " licence rules that out."
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
    replaced = round(test.winning_rate * test.annotators)
    of = f"{replaced} of these {counted(test.annotators, 'annotator')}"
    if test.passes:
        return f"Passed: the machine may replace {of}."
    return f"Not passed: the test allows replacing {of}."
