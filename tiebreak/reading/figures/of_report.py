"""All figures of one criterion that a report alone suffices for."""

from collections.abc import Iterator

from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.machines.crossed_strata import share_figures
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.figures.raters.agreement import (
    agreement_figure,
    machine_figures,
    machines_figure,
)
from tiebreak.reading.figures.raters.bias import bias_figure
from tiebreak.reading.figures.raters.consistency import (
    consistency_figure,
    set_shares_figure,
    strength_figure,
)
from tiebreak.reading.figures.raters.fatigue import fatigue_slopes_figure
from tiebreak.reading.figures.raters.perception import perception_figures
from tiebreak.reading.figures.systems.leaderboard import win_matrix_figure
from tiebreak.reading.figures.systems.success_rates import success_rates_figure
from tiebreak.reading.figures.systems.systems import (
    elo_figure,
    machine_win_rates_figure,
    strengths_figure,
    win_rates_figure,
)
from tiebreak.reading.figures.systems.transitivity import order_figure, win_or_tie_figure
from tiebreak.reading.while_open import while_unreached
from tiebreak.report.model import CriterionSection
from tiebreak.report.registry import on_request


def figures_of(section: CriterionSection) -> Iterator[Figure]:
    """Yield the figures that have something to draw."""
    rates = section.success_rates
    figures = [
        *([success_rates_figure(rates)] if rates else []),
        win_rates_figure(section),
        strengths_figure(section),
        elo_figure(section),
        win_or_tie_figure(section),
        win_matrix_figure(section),
        machine_win_rates_figure(section),
        order_figure(section),
        agreement_figure(section),
        *([machines_figure(section)] if section.all_units.machines else []),
        *machine_figures(section),
        *share_figures(section),
        consistency_figure(section),
        set_shares_figure(section),
        strength_figure(section),
        *perception_figures(section),
        bias_figure(section),
        fatigue_slopes_figure(section),
    ]
    for name in on_request():
        if (part := getattr(section, name)) is not None:
            figures += figures_of_section(name, part)
    return (while_unreached(figure, section) for figure in figures if figure.chart)
