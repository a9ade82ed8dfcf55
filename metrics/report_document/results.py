"""The results of a stored report as sections of a document. Nothing is computed anew here."""

from collections.abc import Iterator, Mapping

from metrics.dashboard import NAMES, section_of
from metrics.figures.of_report import figures_of
from metrics.findings import consistency_sets, stratum_name
from metrics.report_document.content import (
    Block,
    DataTable,
    DocumentSection,
    Figure,
    Paragraph,
)
from tiebreak.report import Report
from tiebreak.report.model import CriterionSection, RaterSets, SystemsSection
from tiebreak.stats import Estimate

COLUMNS = ("Statistic", "Estimate", "95% interval", "n", "Holds for")
INSTANCES = {
    "new": "similar instances",
    "dataset": "the whole dataset",
    "selected": "the selected instances",
    "these": "these instances",
}
# Shapes differ, because reports are printed without colours, too.
MARKS = {"human": "●", "human-open": "○", "machine": "■", "machine-open": "□"}
RATERS = {"new": "similar raters", "these": "these raters"}


def result_sections(report: Report) -> list[DocumentSection]:
    """Return a section for each criterion, with the findings that the dashboard states."""
    return [
        DocumentSection(f"Results: {name}", tuple(_blocks(name, report.criteria[name])))
        for name in report.criteria_order
    ]


def _blocks(name: str, about: CriterionSection) -> Iterator[Block]:
    shown = section_of(name, about)
    yield Paragraph(
        f"{about.n_units} items, {about.n_ratings} ratings by annotators, {about.n_machine_ratings} by"
        f" machine raters ({about.n_unparsed} unparsed). Scale: {about.scale}"
        f"{', inferred from the labels' if about.scale_inferred else ''}; level: {about.level}."
    )
    findings = [shown.wins, *shown.selection, shown.agreement, shown.sets, shown.separability]
    for finding in findings:
        if finding is not None:
            yield Paragraph(". ".join(part.rstrip(".") for part in finding if part) + ".")
    yield from _tables(about)
    yield from _figures(about)
    for part, why in shown.problems:
        yield Paragraph(f"{part}: not computed. {why}")


def _tables(about: CriterionSection) -> Iterator[Block]:
    if about.systems is not None and about.systems.win_rate:
        yield from _system_tables(about.systems)
    for pair in (about.selection or {}).values():
        caption = f"{pair.systems[0]} against {pair.systems[1]}, on drawn instances"
        estimates = {
            f"Weighted win rate of {pair.systems[0]}": pair.win_rate,
            "Win rate in the control sample": pair.win_rate_control,
            "Instances saved by drawing": pair.instances_saved,
            "Ratings saved by drawing": pair.ratings_saved,
        }
        yield estimate_table(caption, estimates)
    yield estimate_table(
        "Agreement among annotators", _named(about.all_units.human_human.estimates())
    )
    for machine, agreement in sorted(about.all_units.machines.items()):
        compared = _named(agreement.human_machine.estimates())
        yield estimate_table(f"{machine} and the annotators' majority label", compared)
    yield from _strata(about)
    # As on the pages: sets of one rating cannot contradict themselves, so they are left out.
    of_people = consistency_sets(about)
    if of_people is not None and of_people.n:
        yield _sets_table("Rating sets of annotators", of_people)
        for machine, sets in sorted(of_people.machines.items()):
            yield _sets_table(f"Rating sets of {machine}", sets)
    if about.bias is not None:
        estimates = {"Position: first shown preferred, − ½": about.bias.position}
        estimates["Length: longer preferred, − shorter preferred"] = about.bias.length
        for machine, bias in sorted(about.bias.machines.items()):
            estimates |= {f"{machine}, position": bias.position, f"{machine}, length": bias.length}
        yield estimate_table("Position and length bias", estimates)


def _named(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {NAMES[name]: estimate for name, estimate in estimates.items() if name in NAMES}


def _system_tables(systems: SystemsSection) -> Iterator[DataTable]:
    yield estimate_table("Win rates; a tie counts half", systems.win_rate)
    if systems.pairs:
        yield estimate_table("Win rate of the first system of each pair", systems.pairs)
    others = {
        "Bradley–Terry strengths": systems.bradley_terry,
        "Elo ratings": systems.elo,
        "Elo ratings weighted by separability": systems.sep_elo,
    }
    for machine, powered in sorted((systems.prediction_powered or {}).items()):
        others[f"Win rates, prediction-powered by {machine}"] = powered
    for caption, estimates in others.items():
        if estimates:
            yield estimate_table(caption, estimates)


def _sets_table(caption: str, sets: RaterSets) -> DataTable:
    estimates = {
        "Consistency": sets.consistency,
        "Inconsistent": sets.zero,
        "Inconsistent: both systems preferred": sets.contradictory,
        "Inconsistent: ties only": sets.all_ties,
        "Perfectly consistent": sets.perfect,
        "Preference strength (positive: B)": sets.preference_strength,
        "Spearman's ρ of δ and consistency": sets.spearman_separability,
    }
    return estimate_table(f"{caption} ({sets.n}; {sets.n_incomplete} incomplete)", estimates)


def _strata(about: CriterionSection) -> Iterator[Block]:
    """Yield agreement by stratum, without the strata that are too small for an interval."""
    strata = [stratum for stratum in about.strata if stratum.n_units]
    shown = {
        stratum_name(stratum.stratifier, stratum.stratum): stratum.human_human.krippendorff_alpha
        for stratum in strata
        if stratum.human_human.krippendorff_alpha.has_interval
    }
    if shown:
        yield estimate_table("Krippendorff's α of annotators by stratum", shown)
    if len(shown) < len(strata):
        yield Paragraph(
            f"{len(strata) - len(shown)} further strata have no interval, for the reasons that are in"
            " report.json with their values."
        )


def _figures(about: CriterionSection) -> Iterator[Figure]:
    for figure in figures_of(about):
        marks = ", ".join(f"{MARKS[kind]} {name}" for kind, name in figure.legend)
        caption = f"{figure.finding}. {marks}." if marks else f"{figure.finding}."
        yield Figure(figure.name, caption, figure.chart)


def estimate_table(caption: str, estimates: Mapping[str, Estimate]) -> DataTable:
    """Return estimates as a table; what is undefined has its reason in the last column."""
    return DataTable(caption, COLUMNS, tuple(_row(*item) for item in estimates.items()))


def _row(name: str, estimate: Estimate) -> tuple[str, ...]:
    if not estimate.is_defined:
        return (name, "undefined", "", str(estimate.n), estimate.reason or "")
    scope = f"{INSTANCES[estimate.scope.instances]}, {RATERS[estimate.scope.raters]}"
    if not estimate.has_interval:
        return (name, _digits(estimate.value), "none", str(estimate.n), estimate.reason or scope)
    interval = f"{_digits(estimate.low)} to {_digits(estimate.high)}"
    return (name, _digits(estimate.value), interval, str(estimate.n), scope)


def _digits(number: float) -> str:
    # Elo ratings and numbers of instances need no decimals beyond the first.
    return (f"{number:.3f}" if abs(number) < 10 else f"{number:.1f}").replace("-", "−")
