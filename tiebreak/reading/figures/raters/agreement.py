"""Figures of agreement by stratum: among annotators, and of a machine rater with them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tiebreak.reading.agreement_findings import NO_ALPHA_HEADING, agreement_finding
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import Figure, empty_figure, table_of
from tiebreak.reading.findings import (
    BY_LABELS,
    SAID_ABOVE,
    share_of,
    stratum_name,
)
from tiebreak.reading.messages import STRATA_BY_AGREEMENT
from tiebreak.reading.stratum_findings import chance_finding, delta_finding
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import MachineAgreement, StratumSection

STRATIFIERS = {
    "all": "All items",
    "agreement": "By agreement among annotators, of items with two ratings or more",
    "unique_labels": "By number of different labels, of items with two ratings or more",
    "category": "By category",
    "separability": "By how far the texts differ",
    "systems": "By system pair",
}
# The classifications that no rating decides, in the order in which pictures have them.
KINDS_OF_ITEM = ("separability", "systems", "category")
MAX_STRATA = 25
BANDS_OF_SEPARABILITY = (
    " Bands of separability are equally wide, from the smallest value of the column separability_raw of the ratings"
    " to the largest, or of separability where no item has the other. Each has its lower end, the last both."
)
AGREEMENT_READING = (
    "A point is Krippendorff's α in one group of items, and the line its 95% interval. 1 means that"
    " annotators always agree, 0 that they agree as often as chance predicts. Groups with a single"
    f" label have no α. {STRATA_BY_AGREEMENT}{BANDS_OF_SEPARABILITY}"
)
MACHINE_READING = (
    "In each group of items: ● agreement among annotators; ■ agreement of the machine with their"
    " majority label; □ agreement of the machine with one annotator drawn at random, which is the fair"
    " comparison with ●, because a majority is easier to agree with than a person; ○ agreement of the"
    " machine with itself over repeated runs in one order of the texts, if there are several. Judge the machine where"
    f" annotators agree with each other.{BANDS_OF_SEPARABILITY}"
)
DELTA_READING = (
    "Δ is the agreement among annotators minus the agreement of the machine with their majority."
    " Where the interval lies to the left of 0, the machine agrees with the majority more than"
    " annotators agree with each other. That alone does not show that it can replace an annotator."
)
Marks = Callable[[StratumSection], tuple[Mark, ...]]


def agreement_figure(section: CriterionSection) -> Figure:
    """Return α among annotators by stratum, so the α of all units is never shown alone."""
    finding, sentence = agreement_finding(section)
    rows = stratum_rows(
        section,
        lambda s: (Mark("human", s.human_human.krippendorff_alpha, "annotators"),),
        # Items that were grouped by their agreement would only show that they agree.
        ["all", *KINDS_OF_ITEM],
    )
    chart = interval_chart(rows, finding=finding, label="Krippendorff's α", reference=0)
    return Figure(
        "agreement",
        finding,
        sentence,
        chart,
        *table_of(rows, "stratum"),
        AGREEMENT_READING,
        title=NO_ALPHA_HEADING,
    )


def machine_figures(section: CriterionSection) -> list[Figure]:
    """Return agreement by stratum, and Δ by stratum, for each machine rater."""
    figures = []
    for number, machine in enumerate(sorted(section.all_units.machines), start=1):
        of_machine = (
            _machine_figure(section, machine, f"machine-{number}"),
            _delta_figure(section, machine, f"delta-{number}"),
        )
        figures += [replace(figure, machine=machine) for figure in of_machine]
    return figures


def _machine_figure(section: CriterionSection, machine: str, name: str) -> Figure:
    def marks(stratum: StratumSection) -> tuple[Mark, ...]:
        groups = stratum.machines[machine]
        with_itself = groups.machine_machine.krippendorff_alpha
        return (
            Mark("human", stratum.human_human.krippendorff_alpha, "among annotators"),
            *_with_annotators(groups),
            Mark("human-open", with_itself, "machine with itself"),
        )

    title = f"Agreement of {machine} with annotators, by kind of item"
    rows = stratum_rows(section, marks)
    chart = interval_chart(rows, finding=title, label="Krippendorff's α", reference=0)
    if not chart:
        return empty_figure(name, title, _reason(section.all_units.machines[machine]))
    return Figure(
        name,
        title,
        chance_finding(section, machine),
        chart,
        *table_of(rows, "stratum"),
        MACHINE_READING,
        title=title,
    )


def _with_annotators(groups: MachineAgreement) -> tuple[Mark, Mark]:
    majority = groups.human_machine.krippendorff_alpha
    single = groups.single_human_machine.krippendorff_alpha
    return (
        Mark("machine", majority, "majority and machine"),
        Mark("machine-open", single, "one annotator and machine"),
    )


def _delta_figure(section: CriterionSection, machine: str, name: str) -> Figure:
    title = f"Δ of {machine}: agreement among annotators minus agreement with the machine"
    rows = stratum_rows(
        section, lambda s: (Mark("machine", s.machines[machine].delta.krippendorff_alpha, "Δ"),)
    )
    chart = interval_chart(rows, finding=title, label="Δ of Krippendorff's α", reference=0)
    if not chart:
        return empty_figure(name, title, _reason(section.all_units.machines[machine]))
    return Figure(
        name,
        title,
        delta_finding(section, machine),
        chart,
        *table_of(rows, "stratum"),
        DELTA_READING,
        title=title,
    )


def _reason(groups: MachineAgreement) -> str:
    return groups.human_machine.krippendorff_alpha.reason or ""


def stratum_rows(
    section: CriterionSection, marks: Marks, stratifiers: Iterable[str] = STRATIFIERS
) -> list[IntervalRow]:
    """Return the strata under the headings of their stratifiers."""
    return [row for stratifier in stratifiers for row in _group(section, stratifier, marks)]


def _group(section: CriterionSection, stratifier: str, marks: Marks) -> Iterator[IntervalRow]:
    strata = [s for s in section.strata if s.stratifier == stratifier and s.n_units]
    if stratifier == "all":
        yield from (IntervalRow("All items", marks(stratum)) for stratum in strata)
    # Strata by labels say something even if all items are in one of them.
    elif len(strata) > 1 or (strata and stratifier in BY_LABELS):
        yield IntervalRow(STRATIFIERS[stratifier])
        for stratum in strata[:MAX_STRATA]:
            share = share_of(stratum, section.strata)
            name = stratum_name(stratifier, stratum.stratum, section.strata).noted(share)
            yield IntervalRow(name, marks(stratum), under=SAID_ABOVE)
