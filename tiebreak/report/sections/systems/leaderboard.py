"""The leaderboard: win rates by people, by machines and by category, and what parts the next two."""

from dataclasses import replace
from math import ceil, isnan

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.rankings import LeaderboardSection, NextPair
from tiebreak.report.needs import has_systems
from tiebreak.report.outcomes import without_scores
from tiebreak.report.registry import section
from tiebreak.report.sections.machines.win_rate_strata import by_machine, win_rates_among
from tiebreak.report.sections.systems.comparisons import Comparisons
from tiebreak.report.sections.systems.controlled import controlled_win_rate_section
from tiebreak.report.sections.systems.prediction_powered import (
    powered_systems,
    prediction_powered_rates,
)
from tiebreak.report.sections.systems.systems import rank_sets_among, win_rates_section
from tiebreak.stats import Neighbours, neighbours
from tiebreak.stats.core.groups import n_distinct

MAX_CATEGORIES = 30
DRAWN = (
    "Instances were drawn from a dataset with their own probabilities, and a larger study would draw"
    " others. Choose its size with the planner."
)

Mask = NDArray[np.bool_]


@section(
    "leaderboard",
    "Board of systems, and what would separate them",
    question="systems",
    options=("criteria",),
    on_request=True,
    asks="Which systems differ only in length or in one category, and what would it cost to separate those that are close?",
    offered=has_systems,
    shows_outcome=True,
)
def leaderboard_section(
    criterion: Criterion, seeds: Seeds, replicates: int, *, criteria: int = 1
) -> LeaderboardSection:
    """Return the leaderboard; ``criteria`` is the number of criteria with preferences in the study."""
    compared = Comparisons.of(criterion) if criterion.scale.kind == "preference" else None
    if compared is None or not len(compared.scores.value):
        raise without_scores(criterion)
    controlled, held, reason = _controlled(criterion)
    categories, left_out = _categories(compared)
    names = criterion.of_units("category").astype(str)
    rates = win_rates_section(criterion, seeds.below("win_rate"), replicates).win_rate
    by_machines, by_machines_only = _by_machines(compared, seeds.below("machines"), replicates)
    powered = powered_systems(compared, rates, prediction_powered_rates(compared))
    return LeaderboardSection(
        win_rate=rates,
        controlled=controlled,
        held_equal=held,
        controlled_reason=reason,
        categories={
            name: win_rates_among(
                compared, names == name, seeds.below("category", name), replicates
            )
            for name in categories
        },
        categories_left_out=left_out,
        next_pairs=tuple(_next_pair(compared, one) for one in _neighbours(compared)),
        rank_sets=rank_sets_among(compared, rates, criteria),
        powered={name: one.stack for name, one in powered.items()},
        machines=by_machines,
        machines_only=by_machines_only,
    )


def _by_machines(
    compared: Comparisons, seeds: Seeds, replicates: int
) -> tuple[dict[str, Estimates], dict[str, Estimates]]:
    """Return the win rates by each machine where people rated, too, and of systems they never rated."""
    people = np.asarray(compared.criterion.humans.any(axis=1))
    rated = {s for s in compared.systems if compared.outcomes_of(s, compared.outcomes).any()}

    def rates(members: Mask, systems: set[str]) -> dict[str, Estimates]:
        found = {
            machine: by_machine(compared, machine, members, seeds.generator(machine), replicates)
            for machine in sorted(compared.machines)
        }
        kept = {
            machine: {s: rate for s, rate in of.items() if s in systems and rate.is_defined}
            for machine, of in found.items()
        }
        return {machine: of for machine, of in kept.items() if of}

    return rates(people, rated), rates(~people, {*compared.systems} - rated)


def with_joined(
    board: LeaderboardSection, judged: Criterion, system: str, seeds: Seeds, replicates: int
) -> LeaderboardSection:
    """Return a board with a system that joined, given machines' ratings of its pairs alone."""
    compared, every = Comparisons.of(judged), np.ones(judged.n_units, dtype=np.bool_)
    only = {machine: dict(of) for machine, of in (board.machines_only or {}).items()}
    for machine in sorted(compared.machines):
        rates = by_machine(compared, machine, every, seeds.generator(machine), replicates)
        if system in rates and rates[system].is_defined:
            only.setdefault(machine, {})[system] = rates[system]
    return replace(board, machines_only=only)


def _controlled(
    criterion: Criterion,
) -> tuple[Estimates | None, tuple[str, ...], str | None]:
    """Return the controlled win rates and what is held equal, or the reason why there are none."""
    try:
        section = controlled_win_rate_section(criterion)
    except InvalidInput as error:
        return None, (), error.message
    held = tuple(name for name, effect in section.effects.items() if effect.is_defined)
    return section.controlled, held, None


def _categories(compared: Comparisons) -> tuple[list[str], int]:
    """Return the categories with the most units, by name, and how many are left out.

    There are none if all units have one category.
    """
    of_units = compared.criterion.of_units("category").astype(str)[compared.number]
    names, units = np.unique(of_units[of_units != ""], return_counts=True)
    if len(names) < 2:
        return [], 0
    largest = np.argsort(-units, kind="stable")[:MAX_CATEGORIES]
    return sorted(names[largest].tolist()), len(names) - len(largest)


def _neighbours(compared: Comparisons) -> tuple[Neighbours, ...]:
    if not compared.are_even():
        return ()
    rated = {name: compared.scores_of(name).rated() for name in compared.systems}
    return neighbours({name: mean for name, mean in rated.items() if len(np.asarray(mean.values))})


def _next_pair(compared: Comparisons, one: Neighbours) -> NextPair:
    scores = compared.scores
    involved = np.isin(scores.first, (one.ahead, one.behind))
    chosen = scores.select(involved | np.isin(scores.second, (one.ahead, one.behind)))
    instances, ratings = n_distinct(chosen.instance), len(chosen.value)
    is_drawn = compared.design is not None
    difference = compared.scoped({one.ahead: one.difference})[one.ahead]

    def times(size: float, number: int) -> int | None:
        return None if isnan(size) or is_drawn else ceil(size * number)

    return NextPair(
        ahead=one.ahead,
        behind=one.behind,
        difference=difference,
        instances=instances,
        ratings=ratings,
        needed_instances=times(one.size, instances),
        needed_ratings=times(one.size, ratings),
        likely_instances=times(one.likely_size, instances),
        least_instances=times(one.least_size, instances),
        reason=DRAWN if is_drawn else one.reason,
    )
