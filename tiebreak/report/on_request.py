"""The sections of a report that take long to compute, so that only a report that needs them has them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.report.comparison_budget import comparison_budget_section
from tiebreak.report.composite import composite_section
from tiebreak.report.controlled import controlled_win_rate_section, davidson_section
from tiebreak.report.criterion import Criterion
from tiebreak.report.crossed import crossed_section
from tiebreak.report.discernment import Weights, discernment_section, over_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.leaderboard import leaderboard_section
from tiebreak.report.machine_differences import machine_differences_section
from tiebreak.report.machine_probabilities import machine_probabilities_section
from tiebreak.report.machine_replacement import machine_replacement_section
from tiebreak.report.mean_correlations import mean_correlations_section
from tiebreak.report.paired_tests import paired_tests_section
from tiebreak.report.rank_stability import rank_stability_section
from tiebreak.report.rater_pairs import drop_one_section, pairwise_agreement_section
from tiebreak.report.robustness import robustness_section
from tiebreak.report.scoring import scoring_section
from tiebreak.report.set_aside import set_aside_section
from tiebreak.report.win_rate_strata import win_rate_strata_section

SCORING = "scoring_against_pairwise"
# Of a study of a server, only after it is closed: before, the votes would tell whom to leave out.
SET_ASIDE = "set_aside"
ON_REQUEST: dict[str, Callable[[Criterion, Seeds, int], Any]] = {
    "comparison_budget": comparison_budget_section,
    "composite": composite_section,
    "controlled_win_rate": controlled_win_rate_section,
    "davidson": davidson_section,
    "discernment": discernment_section,
    "drop_one_influence": drop_one_section,
    "machine_differences": machine_differences_section,
    "leaderboard": leaderboard_section,
    "machine_probabilities": machine_probabilities_section,
    "machine_replacement": machine_replacement_section,
    "mean_correlations": mean_correlations_section,
    "paired_tests": paired_tests_section,
    "pairs_by_agreement": crossed_section,
    "pairwise_agreement": pairwise_agreement_section,
    "rank_stability": rank_stability_section,
    "robustness": robustness_section,
    SCORING: scoring_section,
    SET_ASIDE: set_aside_section,
    "win_rates_by_stratum": win_rate_strata_section,
}


def check_sections(names: Iterable[str]) -> None:
    """Raise `InvalidInput` for a name that is no section on request."""
    if unknown := sorted({*names} - {*ON_REQUEST}):
        raise InvalidInput(
            "unknown_section",
            f"There is no section {', '.join(unknown)} to ask for. A report has these only if they"
            f" are asked for: {', '.join(ON_REQUEST)}.",
        )


def makers_on_request(
    criterion: Criterion,
    seeds: Seeds,
    replicates: int,
    names: Iterable[str],
    scored: Sequence[Criterion] = (),
) -> dict[str, Callable[[], Any]]:
    """Return the functions that compute the sections, by name.

    ``scored`` are the criteria whose scores are compared with this one's preferences.
    """
    sections = ON_REQUEST | {SCORING: partial(scoring_section, scored=scored)}

    def maker(name: str) -> Callable[[], Any]:
        return lambda: sections[name](criterion, seeds.below(name), replicates)

    return {name: maker(name) for name in sorted({*names})}


def together(
    name: str, sections: Mapping[str, Any], weights: Weights | None = None
) -> Mapping[str, Any]:
    """Return a section of all criteria with what it says of them together, if it says anything."""
    return over_criteria(sections, weights) if name == "discernment" else sections
