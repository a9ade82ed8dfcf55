"""What machine raters and annotators cost, beside how often they give the label of an annotator."""

from collections.abc import Mapping, Sequence

from tiebreak.digits import small_money
from tiebreak.reading.charts.costs import cost_chart
from tiebreak.reading.charts.curves import Series
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.figure import ESTIMATE_COLUMNS, Figure, estimate_rows
from tiebreak.reading.figures.machines.stand_in import (
    BEST_POSSIBLE,
    EQUAL_LABELS_AXIS,
    highest_first,
)
from tiebreak.report.model.report import CriterionSection

PER = 100  # ratings, of which costs are told
PEOPLE = "annotators"
TITLE = "Agreement with an annotator, by cost"
NOT_KNOWN = "Not drawn, because what a rating costs is not known: {of}."
MAX_NAMED = 3
DEARER = "An annotator costs {times} times as much as {machine}"
READING = (
    "A mark is a rater: how often it gives the label of one annotator drawn at random, with its 95% interval for these"
    f" annotators, and what {PER} of its ratings cost. Each step to the right is ten times as much. ● is how often two"
    " annotators agree, and the band its interval. The dashed line is the noise ceiling, the most that any machine rater"
    " could reach. What is cheap and agrees less buys other labels, not the same ones for less: only the test above"
    " says whether a machine rater may stand in."
)


def cost_figure(
    section: CriterionSection, costs: Mapping[str, float], currency: str
) -> Figure | None:
    """Return cost against agreement, if the cost of a rating of some machine rater is known.

    ``costs`` has them by the names of raters; a simple rule costs nothing.
    """
    ceilings, simple = section.noise_ceiling or {}, section.simple_raters or ()
    known = {name: PER * costs.get(name, 0.0) for name in ceilings if name in {*costs, *simple}}
    names = highest_first({name: ceilings[name].agreement for name in known})
    paid = [name for name in names if known[name] and ceilings[name].agreement.is_defined]
    if not paid:
        return None
    first, kinds = ceilings[names[0]], kinds_of(ceilings, simple)
    raters = [(kinds[name], name, known[name], ceilings[name].agreement) for name in names]
    if PEOPLE in costs:
        raters.insert(0, ("human", PEOPLE, PER * costs[PEOPLE], first.annotators))
    times = costs.get(PEOPLE, 0.0) / costs[paid[0]]
    finding = DEARER.format(times=f"{times:,.0f}", machine=paid[0]) if times >= 2 else TITLE
    chart = cost_chart(
        [Series(kind, name, ((cost, one),)) for kind, name, cost, one in raters],
        (BEST_POSSIBLE, first.ceiling),
        first.annotators,
        finding=finding,
        x_label=f"{currency} for {PER} ratings",
        y_label=EQUAL_LABELS_AXIS,
    )
    sentence = _without_cost([name for name in ceilings if name not in known])
    columns = ("rater", f"{currency} for {PER} ratings", *ESTIMATE_COLUMNS)
    rows = estimate_rows(((name, small_money(cost)), one) for _, name, cost, one in raters)
    return Figure("cost-agreement", finding, sentence, chart, columns, rows, READING, title=TITLE)


def _without_cost(names: Sequence[str]) -> str:
    """Return who is not drawn, because what their ratings cost is not known."""
    if not names:
        return ""
    of = ", ".join(names) if len(names) <= MAX_NAMED else f"{len(names)} machine raters"
    return NOT_KNOWN.format(of=of)
