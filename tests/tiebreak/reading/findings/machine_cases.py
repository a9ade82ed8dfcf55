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
from tiebreak.reading.annotator_tests import (
    NOT_BEYOND_CHANCE,
    TOO_FEW as FEW,
    annotator_tests,
)
from tiebreak.reading.coefficients import coefficients
from tiebreak.reading.findings import (
    perception_finding,
)
from tiebreak.reading.machine_findings import stand_in_finding
from tiebreak.reading.powered_rates import powered_rates
from tiebreak.report.model.machines import AnnotatorTestSection, NoiseCeiling
from tiebreak.report.model.raters import ChanceCorrectedSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import PerceptionBin
from tiebreak.report.model.systems import PoweredSystem
from tiebreak.report.sections.machines.alternative_annotators import TOO_MANY_VALUES
from tiebreak.stats import Estimate

PASSED = "Passed: shown to match 3 of 4 annotators; 2 are needed."
FAILED = "Not passed: shown to match 1 of 4 annotators; 2 are needed."
OF_FOUR = "these 4 annotators only."
FEW_SHARED = "2 annotators shared too few instances with others to be compared."


def replacing(rate: float, *, states: bool = True, left_out: int = 0, reason=None) -> str:
    test = AnnotatorTestSection(0.1, "agreement", rate, 0.6, 4, left_out, rate >= 0.5, reason)
    section = replace(
        base(machine=True), alternative_annotator_test={"judge": test}, noise_ceiling=None
    )
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


ABLE, NOT_SHOWN = "can stand in for these annotators", "No machine rater is shown to stand in"
MATCHES = "No: judge-0 is shown to match 1 of 4 annotators; standing in needs 2"
TOO_FEW = "Not shown that judge-0 can stand in: too few ratings per annotator"
BELOW = "All machine raters agree with annotators less often than they do with each other"
UNKNOWN = "Whether a machine rater can stand in is not known"


def standing_in(*rates: float, **judged) -> str:
    """Return the heading on as many machines as there are winning rates."""
    return stand_in_finding(section_with(*rates, **judged))[0]


def in_table(*rates: float, **judged) -> str:
    """Return what the table says of the first machine, below that heading."""
    return annotator_tests(section_with(*rates, **judged), states_findings=True).rows[0].outcome


def section_with(
    *rates: float,
    beyond_chance: bool = True,
    agreement: tuple[float, float] = (0.6, 0.7),
    reason: str | None = None,
    instances: str = "new",
) -> CriterionSection:
    section = base(machine=True)
    first, *rest = section.strata
    of_judge = first.machines["judge"]
    alpha = interval(0.1 if beyond_chance else -0.1, 0.6, instances=instances)
    single = replace(of_judge.single_human_machine, krippendorff_alpha=alpha)
    names = [f"judge-{n}" for n in range(len(rates))]
    machines = dict.fromkeys(names, replace(of_judge, single_human_machine=single))
    annotators, ceiling = interval(0.65, 0.75), Estimate(0.81, n=40)
    return replace(
        section,
        strata=(replace(first, machines=machines), *rest),
        noise_ceiling=dict.fromkeys(names, NoiseCeiling(interval(*agreement), annotators, ceiling)),
        alternative_annotator_test={
            name: AnnotatorTestSection(0.1, "agreement", rate, 0.6, 4, 0, rate >= 0.5, reason)
            for name, rate in zip(names, rates, strict=True)
        },
    )


STANDING_IN = (
    Case("one of two passes", lambda: standing_in(0.2, 0.7), (f"judge-1 {ABLE}",), (MATCHES,)),
    Case("three pass", lambda: standing_in(0.6, 0.7, 0.5), (f"3 machine raters {ABLE}",), ()),
    Case(
        "a passing machine agrees as a coin does",
        lambda: standing_in(0.7, beyond_chance=False),
        ("Not shown that judge-0 can stand in: no agreement beyond chance is shown",),
        (ABLE,),
    ),
    Case("none passes", lambda: standing_in(0.25), (MATCHES,), (ABLE, BELOW, UNKNOWN, NOT_SHOWN)),
    Case(
        "it is not shown that the one that does not pass agrees less often",
        lambda: in_table(0.25),
        ("0.65 against 0.70 between annotators; that it agrees less often is not shown.",),
        (),
    ),
    Case(
        "none passes, on drawn instances",
        lambda: standing_in(0.25, instances="dataset"),
        (f"{NOT_SHOWN}, over the dataset",),
        (ABLE, BELOW, MATCHES),
    ),
    Case(
        "the table's reason where a passing machine agrees as a coin does",
        lambda: in_table(0.7, beyond_chance=False).lower(),
        ("passed: shown to match 3 of 4 annotators; 2 are needed.", NOT_BEYOND_CHANCE),
    ),
    Case("the table's reason where none passes", lambda: in_table(0.25), (FAILED,)),
    Case(
        "the table's reason where the machine agrees as often as annotators do",
        lambda: in_table(0.25, agreement=(0.66, 0.8)),
        (
            f"0.73 against 0.70 between annotators; {FEW} to decide.",
            "shown to match 1 of 4 annotators; 2 are needed",
        ),
    ),
    Case(
        "the table's reason where all are below annotators",
        lambda: in_table(0.2, agreement=(0.4, 0.6)),
        (
            "0.50 against 0.70 between annotators: agrees less often.",
            "shown to match 1 of 4 annotators; 2 are needed",
        ),
    ),
    Case(
        "none passes, and the machine agrees as often as annotators do",
        lambda: standing_in(0.25, agreement=(0.66, 0.8)),
        (TOO_FEW,),
        (MATCHES, ABLE, BELOW, NOT_SHOWN),
    ),
    Case(
        "all are below annotators",
        lambda: standing_in(0.2, agreement=(0.4, 0.6)),
        (BELOW,),
        (ABLE, NOT_SHOWN),
    ),
    Case(
        "too few items for a test of any machine",
        lambda: standing_in(0.2, reason=WHY),
        (f"{UNKNOWN}: collect more ratings",),
        (ABLE, NOT_SHOWN, BELOW),
    ),
    Case(
        "a scale without a test",
        lambda: standing_in(0.2, reason=TOO_MANY_VALUES),
        (f"{UNKNOWN}: compare its agreement",),
        (ABLE, NOT_SHOWN, BELOW),
    ),
)

MACHINES = (
    *STANDING_IN,
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
