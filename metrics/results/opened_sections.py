"""What the pages of results show under *More*: sections that are computed when somebody opens them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from annotation.filters import NO_FAILED_CHECK, Filter
from metrics.models import ReportSnapshot, SectionSnapshot
from metrics.results.sections import stored_section
from studies.access import Right
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.machines.composite import composite_figures
from tiebreak.reading.figures.machines.crossed_strata import crossed_figures
from tiebreak.reading.figures.machines.differences import machine_difference_figures
from tiebreak.reading.figures.machines.discernment import discernment_figures
from tiebreak.reading.figures.machines.probabilities import machine_probability_figures
from tiebreak.reading.figures.machines.replacement import machine_replacement_figures
from tiebreak.reading.figures.machines.scoring import scoring_figures
from tiebreak.reading.figures.on_request import (
    influence_figures,
    mean_correlation_figures,
    paired_tests_figures,
    pairwise_figures,
    robustness_figures,
)
from tiebreak.reading.figures.systems.comparison_budget import comparison_budget_figures
from tiebreak.reading.figures.systems.controlled import controlled_figures, davidson_figures
from tiebreak.reading.figures.systems.leaderboard import leaderboard_figures
from tiebreak.reading.figures.systems.rank_stability import rank_stability_figures
from tiebreak.reading.figures.systems.win_rate_strata import win_rate_strata_figures
from tiebreak.report.model import CriterionSection, part_title


@dataclass(frozen=True)
class More:
    """A section on request, and the page of results that offers it.

    `decides` says in a sentence which decision it informs. A section that `shows_outcome` says which
    system is preferred. The page offers it for criteria to which it `applies`.
    """

    name: str
    tab: str
    decides: str
    figures: Callable[[Any], list[Figure]]
    applies: Callable[[CriterionSection], bool]
    shows_outcome: bool = False
    right: Right = Right.SEE

    @property
    def title(self) -> str:
        return part_title(self.name)

    def is_hidden(self, chosen: Filter) -> bool:
        """Return whether the part of the ratings must not show its outcome."""
        return self.shows_outcome and chosen.raters == NO_FAILED_CHECK


def _has_systems(about: CriterionSection) -> bool:
    return bool(about.systems and about.systems.win_rate)


def _has_ordered_machines(about: CriterionSection) -> bool:
    return about.level != "nominal" and bool(about.all_units.machines)


def _has_scores(about: CriterionSection) -> bool:
    return about.level != "nominal" and about.systems is None


def _has_machines(about: CriterionSection) -> bool:
    return bool(about.all_units.machines)


def _has_machines_and_pairs(about: CriterionSection) -> bool:
    pairs = [stratum for stratum in about.strata if stratum.stratifier == "systems"]
    return _has_machines(about) and len(pairs) > 1


def _has_systems_and_machines(about: CriterionSection) -> bool:
    return _has_systems(about) and _has_machines(about)


def _has_two_machines(about: CriterionSection) -> bool:
    return len(about.all_units.machines) > 1


def _has_three_systems(about: CriterionSection) -> bool:
    return _has_systems(about) and len(about.systems.win_rate if about.systems else ()) > 2


def _has_machine_and_three_systems(about: CriterionSection) -> bool:
    return _has_three_systems(about) and _has_machines(about)


def _has_ratings(about: CriterionSection) -> bool:
    return about.n_ratings > 0


MORE = (
    More(
        "robustness",
        "systems",
        "Does the result hang on a handful of answers, so that more are needed before it is reported?",
        robustness_figures,
        _has_systems,
        shows_outcome=True,
    ),
    More(
        "leaderboard",
        "systems",
        "Which systems differ only in length or in one category, and what would it cost to part those"
        " that are close?",
        leaderboard_figures,
        _has_systems,
        shows_outcome=True,
    ),
    More(
        "controlled_win_rate",
        "systems",
        "Would the winner still win if its texts were not longer or more formatted?",
        controlled_figures,
        _has_systems,
        shows_outcome=True,
    ),
    More(
        "davidson",
        "systems",
        "Does the ranking depend on counting a tie as half a win?",
        davidson_figures,
        _has_systems,
        shows_outcome=True,
    ),
    More(
        "paired_tests",
        "systems",
        "How many instances would a next study of systems like these have needed?",
        paired_tests_figures,
        _has_systems,
        shows_outcome=True,
    ),
    More(
        "rank_stability",
        "systems",
        "Would another baseline, or instances that nobody has seen, give another ranking?",
        rank_stability_figures,
        _has_three_systems,
        shows_outcome=True,
    ),
    More(
        "machine_differences",
        "machines",
        "Are guidelines, examples or a reference in a judge's prompt worth having?",
        machine_difference_figures,
        _has_two_machines,
    ),
    More(
        "comparison_budget",
        "machines",
        "How many comparisons does a machine rater need, and in which schedule, to rank systems?",
        comparison_budget_figures,
        _has_machine_and_three_systems,
    ),
    More(
        "scoring_against_pairwise",
        "machines",
        "Is it enough to let a machine rater score each text, or must it compare two at a time?",
        scoring_figures,
        _has_systems_and_machines,
    ),
    More(
        "machine_probabilities",
        "machines",
        "May a machine rater's probabilities be used as they are, or only after debiasing, or not at"
        " all?",
        machine_probability_figures,
        _has_machines,
    ),
    More(
        "machine_replacement",
        "machines",
        "On which items may a machine rater replace an annotator, and on which not?",
        machine_replacement_figures,
        _has_machines,
    ),
    More(
        "pairs_by_agreement",
        "machines",
        "Does a machine rater fail on the items of one pair on which annotators are clear?",
        crossed_figures,
        _has_machines_and_pairs,
    ),
    More(
        "win_rates_by_stratum",
        "machines",
        "On which kinds of items would a machine rater's win rates mislead about people's?",
        win_rate_strata_figures,
        _has_systems_and_machines,
        shows_outcome=True,
    ),
    More(
        "mean_correlations",
        "machines",
        "May means of a machine rater's ratings rank items as means of annotators' ratings do?",
        mean_correlation_figures,
        _has_ordered_machines,
    ),
    More(
        "discernment",
        "machines",
        "Which known damage to a text does each rater notice, and which does it miss?",
        discernment_figures,
        _has_scores,
    ),
    More(
        "composite",
        "machines",
        "Would machine raters agree better with annotators if each category had its own?",
        composite_figures,
        _has_two_machines,
    ),
    More(
        "pairwise_agreement",
        "raters",
        "Which two annotators read the guidelines differently?",
        pairwise_figures,
        _has_ratings,
        right=Right.READ,
    ),
    More(
        "drop_one_influence",
        "raters",
        "Is agreement low because of one annotator, or because of all?",
        influence_figures,
        _has_ratings,
        right=Right.READ,
    ),
)


def more_named(name: str) -> More | None:
    return next((more for more in MORE if more.name == name), None)


def more_on(tab: str, about: CriterionSection) -> list[More]:
    """Return what a page of results offers for a criterion."""
    return [more for more in MORE if more.tab == tab and more.applies(about)]


def figure_of_section(
    report: ReportSnapshot, criterion: str, name: str, right: Right, chosen: Filter
) -> Figure | None:
    """Return a figure by its name from the stored sections that somebody with this right sees."""
    for snapshot in SectionSnapshot.objects.filter(report=report):
        more, stored = more_named(snapshot.name), stored_section(snapshot, criterion)
        if more is None or stored is None or stored.part is None:
            continue
        if right < more.right or more.is_hidden(chosen):
            continue
        for figure in more.figures(stored.part):
            if figure.name == name and figure.chart:
                return figure
    return None
