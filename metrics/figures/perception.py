"""Figures of the labels that annotators and machines give, by the annotators' majority label."""

from metrics.charts.perception import perception_chart
from metrics.charts.svg import Kind
from metrics.figures.figure import Cell, Figure, empty_figure
from metrics.findings import perception_finding
from tiebreak.report.model import CriterionSection
from tiebreak.scales import Scale

READING = (
    "Each group of bars has the items with one majority label of annotators, and its heading says how"
    " many items these are. The bars show how often annotators, and a machine rater, gave each label"
    " to these items. Bars of equal height mean that the machine perceives these items as annotators"
    " do; a machine that never gives a tie has no bar there."
)
COLUMNS = ("majority_label", "share_of_units", "rater", "label", "share")


def perception_figures(section: CriterionSection) -> list[Figure]:
    """Return a figure per machine rater, or one of annotators alone."""
    machines = sorted(section.all_units.machines)
    if not machines:
        return [_figure(section, None, "perception")]
    return [
        _figure(section, machine, "perception" if number == 1 else f"perception-{number}")
        for number, machine in enumerate(machines, start=1)
    ]


def _figure(section: CriterionSection, machine: str | None, name: str) -> Figure:
    finding, sentence = perception_finding(section)
    chart = perception_chart(section, label_names(section), machine)
    if not chart:
        return empty_figure(name, finding, sentence)
    legend: tuple[tuple[Kind, str], ...] = (("human", "annotators"),)
    if machine:
        legend += (("machine", machine),)
    return Figure(name, finding, sentence, chart, COLUMNS, _rows(section, machine), READING, legend)


def label_names(section: CriterionSection) -> dict[str, str]:
    """Return the names of a preference's labels for figures."""
    # An inferred scale of names may have a single label, which a declared one must not.
    if not section.scale.startswith("preference"):
        return {}
    scale = Scale.parse(section.scale)
    return {str(label): scale.short_name(label) for label in section.labels}


def _rows(section: CriterionSection, machine: str | None) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (row.label, row.share, rater, label, share)
        for row in section.perception
        for rater, shares in (
            ("annotators", row.humans),
            *(((machine, row.machines[machine]),) if machine else ()),
        )
        for label, share in shares.items()
    )
