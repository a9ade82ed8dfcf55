"""All figures of one criterion that a report alone suffices for."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.machines.crossed_strata import share_figures
from tiebreak.reading.figures.machines.stand_in import equal_labels_figure, machines_figure
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.figures.planning.smallest_difference import smallest_difference_figure
from tiebreak.reading.figures.raters.agreement import (
    agreement_figure,
    machine_figures,
)
from tiebreak.reading.figures.raters.bias import bias_figure
from tiebreak.reading.figures.raters.consistency import (
    consistency_figure,
    set_shares_figure,
    strength_figure,
)
from tiebreak.reading.figures.raters.fatigue import fatigue_slopes_figure
from tiebreak.reading.figures.raters.nonresponse import nonresponse_figures
from tiebreak.reading.figures.raters.perception import perception_figures
from tiebreak.reading.figures.systems.differences import differences_figure
from tiebreak.reading.figures.systems.leaderboard import win_matrix_figure
from tiebreak.reading.figures.systems.success_rates import success_rates_figure
from tiebreak.reading.figures.systems.systems import (
    machine_win_rates_figure,
    strengths_figure,
    win_rates_figure,
)
from tiebreak.reading.figures.systems.transitivity import order_figure
from tiebreak.reading.while_open import while_unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import on_request


def figures_of(section: CriterionSection) -> Iterator[Figure]:
    """Yield the figures that have something to draw."""
    return chain.from_iterable(figures_by_section(section).values())


def figures_by_section(section: CriterionSection) -> dict[str, list[Figure]]:
    """Return the figures that have something to draw by the section of the report that they show."""
    figures: dict[str, list[Figure]] = {}
    for name, figure in _drawn(section):
        figures.setdefault(name, []).append(while_unreached(figure, section))
    return figures


def _drawn(section: CriterionSection) -> Iterator[tuple[str, Figure]]:
    for name, draw in FIGURES:
        yield from ((name, figure) for figure in draw(section) if figure.chart)
    for name, one in on_request().items():
        if (part := one.of(section)) is not None:
            figures = figures_of_section(name, part, section.simple_raters)
            yield from ((name, figure) for figure in figures if figure.chart)


def _one(draw: Callable[[CriterionSection], Figure]) -> Callable[[CriterionSection], list[Figure]]:
    return lambda section: [draw(section)]


# What is drawn of every report, by section, in the order of documents.
FIGURES: tuple[tuple[str, Callable[[CriterionSection], Iterable[Figure]]], ...] = (
    (
        "success_rates",
        lambda section: [success_rates_figure(rates)] if (rates := section.success_rates) else [],
    ),
    ("systems", _one(win_rates_figure)),
    ("systems", _one(strengths_figure)),
    ("systems", _one(differences_figure)),
    ("systems", _one(smallest_difference_figure)),
    ("systems", _one(win_matrix_figure)),
    ("systems", _one(machine_win_rates_figure)),
    ("transitivity", _one(order_figure)),
    ("strata", _one(agreement_figure)),
    ("noise_ceiling", lambda s: [equal_labels_figure(s)] if s.noise_ceiling else []),
    ("strata", lambda s: [machines_figure(s)] if s.all_units.machines else []),
    ("strata", machine_figures),
    ("strata", share_figures),
    ("rating_sets", _one(consistency_figure)),
    ("rating_sets", _one(set_shares_figure)),
    ("rating_sets", _one(strength_figure)),
    ("perception", perception_figures),
    ("bias", _one(bias_figure)),
    ("fatigue", _one(fatigue_slopes_figure)),
    ("nonresponse", nonresponse_figures),
)
