"""Judges by what differs between their settings, with agreement, cost and the order of systems."""

from collections.abc import Mapping
from math import isnan

import numpy as np

from tiebreak.digits import counted, small_money
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.charts.tables import Column, Row, table_chart
from tiebreak.reading.figures.figure import ESTIMATE_COLUMNS, Figure, estimate_rows
from tiebreak.reading.figures.machines.costs import PER
from tiebreak.reading.figures.machines.stand_in import highest_first
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import SystemsSection
from tiebreak.report.sections.systems.rank_correlations import MIN_SYSTEMS, row_correlations
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import undefined

Settings = Mapping[str, Mapping[str, str]]
TITLE = "Judges by what differs between their settings"
AXIS = "leave-one-out agreement with annotators; band: among annotators"
CORRELATION = "rank_correlation_of_win_rates"
READING = (
    "Each row below annotators is a judge, with the settings in which the judges of this study differ and with how many"
    " items it is scored on, of those that it has rated so far; the numbers have a column for each setting. Points are"
    " leave-one-out agreement with annotators, with 95% intervals, as in Lyu et al. 2024: how often its answer is the"
    f" most frequent one when one annotator is left out. The band is the same among annotators. The table also has what {PER}"
    " ratings cost, if that is known, and Spearman's correlation of the systems' win rates by the judge and by"
    f" annotators, if there are at least {MIN_SYSTEMS} systems that met each other equally often. Each judge is scored"
    " on all items that it rated. The best of many judges is best partly by chance, and overlapping intervals do not"
    " show that two are equal: *Machine raters compared on the same items* tests a difference, and a composite scores"
    " a choice on other items than those by which it was made."
)


def prompt_grid_figure(
    about: CriterionSection, settings: Settings, costs: Mapping[str, float], currency: str
) -> Figure | None:
    """Return the judges that differ in a setting, if there are two; ``settings`` has them by name.

    ``costs`` are those of one rating by the names of raters.
    """
    machines = about.all_units.machines
    agreements = {
        name: found
        for name in settings
        if name in machines and (found := machines[name].human_machine.leave_one_out) is not None
    }
    names = highest_first(agreements)
    drawn = {name: agreements[name] for name in names}
    settings = only_differing({name: settings[name] for name in names})
    if len(names) < 2 or not settings[names[0]]:
        return None
    kinds, correlations = kinds_of(machines, about.simple_raters), rank_correlations(about.systems)
    people = about.all_units.human_human.leave_one_out or undefined("")
    rows = [
        Row("annotators", "human", (people,), "the band"),
        *(
            Row(name, kinds[name], (one,), _note(settings[name], one))
            for name, one in drawn.items()
        ),
    ]
    column = Column("agreement", "with annotators", ("setting", ""))
    chart = table_chart([column], rows, finding=TITLE, corner="", label=AXIS)
    each = {name: small_money(PER * costs[name]) for name in names if name in costs}
    cells = estimate_rows(
        ((name, *settings[name].values(), each.get(name), correlations.get(name)), agreements[name])
        for name in names
    )
    heads = (
        "judge",
        *settings[names[0]],
        f"{currency} for {PER} ratings",
        CORRELATION,
        *ESTIMATE_COLUMNS,
    )
    return Figure("prompt-grid", TITLE, "", chart, heads, cells, READING)


def _note(settings: Mapping[str, str], agreement: Estimate) -> str:
    words = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in settings.items())
    return f"{words}; {counted(agreement.n, 'item')}"


def only_differing(settings: Settings) -> dict[str, dict[str, str]]:
    """Return the settings that are not the same for all, in their order."""
    names = dict.fromkeys(name for of in settings.values() for name in of)
    kept = [name for name in names if len({of.get(name) for of in settings.values()}) > 1]
    return {judge: {name: of.get(name, "") for name in kept} for judge, of in settings.items()}


def rank_correlations(systems: SystemsSection | None) -> dict[str, float]:
    """Return Spearman's ρ of each machine's win rates with those of annotators, where it is defined."""
    if systems is None or systems.ranked_by != "win_rate":
        return {}
    known = [name for name, rate in systems.win_rate.items() if rate.is_defined]
    if len(known) < MIN_SYSTEMS:
        return {}
    people = np.array([[systems.win_rate[name].value for name in known]])
    found = {
        machine: float(row_correlations(people, np.array([[of[name].value for name in known]]))[0])
        for machine, of in (systems.machine_win_rates or {}).items()
        if of.keys() >= {*known}
    }
    return {machine: rho for machine, rho in found.items() if not isnan(rho)}
