"""Cases of findings on machine raters."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import SIMILAR_RATERS, Case, of
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
    with_alpha,
)
from tiebreak.reading.annotator_tests import annotator_tests
from tiebreak.reading.coefficients import coefficients
from tiebreak.reading.findings import (
    perception_finding,
)
from tiebreak.reading.powered_rates import powered_rates
from tiebreak.report.model.machines import AnnotatorTestSection
from tiebreak.report.model.raters import ChanceCorrectedSection
from tiebreak.report.model.strata import PerceptionBin
from tiebreak.report.model.systems import PoweredSystem
from tiebreak.stats import Estimate

PASSED = "Passed: the machine may replace 3 of these 4 annotators."
FAILED = "Not passed: the test allows replacing 1 of these 4 annotators."
OF_FOUR = "these 4 annotators only."
FEW_SHARED = "2 annotators shared too few instances with others to be compared."


def replacing(rate: float, *, states: bool = True, left_out: int = 0, reason=None) -> str:
    test = AnnotatorTestSection(0.1, "agreement", rate, 0.6, 4, left_out, rate >= 0.5, reason)
    section = replace(base(machine=True), alternative_annotator_test={"judge": test})
    tests = annotator_tests(section, states_findings=states)
    return of(*(f"{row.outcome} {row.scope} {row.reason}" for row in tests.rows))


PREVAILS = (
    "α (0.10) and AC1 (0.60) disagree because one label prevails: it makes up 80% of the ratings. α"
    " then expects much agreement by chance, and AC1 little. Report both with that share. A high AC1"
    " does not show that annotators can tell the rare label from the frequent one."
)


def prevailing(ac1: Estimate, *, votes: int = 80, states: bool = True) -> str:
    listed = ChanceCorrectedSection(gwet_ac={"identity": ac1}, intraclass_correlation={})
    section = with_alpha(interval(0.0, 0.2))
    section = replace(section, chance_corrected=listed, votes={"-1": votes, "1": 100 - votes})
    return coefficients(section, states_findings=states).prevails


WORTH = "Worth as much as 300 ratings"


def powered(effective: float) -> str:
    rate = interval(0.5, 0.6)
    one = PoweredSystem(rate, rate, "judge", rate, {}, 200, effective, effective)
    systems = replace(base().systems, powered={"a": one})
    shown = powered_rates(replace(base(), systems=systems))
    return of(*(f"{row.best_worth}, {row.stack_worth}" for row in shown.rows), shown.scope)


MACHINES = (
    Case("passed", lambda: replacing(0.75), (PASSED, OF_FOUR), (FAILED, FEW_SHARED)),
    Case(
        "not passed, with annotators left out",
        lambda: replacing(0.25, left_out=2),
        (FAILED, FEW_SHARED),
        (PASSED,),
    ),
    Case(
        "a part, or a running study",
        lambda: replacing(0.75, states=False),
        (OF_FOUR,),
        (PASSED, FAILED),
    ),
    Case(
        "too few annotators for the test",
        lambda: replacing(0.75, reason=WHY),
        (WHY,),
        (PASSED, OF_FOUR),
    ),
    Case("one label prevails", lambda: prevailing(interval(0.5, 0.7)), (PREVAILS,)),
    Case("a small gap", lambda: prevailing(interval(0.2, 0.3)) + "-", ("-",), (PREVAILS,)),
    Case("no label prevails", lambda: prevailing(interval(0.5, 0.7), votes=60), (), (PREVAILS,)),
    Case("AC1 undefined", lambda: prevailing(UNDEFINED), (), (PREVAILS,)),
    Case(
        "one label prevails in a part",
        lambda: prevailing(interval(0.5, 0.7), states=False),
        (),
        (PREVAILS,),
    ),
    Case("a gain by machine raters", lambda: powered(300.4), (WORTH, SIMILAR_RATERS)),
    Case("no known gain", lambda: powered(float("nan")), (SIMILAR_RATERS,), (WORTH,)),
)


FEWER_TIES = "judge gives a tie in 10% of its ratings, and annotators give a tie in 40% of theirs."
TIES = "Annotators give a tie in 40% of their ratings."
SHOWN = "For each majority label of annotators, the figure shows all labels of its items."


VOTES = {"-1": 30, "0": 40, "1": 30}


def perception(machine_ties: float | None, *, scale: str = "preference:tie") -> str:
    has_machine = machine_ties is not None
    humans = {"-1": 0.3, "0": 0.4, "1": 0.3}
    of_machine = {"judge": {"-1": 0.5, "0": machine_ties or 0.0, "1": 0.4}}
    row = PerceptionBin("0", 1.0, humans, of_machine if has_machine else {})
    section = replace(base(machine=has_machine), scale=scale, perception=(row,), votes=VOTES)
    return of(*perception_finding(section))


def perception_of(machine: str) -> str:
    """Return the finding on one of two machines, of which `judge` gives fewer ties."""
    humans = {"-1": 0.3, "0": 0.4, "1": 0.3}
    machines = {"judge": {"-1": 0.5, "0": 0.1, "1": 0.4}, "gentle": humans}
    row = PerceptionBin("0", 1.0, humans, machines)
    section = replace(base(machine=True), perception=(row,), votes=VOTES)
    return of(*perception_finding(section, machine))


PERCEPTION = (
    Case("a machine with few ties", lambda: perception(0.1), (FEWER_TIES,), (TIES,)),
    Case(
        "a machine with half as many ties",
        lambda: perception(0.2),
        (f"Labels of annotators and machines by majority label | {SHOWN} {TIES}",),
        (FEWER_TIES,),
    ),
    Case(
        "one of two machines, with few ties",
        lambda: perception_of("judge"),
        (f"Labels of annotators and judge by majority label | {FEWER_TIES}",),
        (TIES, "Labels of annotators and machines by majority label"),
    ),
    Case(
        "the other machine, with as many ties as annotators",
        lambda: perception_of("gentle"),
        (f"Labels of annotators and gentle by majority label | {SHOWN} {TIES}",),
        (FEWER_TIES,),
    ),
    Case(
        "no machine",
        lambda: perception(None),
        (f"Labels by majority label | {SHOWN} {TIES}",),
        (FEWER_TIES, "Labels of annotators and machines by majority label"),
    ),
    Case(
        "a scale without ties",
        lambda: perception(0.1, scale="nominal:a,b"),
        (SHOWN,),
        (FEWER_TIES, TIES),
    ),
)
