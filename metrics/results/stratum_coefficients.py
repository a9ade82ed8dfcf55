"""The coefficients of one machine rater by stratum: a table for each, which is read on demand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from metrics.results.filters import links_to_parts
from metrics.results.requested_report import asked_for
from metrics.results.selectors import stored_report
from studies.access import Right, of_study
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.reading.charts.svg import Svg
from tiebreak.reading.figures.raters.agreement import STRATIFIERS
from tiebreak.reading.findings import share_of, stratum_name
from tiebreak.reading.messages import NO_UNITS
from tiebreak.reading.shown import EQUAL, MODAL, NAMES, NOTES, Number, Row, Table, number
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection

MAX_STRATA = 100
FIRST = "krippendorff_alpha"
AS_PREDICTOR = {
    "macro_precision": "Macro precision",
    "macro_recall": "Macro recall",
    "macro_f1": "Macro F1",
}
OF_BOTH = f"{EQUAL}; among annotators: {MODAL.lower()}"
COEFFICIENTS = NAMES | AS_PREDICTOR | {"percentage_agreement": OF_BOTH}
GROUPS = {
    "human_human": "Among annotators",
    "machine_machine": "Machine with itself",
    "between_orders": "Machine with itself, in both orders",
    "human_machine": "Majority label",
    "single_human_machine": "One annotator",
    "delta": "Δ",
    "random_baseline": "Random labels",
    "classification": "Majority label",
}
LEFT_OUT = "{n} with fewer items are in the report (JSON) only."


@dataclass(frozen=True)
class ByStratum:
    """One coefficient of one machine rater: the columns, and the strata of each stratifier."""

    machine: str
    coefficient: str
    columns: tuple[str, ...]
    tables: tuple[Table, ...]

    @property
    def title(self) -> str:
        return COEFFICIENTS[self.coefficient]

    @property
    def width(self) -> int:
        """How many columns the table has, including the stratum's columns."""
        return 3 + len(self.columns)


def by_stratum(about: CriterionSection, machine: str, coefficient: str) -> ByStratum:
    """Return one coefficient in every stratum, for all that it compares.

    Coefficients that need two named raters have no value among annotators, and so no such column.
    """
    columns = tuple(GROUPS[group] for group in _groups(about.all_units, machine, coefficient))
    tables = (
        _table(about, machine, coefficient, stratifier, title)
        for stratifier, title in STRATIFIERS.items()
    )
    return ByStratum(machine, coefficient, columns, tuple(table for table in tables if table.rows))


def _table(
    about: CriterionSection, machine: str, coefficient: str, stratifier: str, title: str
) -> Table:
    strata = [stratum for stratum in about.strata if stratum.stratifier == stratifier]
    by_size = sorted(strata, key=lambda stratum: -stratum.n_units)
    largest = {stratum.stratum for stratum in by_size[:MAX_STRATA]}
    rows = [
        # Without glyphs, because random labels and many strata are no findings.
        Row(
            stratum_name(s.stratifier, s.stratum, strata),
            s.n_units,
            share_of(s, strata),
            list(_numbers(s, _groups(s, machine, coefficient))),
        )
        for s in strata
        if s.stratum in largest
    ]
    left_out = len(strata) - len(rows)
    notes = [NOTES.get(stratifier, "")]
    notes += [LEFT_OUT.format(n=counted(left_out, "further group"))] if left_out else []
    return Table(title, rows, " ".join(filter(None, notes)))


def _groups(stratum: StratumSection, machine: str, coefficient: str) -> Estimates:
    """Return the estimates of the stratum that have the coefficient, by what is compared."""
    compared = stratum.machines[machine]
    parts = {"human_human": stratum.human_human, **vars(compared)}
    named = ((group, parts[group].estimates()) for group in GROUPS if parts[group])
    return {group: estimates[coefficient] for group, estimates in named if coefficient in estimates}


def _numbers(stratum: StratumSection, estimates: Estimates) -> Iterator[Number]:
    for estimate in estimates.values():
        if stratum.n_units:
            yield replace(number(estimate), glyph=Svg())
        else:
            yield Number("–", "", Svg(), NO_UNITS)


@require_safe
@of_study(Right.SEE)
def coefficients_by_stratum(request: HttpRequest, study: Study, criterion: str) -> HttpResponse:
    """Show one coefficient of a machine rater by stratum, as a page or as a part of one."""
    asked = asked_for(study, request.GET)
    if asked.part is None:
        return asked.refusal()
    report = stored_report(asked.freshness.snapshot, with_raters=False)
    about = report.criteria.get(criterion) if report else None
    machines = sorted(about.all_units.machines) if about else []
    machine = request.GET.get("machine", machines[0] if machines else "")
    coefficient = request.GET.get("coefficient", FIRST)
    if about is None or machine not in machines or coefficient not in COEFFICIENTS:
        raise Http404("This report has no such coefficient of a machine rater.")
    choices, page = (
        asked.whole.snapshot.choices,
        reverse("metrics:results-tab", args=[study.pk, "machines"]),
    )
    context = {
        "items_links": links_to_parts(choices, asked.chosen, criterion, about, page),
        "study": study,
        "criterion": criterion,
        "shown": by_stratum(about, machine, coefficient),
        "coefficients": COEFFICIENTS,
        "number_of_machine": machines.index(machine) + 1,
        **asked.context,
        "here": "machines",
    }
    is_partial = request.headers.get("HX-Request")
    page = "metrics/stratum_coefficients_page.html"
    template = "metrics/stratum_coefficients.html" if is_partial else page
    return render(request, template, context)
