"""Machine raters by stratum in a report document: agreement, Δ, and what may be concluded."""

from collections.abc import Iterator

from tiebreak.reading.document.content import Block, DataTable, Paragraph
from tiebreak.reading.document.estimates import estimate_in_words, mark_of, note_of
from tiebreak.reading.findings import stratum_name
from tiebreak.reading.messages import NO_FINDING_YET
from tiebreak.reading.stratum_findings import delta_finding
from tiebreak.reading.while_open import unreached
from tiebreak.reading.words import counted
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.stats import Estimate

COLUMNS = ("Stratum", "Items", "α among annotators", "α with one annotator", "Δ")


def machine_strata(about: CriterionSection) -> Iterator[Block]:
    """Yield a table for each machine rater, and what its Δ shows once a finding may be stated."""
    strata = [stratum for stratum in about.strata if stratum.n_units]
    for machine in sorted(about.all_units.machines):
        shown = [
            stratum
            for stratum in strata
            if stratum.stratifier == "all"
            or any(one.has_interval for one in _estimates(stratum, machine))
        ]
        yield _table(machine, shown)
        if left_out := len(strata) - len(shown):
            groups = counted(left_out, "further stratum", "further strata")
            yield Paragraph(
                f"{groups} of {machine} without any interval: the values and the reasons are in"
                " report.json."
            )
        yield Paragraph(NO_FINDING_YET if unreached(about) else delta_finding(about, machine))


def _estimates(stratum: StratumSection, machine: str) -> tuple[Estimate, ...]:
    groups = stratum.machines[machine]
    return (
        stratum.human_human.krippendorff_alpha,
        groups.single_human_machine.krippendorff_alpha,
        groups.delta.krippendorff_alpha,
    )


def _table(machine: str, strata: list[StratumSection]) -> DataTable:
    """Return the table, whose letters name who an estimate applies to or why it is missing."""
    by_stratum = [_estimates(stratum, machine) for stratum in strata]
    notes = list(dict.fromkeys(note_of(one) for estimates in by_stratum for one in estimates))

    def cell(estimate: Estimate) -> str:
        return f"{estimate_in_words(estimate)} [{mark_of(notes.index(note_of(estimate)))}]"

    return DataTable(
        f"{machine} by stratum: Krippendorff's α, and Δ, which is α among annotators minus α of the"
        " machine rater with their majority",
        COLUMNS,
        tuple(
            (
                stratum_name(stratum.stratifier, stratum.stratum),
                str(stratum.n_units),
                *map(cell, estimates),
            )
            for stratum, estimates in zip(strata, by_stratum, strict=True)
        ),
        " ".join(f"{mark_of(number)}: {note}" for number, note in enumerate(notes)),
    )
