"""Cases of findings on one machine rater by stratum."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import THESE_RATERS, Case, figure_text
from tests.tiebreak.reading.findings.situations import (
    WHY,
    base,
    interval,
    sequence,
    watched,
    without_interval,
)
from tiebreak.reading.figures.machines.crossed_strata import share_figures
from tiebreak.reading.figures.of_part import of_part
from tiebreak.reading.figures.raters.agreement import machine_figures
from tiebreak.reading.stratum_findings import chance_finding, delta_finding, guessing_finding
from tiebreak.reading.while_open import while_unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.stats import Estimate

HIGH, LOW, AROUND = (
    interval(low, high, raters="these") for low, high in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1))
)
SURE, UNSURE, WORSE = (
    interval(low, high, raters="these") for low, high in ((0.6, 0.8), (0.3, 0.7), (0.1, 0.2))
)
DESCRIBED = (
    "Groups by agreement or by number of different labels were chosen for how annotators agree: their"
    " values describe them, and nothing can be concluded from them."
)


def with_estimate(stratum: StratumSection, estimate: Estimate, chance: Estimate) -> StratumSection:
    """Return a stratum in which Δ, α with one annotator and the share are this estimate."""
    groups = stratum.machines["judge"]
    changed = replace(
        groups,
        delta=replace(groups.delta, krippendorff_alpha=estimate),
        single_human_machine=replace(groups.single_human_machine, krippendorff_alpha=estimate),
        human_machine=replace(groups.human_machine, percentage_agreement=estimate),
        random_baseline=replace(groups.random_baseline, percentage_agreement=chance),
    )
    return replace(stratum, machines={"judge": changed})


def of_groups(
    every: Estimate, *groups: Estimate, chance: Estimate | None = None, name: str = "g"
) -> CriterionSection:
    """Return a section with these estimates of all items and of categories; chance reaches ½."""
    section, labels = base(machine=True), chance or without_interval(0.5)
    all_units = with_estimate(section.all_units, every, labels)
    categories = (
        replace(with_estimate(all_units, one, labels), stratifier="category", stratum=f"{name}{k}")
        for k, one in enumerate(groups, start=1)
    )
    by_agreement = [s for s in section.strata if s.stratifier == "agreement"]
    return replace(section, strata=(all_units, *by_agreement, *categories))


def delta(*estimates: Estimate) -> str:
    return delta_finding(of_groups(*estimates), "judge")


def chance(*estimates: Estimate) -> str:
    return chance_finding(of_groups(*estimates), "judge")


def guessing(*estimates: Estimate, reached: Estimate | None = None) -> str:
    return guessing_finding(of_groups(*estimates, chance=reached), "judge")


def delta_of_one_of_two(estimate: Estimate) -> str:
    section = of_groups(estimate)
    every = section.all_units
    both = replace(every, machines=every.machines | {"other": every.machines["judge"]})
    return delta_finding(replace(section, strata=(both, *section.strata[1:])), "judge")


def drawn(instances: str) -> str:
    return delta(interval(0.1, 0.2, instances=instances, raters="these"))


def figures_of(section: CriterionSection) -> str:
    figures = [*machine_figures(section), *share_figures(section)]
    return " ".join(figure_text(while_unreached(figure, section)) for figure in figures)


def part(section: CriterionSection) -> str:
    figures = [*machine_figures(section), *share_figures(section)]
    return " ".join(figure_text(of_part(figure, "category g1")) for figure in figures)


MORE_THAN = (
    "On all items, these annotators agree with each other more than judge agrees with their majority"
    " (Δ 0.10 to 0.20), although a majority is easier to agree with than a person."
)
LESS_THAN = (
    "On all items, judge agrees with the majority more than these annotators agree with each other (Δ"
    " −0.20 to −0.10). That does not show that it can replace an annotator, because a majority is easier"
    " to agree with than a person."
)
NOT_PARTED = (
    "On all items, the interval of Δ includes 0 (−0.10 to 0.10): neither a difference nor equal agreement"
    " is shown."
)
NOTHING = f"Nothing can be concluded about all items together. {WHY}"
ABOVE, BELOW = (
    "The interval of Δ lies above 0 in g1.",
    "The interval of Δ lies below 0 in g2 and g3.",
)
OPEN = "The interval of Δ includes 0 in g4, where neither a difference nor equality is shown."
MISSING = f"There is no interval in g5. {WHY}"
UNCORRECTED = (
    "Each interval applies to one group alone and is not corrected for the number of groups, which is 5: of so"
    " many, some lie to one side by chance. Do not conclude that judge suits one kind of item better than"
    " another."
)
MANY = "The interval of Δ lies above 0 in g1, g2, g3, g4, g5 and 2 more groups."
EITHER = "There is none in g4 either, for reasons that the numbers below give."
MIXED = (HIGH, LOW, LOW, AROUND, without_interval(0.1))
REASONS = tuple(Estimate(0.1, n=n, reason=f"There are only {n}.") for n in range(1, 5))

BEYOND = "On all items, judge and one of these annotators agree beyond chance (α 0.10 to 0.20)."
UNDER = "On all items, judge and one of these annotators agree less than chance predicts (α −0.20 to −0.10)."
NOT_BEYOND = (
    "On all items, the interval of α of judge with one annotator includes 0 (−0.10 to 0.10): agreement"
    " beyond chance is not shown, and neither is that judge labels at random."
)
OF_TWO = "This sentence is about judge alone: of 2 machine raters, some lie to one side by chance."
DELTA_SAYS = (
    "Whether it agrees less than annotators agree with each other is what Δ says, not whether lines"
    " overlap."
)
CHANCE_GROUPS = (
    "The interval of α with one annotator lies above 0 in g1.",
    "The interval of α with one annotator lies below 0 in g2 and g3.",
    "The interval of α with one annotator includes 0 in g4.",
)

OFTEN = (
    "On all items, judge gives the majority label of these annotators more often than random labels"
    " would (0.60 to 0.80)."
)
SELDOM = (
    "On all items, judge gives the majority label of these annotators less often than random labels"
    " would (0.10 to 0.20)."
)
MAYBE = (
    "On all items, judge is not shown to give the majority label more often than random labels would"
    " (0.30 to 0.70). That does not show that it guesses."
)
SHARE_GROUPS = (
    "It does so more often than random labels, by the interval of each group, in g1.",
    "It does so less often than random labels, by the interval of each group, in g2.",
    "The interval includes what random labels would reach in g3.",
)
NO_FINDING = "No finding is stated"

STRATA = (
    Case(
        "annotators agree more than the machine",
        lambda: delta(HIGH),
        (MORE_THAN, THESE_RATERS, DESCRIBED),
        (LESS_THAN, NOT_PARTED, NOTHING, UNCORRECTED, DELTA_SAYS, OF_TWO),
    ),
    Case(
        "the machine agrees more than annotators",
        lambda: delta(LOW),
        (LESS_THAN, THESE_RATERS),
        (MORE_THAN, NOT_PARTED),
    ),
    Case("Δ of one of two machines", lambda: delta_of_one_of_two(HIGH), (MORE_THAN, OF_TWO)),
    Case(
        "Δ of one of two machines that may be 0",
        lambda: delta_of_one_of_two(AROUND),
        (NOT_PARTED,),
        (OF_TWO,),
    ),
    Case("Δ may be 0", lambda: delta(AROUND), (NOT_PARTED,), (MORE_THAN, LESS_THAN)),
    Case(
        "Δ without an interval",
        lambda: delta(without_interval(0.4)),
        (NOTHING,),
        (MORE_THAN, LESS_THAN, NOT_PARTED, THESE_RATERS),
    ),
    Case(
        "Δ on selected instances",
        lambda: drawn("selected"),
        ("On the selected instances, these annotators agree with each other more than",),
        ("On all items, these annotators agree", "Over the dataset, these annotators agree"),
    ),
    Case(
        "Δ over the dataset",
        lambda: drawn("dataset"),
        ("Over the dataset, these annotators agree with each other more than",),
        (
            "On the selected instances, these annotators agree",
            "On these items, these annotators agree",
        ),
    ),
    Case(
        "Δ on these instances",
        lambda: drawn("these"),
        ("On these items, these annotators agree with each other more than",),
        ("On all items, these annotators agree",),
    ),
    Case(
        "Δ of new annotators on all items",
        lambda: delta(interval(0.1, 0.2)),
        ("On all items, annotators agree with each other more than judge",),
        ("On all items, these annotators agree", THESE_RATERS),
    ),
    Case(
        "groups with Δ on either side",
        lambda: delta(AROUND, *MIXED),
        (NOT_PARTED, ABOVE, BELOW, OPEN, MISSING, UNCORRECTED, DESCRIBED),
        (MORE_THAN, LESS_THAN),
    ),
    Case("a single group", lambda: delta(AROUND, HIGH), (NOT_PARTED,), (ABOVE, MANY, UNCORRECTED)),
    Case(
        "many groups on one side",
        lambda: delta(AROUND, *(HIGH,) * 7),
        (MANY,),
        (BELOW, OPEN, MISSING, EITHER),
    ),
    Case(
        "many reasons and no interval of any group",
        lambda: delta(AROUND, *REASONS),
        (EITHER,),
        (ABOVE, BELOW, OPEN, MISSING, "not corrected for the number of groups"),
    ),
    Case(
        "a machine beyond chance",
        lambda: chance(HIGH, *MIXED),
        (BEYOND, DELTA_SAYS, *CHANCE_GROUPS, MISSING, UNCORRECTED, DESCRIBED),
        (UNDER, NOT_BEYOND),
    ),
    Case("a machine under chance", lambda: chance(LOW), (UNDER,), (BEYOND, *CHANCE_GROUPS)),
    Case("a machine near chance", lambda: chance(AROUND), (NOT_BEYOND,), (BEYOND, UNDER)),
    Case(
        "a share above that of random labels",
        lambda: guessing(SURE, SURE, WORSE, UNSURE),
        (OFTEN, *SHARE_GROUPS),
        (SELDOM, MAYBE),
    ),
    Case("a share below", lambda: guessing(WORSE), (SELDOM,), (OFTEN, MAYBE, *SHARE_GROUPS)),
    Case("a share around", lambda: guessing(UNSURE), (MAYBE,), (OFTEN, SELDOM)),
    Case(
        "random labels that may reach as much",
        lambda: guessing(SURE, reached=interval(0.4, 0.65)),
        ("judge is not shown to give the majority label more often than random labels would",),
        (OFTEN, SELDOM),
    ),
    Case(
        "the figures of a machine",
        lambda: figures_of(of_groups(SURE)),
        ("agree with each other more than judge", "agree beyond chance (α 0.60 to 0.80)", OFTEN),
        (NO_FINDING,),
    ),
    Case(
        "the figures of a machine in a running study",
        lambda: figures_of(watched(of_groups(SURE), sequence(0.6, 0.8))),
        (NO_FINDING,),
        ("agree with each other more than judge", "agree beyond chance (α", OFTEN, DESCRIBED),
    ),
    Case(
        "the figures of a machine in a part of the ratings",
        lambda: part(of_groups(SURE)),
        ("Labels of judge that equal annotators' labels: category g1",),
        ("agree with each other more than judge", "agree beyond chance (α", OFTEN, DESCRIBED),
    ),
)
