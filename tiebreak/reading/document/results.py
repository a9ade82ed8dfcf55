"""The results of a stored report as sections of a document. Nothing is computed anew here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan

from tiebreak.digits import counted, in_digits
from tiebreak.reading.document.content import Block, DataTable, DocumentSection, Figure, Paragraph
from tiebreak.reading.document.estimates import estimate_in_words, estimate_table, mark_of, note_of
from tiebreak.reading.document.nonresponse import nonresponse_tables
from tiebreak.reading.document.section_tables import in_order, tables, tables_of, what_is_left_out
from tiebreak.reading.document.set_aside import set_aside_table
from tiebreak.reading.figures.figure import Figure as Drawn
from tiebreak.reading.figures.of_report import figures_by_section
from tiebreak.reading.figures.systems.success_rates import taus_of
from tiebreak.reading.findings import consistency_sets, stratum_name
from tiebreak.reading.messages import NO_FINDING_YET
from tiebreak.reading.shown import (
    NAMES,
    NAMES_WITH_MACHINE,
    Section,
    bias_estimates,
    scores_of,
    section_of,
    set_estimates,
)
from tiebreak.reading.stratum_findings import delta_finding
from tiebreak.reading.while_open import unreached
from tiebreak.reading.words import counts_of, scale_in_words
from tiebreak.report import Report
from tiebreak.report.model.raters import RaterSets
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.report.model.success import KnownOrder, SuccessRates
from tiebreak.report.model.systems import PairCounts, SystemsSection
from tiebreak.report.registry import part_title
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
        yield _table(machine, shown, about.strata)
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


def _table(
    machine: str, strata: list[StratumSection], among: tuple[StratumSection, ...]
) -> DataTable:
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
                stratum_name(stratum.stratifier, stratum.stratum, among),
                str(stratum.n_units),
                *map(cell, estimates),
            )
            for stratum, estimates in zip(strata, by_stratum, strict=True)
        ),
        " ".join(f"{mark_of(number)}: {note}" for number, note in enumerate(notes)),
    )


# Shapes differ, because reports are also printed without colours.
COUNTS_CAPTION = "How often the first or the second system of each pair was preferred"


def result_sections(report: Report) -> list[DocumentSection]:
    """Return a section for each criterion, with the findings that the dashboard states."""
    return [
        DocumentSection(f"Results: {name}", tuple(_blocks(name, report.criteria[name])))
        for name in report.criteria_order
    ]


def _blocks(name: str, about: CriterionSection) -> Iterator[Block]:
    """Yield section by section what was found, the figures of it, and then the tables."""
    shown, figures = section_of(name, about), figures_by_section(about)
    seen, findings = set(figures), _findings_by_section(shown)
    yield Paragraph(_size(about))
    if shown.nonresponse_leads:
        yield from findings.pop("nonresponse")
    for section in dict.fromkeys([*in_order(), *figures]):
        yield from findings.get(section, ())
        yield from captioned(figures.get(section, ()))
        tables = list(tables_of(section, about))
        yield from tables
        seen |= {section} if tables else set()
    for part, why in shown.problems:
        yield Paragraph(f"{part}: not computed. {why}")
    yield from map(Paragraph, what_is_left_out(about, seen))


def _findings_by_section(shown: Section) -> dict[str, list[Paragraph]]:
    found: dict[str, Sequence[tuple[str, str] | None]] = {
        "systems": [shown.wins],
        "selection": shown.selection,
        "strata": [shown.agreement],
        "rating_sets": [shown.sets, shown.separability],
        "nonresponse": [shown.nonresponse],
    }
    return {
        name: [_in_sentences(finding) for finding in findings if finding is not None]
        for name, findings in found.items()
    }


def _in_sentences(finding: tuple[str, str]) -> Paragraph:
    return Paragraph(". ".join(part.rstrip(".") for part in finding if part) + ".")


def _size(about: CriterionSection) -> str:
    """Return how many ratings of which kind a criterion has, and on which scale."""
    items, ratings = counted(about.n_units, "item"), counted(about.n_ratings, "rating")
    machines = counted(about.n_machine_ratings, "rating") if about.n_machine_ratings else ""
    text = f"{items}, {ratings} by annotators{f', {machines} by machine raters' * bool(machines)}"
    if about.n_unparsed:
        text += f", {counted(about.n_unparsed, 'answer')} of machine raters that could not be read"
    inferred = ", inferred from the labels" if about.scale_inferred else ""
    return f"{text}. Scale: {scale_in_words(about.scale)}{inferred}; treated as {about.level}."


@tables("systems")
def _systems(about: CriterionSection) -> Iterator[Block]:
    if about.systems is not None and about.systems.win_rate:
        yield from _counts_table(about)
        yield from _system_tables(about.systems)


@tables("success_rates")
def _success_rates(about: CriterionSection) -> Iterator[Block]:
    if about.success_rates is not None:
        yield from _success_tables(about.success_rates)


@tables("selection")
def _selection(about: CriterionSection) -> Iterator[Block]:
    for pair in (about.selection or {}).values():
        caption = f"{pair.systems[0]} against {pair.systems[1]}, on drawn instances"
        estimates = {
            f"Weighted win rate of {pair.systems[0]}": pair.win_rate,
            "Win rate in the control sample": pair.win_rate_control,
            "Instances saved by drawing": pair.instances_saved,
            "Ratings saved by drawing": pair.ratings_saved,
        }
        yield estimate_table(caption, estimates)


@tables("strata")
def _agreement(about: CriterionSection) -> Iterator[Block]:
    yield estimate_table(
        "Agreement among annotators", _named(about.all_units.human_human.estimates())
    )
    for machine, agreement in sorted(about.all_units.machines.items()):
        compared = _named(agreement.human_machine.estimates(), NAMES_WITH_MACHINE)
        yield estimate_table(f"{machine} and the annotators' majority label", compared)
    yield from _strata(about)
    yield from machine_strata(about)


@tables("rating_sets")
def _rating_sets(about: CriterionSection) -> Iterator[Block]:
    # As on the pages: sets of one rating cannot be mixed, so they are left out.
    of_people = consistency_sets(about)
    if of_people is not None and of_people.n:
        yield _sets_table("Rating sets of annotators", of_people)
        for machine, sets in sorted(of_people.machines.items()):
            yield _sets_table(f"Rating sets of {machine}", sets)


@tables("set_aside")
def _set_aside(about: CriterionSection) -> Iterator[Block]:
    if (aside := set_aside_table(about)) is not None:
        yield aside


@tables("nonresponse")
def _nonresponse(about: CriterionSection) -> Iterator[Block]:
    yield from nonresponse_tables(about)


@tables("bias")
def _bias(about: CriterionSection) -> Iterator[Block]:
    if about.bias is not None:
        yield estimate_table(part_title("bias"), bias_estimates(about.bias))


def _named(
    estimates: Mapping[str, Estimate], names: Mapping[str, str] = NAMES
) -> dict[str, Estimate]:
    return {names[name]: estimate for name, estimate in estimates.items() if name in names}


def _counts_table(about: CriterionSection) -> Iterator[DataTable]:
    """Yield how often each system of each pair was preferred."""
    columns: dict[str, Callable[[PairCounts], str]] = {
        "Pair": lambda pair: " and ".join(pair.systems),
        "First": lambda pair: f"{pair.first:,}",
        "Tied": lambda pair: f"{pair.ties:,}",
        "Second": lambda pair: f"{pair.second:,}",
        "Both bad": lambda pair: f"{pair.bad:,}",
        "Ratings": lambda pair: f"{pair.ratings:,}",
        "Annotators": lambda pair: f"{pair.raters:,}",
        "Items": lambda pair: f"{pair.units:,}",
    }
    pairs = counts_of(about)
    if 0 not in about.labels:
        del columns["Tied"]
    if not any(pair.bad for pair in pairs):
        del columns["Both bad"]
    rows = tuple(tuple(cell(pair) for cell in columns.values()) for pair in pairs)
    if rows:
        yield DataTable(COUNTS_CAPTION, tuple(columns), rows)


def _system_tables(systems: SystemsSection) -> Iterator[DataTable]:
    for title, scored in scores_of(systems).items():
        if scored is systems.win_rate or scored is systems.bradley_terry:
            yield estimate_table(title, scored)
        if scored is systems.win_rate and systems.pairs:
            yield estimate_table("Win rate of the first system of each pair", systems.pairs)
    if systems.differences:
        differences = {name: one.difference for name, one in systems.differences.items()}
        yield estimate_table(
            "Win rate of the first system of each pair minus the second's", differences
        )
        rows = tuple(
            (name, *("undefined" if isnan(m) else in_digits(m) for m in margins))
            for name, one in systems.differences.items()
            for margins in [
                (one.equivalent_within, one.first_not_worse_by, one.second_not_worse_by)
            ]
        )
        columns = ("Pair", "Equally good within", "First not worse by", "Second not worse by")
        yield DataTable(
            "Smallest margins of equivalence and non-inferiority by these intervals", columns, rows
        )
    yield from _known_order_table(systems.known_order)


def _known_order_table(known: KnownOrder | None) -> Iterator[DataTable]:
    if known is not None:
        caption = f"Kendall's τ with the known order {', '.join(known.order)}"
        yield estimate_table(caption, dict(taus_of(known)))


def _success_tables(rates: SuccessRates) -> Iterator[DataTable]:
    """Yield the success rates by annotators and by each machine rater, and τ with a known order."""
    systems = rates.systems
    title = f"Success rates (“{rates.success}”)"
    yield estimate_table(title, {name: one.human for name, one in systems.items()})
    for machine in dict.fromkeys(name for one in systems.values() for name in one.machines):
        by = {name: one.machines[machine] for name, one in systems.items()}
        kinds = {
            f"prediction-powered by {machine}": {name: one.powered for name, one in by.items()},
            f"prediction-powered by {machine} with λ = 1": {
                name: one.powered_lambda_1 for name, one in by.items()
            },
            f"by {machine} alone": {name: one.alone for name, one in by.items()},
        }
        for kind, estimates in kinds.items():
            yield estimate_table(f"{title}, {kind}", estimates)
    yield from _known_order_table(rates.known_order)


def _sets_table(caption: str, sets: RaterSets) -> DataTable:
    estimates = set_estimates(sets)
    estimates["Spearman's ρ of separability and mean consistency"] = sets.spearman_separability
    return estimate_table(f"{caption} ({sets.n}; {sets.n_incomplete} incomplete)", estimates)


def _strata(about: CriterionSection) -> Iterator[Block]:
    """Yield agreement by stratum, without the strata that are too small for an interval."""
    strata = [stratum for stratum in about.strata if stratum.n_units]
    shown = {
        str(
            stratum_name(stratum.stratifier, stratum.stratum, about.strata)
        ): stratum.human_human.krippendorff_alpha
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


def captioned(figures: Iterable[Drawn]) -> Iterator[Figure]:
    """Yield figures with their captions."""
    for figure in figures:
        yield Figure(figure.name, figure.caption, figure.chart.file())
