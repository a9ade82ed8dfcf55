"""Rankings of systems: win rates, Elo, Bradley–Terry, and prediction-powered win rates."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import PairDifference, RankedBy, SystemsSection
from tiebreak.report.needs import compares_systems, has_systems, is_preference
from tiebreak.report.outcomes import Outcomes, without_scores
from tiebreak.report.registry import core, section
from tiebreak.report.sections.machines.win_rate_strata import by_machine
from tiebreak.report.sections.systems.comparisons import Comparisons, SystemScores
from tiebreak.report.sections.systems.known_order import known_order_of
from tiebreak.report.sections.systems.pair_counts import pair_counts
from tiebreak.report.sections.systems.prediction_powered import (
    powered_systems,
    prediction_powered_rates,
)
from tiebreak.report.sections.systems.simultaneous import PAIR, rank_sets_of, simultaneous_section
from tiebreak.stats import (
    BradleyTerry,
    EloConstants,
    Estimate,
    RankSet,
    elo,
    joint_ranks,
    ranks,
    shared_ranks,
    system_difference,
    undefined,
    win_rate,
    win_rates,
)
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.rankings.comparisons import DisconnectedError, Games
from tiebreak.stats.rankings.elo import PAPER
from tiebreak.stats.rankings.win_rates import NO_RATING


def win_or_tie_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> Estimates:
    """Return how often each system does not lose, weighted as its win rate is."""
    outcomes = Outcomes.of(compared.criterion)
    return {
        name: _win_or_tie(outcomes, compared.scores_of(name), name, seeds, replicates)
        for name in sorted({*outcomes.first.tolist(), *outcomes.second.tolist()})
    }


def _win_or_tie(
    outcomes: Outcomes, scores: SystemScores, system: str, seeds: Seeds, replicates: int
) -> Estimate:
    is_first, is_second = outcomes.first == system, outcomes.second == system
    counts = outcomes.counts * is_first[:, None] + outcomes.counts[:, ::-1] * is_second[:, None]
    rng = seeds.generator(system)
    clusters = outcomes.clusters
    rate = win_rate(counts, tie=1, clusters=clusters, rng=rng, replicates=replicates)
    return replace(scores, values=(scores.values > 0).astype(float)).win_rate(rate)


def machine_win_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> dict[str, Estimates]:
    """Return the win rates of systems by each machine, weighted where instances were drawn."""
    every = np.ones(compared.criterion.n_units, dtype=bool)
    return {
        machine: by_machine(compared, machine, every, seeds.generator(machine), replicates)
        for machine in sorted(compared.machines)
    }


def ranks_by_overlap(rates: Estimates) -> dict[str, int]:
    """Return the ranks of the systems that have an interval."""
    return {name: rank for name, rank in shared_ranks(rates).items() if rank is not None}


RANKING_REPLICATES = 1_000
MAX_GAMES = 20_000_000  # limit for an Elo rating, over all random orders
MIN_ORDERS = 100
# Over so many games, the random error from the orders is small beside that from the ratings.
ENOUGH_GAMES = 5_000_000
# With fewer instances rated by annotators, the stack of machines alone is in every report: rates with
# each machine would invite to choose the best of several unsure numbers.
ENOUGH_LABELLED = 100
NO_SEPARABILITY = (
    "The separability of the instances was not scored. Score them before planning the tasks."
)
TOO_MANY = (
    "The report leaves out Elo ratings of more than {maximum:,} comparisons, because they take minutes"
    " to compute. Compute them with tiebreak.stats.elo, or use the Bradley–Terry strengths."
)


@section(
    "systems",
    "Win rates and rankings",
    question="systems",
    options=("criteria", "known_order"),
    needs=is_preference,
    seeded_by="win_rate",
    shows_outcome=True,
)
def systems_section(
    criterion: Criterion,
    seeds: Seeds,
    replicates: int,
    *,
    criteria: int = 1,
    known_order: tuple[str, ...] = (),
) -> SystemsSection:
    """Return the rankings; ``criteria`` is the number of criteria with preferences in the study."""
    compared = Comparisons.of(criterion)
    if not compared.systems:
        return SystemsSection(win_rate={}, pairs={})
    ranking_replicates = min(replicates, RANKING_REPLICATES)
    of_systems, of_pairs = rates_of_systems(compared, seeds, replicates)
    fit, reason = _fit(compared)
    strengths, strength_ranks = _strengths(
        compared, fit, reason, seeds.generator("bradley_terry"), ranking_replicates
    )
    ranked_by = _ranked_by(compared, strengths)
    is_even = ranked_by == "win_rate"
    powered = prediction_powered_rates(compared)
    powered_lambda_1 = prediction_powered_rates(compared, lam=1)
    labelled = n_distinct(compared.clusters[compared.outcomes.any(axis=1)])
    shows_each = not powered or labelled >= ENOUGH_LABELLED
    at_once = simultaneous_section(compared, of_systems, of_pairs, criteria)
    by_machines = machine_win_rates(compared, seeds.below("machines"), replicates)
    return SystemsSection(
        win_rate=of_systems,
        pairs={PAIR.format(*names): rate for names, rate in of_pairs.items()},
        bradley_terry=strengths,
        bradley_terry_rank=strength_ranks,
        prediction_powered=powered if shows_each else None,
        counts=pair_counts(criterion),
        simultaneous=at_once,
        ranked_by=ranked_by,
        rank_sets=rank_sets_of(compared, of_systems, fit, criteria),
        prediction_powered_lambda_1=powered_lambda_1 if shows_each else None,
        powered=powered_systems(compared, of_systems, powered),
        machine_win_rates=by_machines,
        known_order=known_order_of(
            known_order,
            of_systems if is_even else strengths,
            {
                m: rates
                for m, rates in by_machines.items()
                if compared.are_even(compared.machines[m])
            },
            *((powered, powered_lambda_1) if is_even else ({}, {})),
        ),
        differences={
            name: PairDifference(**vars(system_difference(rate)))
            for name, rate in at_once.pairs.items()
        },
    )


@core("systems")
def win_rates_section(criterion: Criterion, seeds: Seeds, replicates: int) -> SystemsSection:
    """Return the win rates of `systems_section` alone, and the strengths if these rank the systems."""
    compared = Comparisons.of(criterion)
    of_systems, of_pairs = rates_of_systems(compared, seeds, replicates)
    pairs = {PAIR.format(*names): rate for names, rate in of_pairs.items()}
    if compared.are_even():
        return SystemsSection(win_rate=of_systems, pairs=pairs, ranked_by="win_rate")
    strengths, _ = _strengths(compared, *_fit(compared), seeds.generator("bradley_terry"), 0)
    return SystemsSection(
        of_systems, pairs, bradley_terry=strengths, ranked_by=_ranked_by(compared, strengths)
    )


def rank_sets_among(
    compared: Comparisons, rates: Estimates, criteria: int
) -> dict[str, RankSet] | None:
    """Return the ranks that each system may have, by what ranks them."""
    return rank_sets_of(compared, rates, _fit(compared)[0], criteria)


# Other rates and ranks, in the fields of `systems_section` and with its digits.
_added = partial(
    section, question="systems", on_request=True, seeded_by="win_rate", shows_outcome=True
)


@_added(
    "elo",
    "Elo ratings",
    asks="How would Elo ratings, which earlier work reports, rank the systems?",
    offered=has_systems,
    fills=("elo", "sep_elo", "elo_constants"),
    options=("elo_constants",),
    of_rated_items="a game has no weight in a sequence of updates; Bradley–Terry strengths are weighted",
)
def elo_section(
    criterion: Criterion,
    seeds: Seeds,
    replicates: int,
    *,
    elo_constants: EloConstants = PAPER,
) -> SystemsSection:
    compared, rates = _with_rates(criterion, seeds, replicates)
    return replace(
        rates,
        elo=_elo(compared, elo_constants, seeds.generator("elo")),
        sep_elo=_separability_elo(compared, elo_constants, seeds.generator("sep_elo")),
        elo_constants=elo_constants,
    )


@_added(
    "win_or_tie",
    "Win-or-tie rates",
    asks="How often is a system at least as good as the one it is compared with?",
    offered=has_systems,
    fills=("win_or_tie",),
)
def win_or_tie_section(criterion: Criterion, seeds: Seeds, replicates: int) -> SystemsSection:
    compared, rates = _with_rates(criterion, seeds, replicates)
    won = win_or_tie_rates(compared, seeds.below("win_or_tie"), replicates)
    return replace(rates, win_or_tie=won)


def _have_shared_ranks(about: CriterionSection) -> bool:
    systems = about.systems
    return (
        systems is not None
        and systems.ranked_by == "win_rate"
        and any(rate.has_interval for rate in systems.win_rate.values())
    )


@_added(
    "shared_ranks",
    "Ranks shared where intervals overlap",
    asks="Which ranks would table 5 of HREF (Lyu et al. 2024) give the systems?",
    offered=_have_shared_ranks,
    fills=("shared_ranks",),
)
def shared_ranks_section(criterion: Criterion, seeds: Seeds, replicates: int) -> SystemsSection:
    compared, rates = _with_rates(criterion, seeds, replicates)
    return replace(
        rates, shared_ranks=ranks_by_overlap(rates.win_rate) if compared.are_even() else {}
    )


def _has_stack_alone(about: CriterionSection) -> bool:
    systems = about.systems
    return bool(systems and systems.powered and systems.prediction_powered is None)


@_added(
    "prediction_powered",
    "Win rates with each machine rater alone",
    asks="What does each machine rater add without the others, with a tuned and with full weight?",
    offered=_has_stack_alone,
    fills=("prediction_powered", "prediction_powered_lambda_1"),
)
def prediction_powered_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> SystemsSection:
    compared, rates = _with_rates(criterion, seeds, replicates)
    return replace(
        rates,
        prediction_powered=prediction_powered_rates(compared),
        prediction_powered_lambda_1=prediction_powered_rates(compared, lam=1),
    )


def _with_rates(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> tuple[Comparisons, SystemsSection]:
    """Return the comparisons, and the win rates beside which others are shown."""
    if not compares_systems(criterion):
        raise without_scores(criterion)
    return Comparisons.of(criterion), win_rates_section(criterion, seeds, replicates)


def _ranked_by(compared: Comparisons, strengths: Estimates) -> RankedBy:
    """Return by what the systems are ranked."""
    if compared.are_even():
        return "win_rate"
    known = any(strength.is_defined for strength in strengths.values())
    return "bradley_terry" if known else "nothing"


def _fit(compared: Comparisons) -> tuple[BradleyTerry | None, str]:
    """Return the fitted Bradley–Terry model, or the reason why there is none."""
    reason = _disconnected_reason(compared, compared.outcomes)
    return (compared.strengths(), "") if reason is None else (None, reason)


def rates_of_systems(
    compared: Comparisons, seeds: Seeds, replicates: int
) -> tuple[Estimates, dict[tuple[str, str], Estimate]]:
    """Return the win rates of systems, and of the first system of each pair."""
    if not compared.systems:
        return {}, {}
    rates = win_rates(
        compared.outcomes,
        **compared.names,
        clusters=compared.clusters,
        rng=seeds.generator("systems"),
        replicates=replicates,
    )
    return (
        {s: compared.scores_of(s).win_rate(rate) for s, rate in rates.systems.items()},
        {names: compared.scores_of(*names).win_rate(rate) for names, rate in rates.pairs.items()},
    )


def _strengths(
    compared: Comparisons,
    fit: BradleyTerry | None,
    reason: str,
    rng: np.random.Generator,
    replicates: int,
) -> tuple[Estimates, Estimates]:
    """Return the Bradley–Terry strengths, and the ranks by strength."""
    if fit is None:
        undefined_systems = _all_undefined(reason, compared)
        return undefined_systems, undefined_systems
    system_ranks = {}
    if fit.linearised is not None:
        system_ranks = joint_ranks(fit.systems, fit.linearised, rng=rng, draws=replicates)
    elif fit.systems:
        system_ranks = ranks(fit.systems, fit.bootstrap_values)
    strengths, strength_ranks = compared.scoped(fit.systems), compared.scoped(system_ranks)
    return _all_systems(strengths, compared), _all_systems(strength_ranks, compared)


def _separability_elo(
    compared: Comparisons, constants: EloConstants, rng: np.random.Generator
) -> Estimates:
    if np.isnan(compared.separability).all():
        return _all_undefined(NO_SEPARABILITY, compared)
    return _elo(compared, constants, rng, compared.separability)


def _elo(
    compared: Comparisons,
    constants: EloConstants,
    rng: np.random.Generator,
    separability: NDArray[np.float64] | None = None,
) -> Estimates:
    units = max(len(compared.outcomes), 1)
    if MAX_GAMES // units < MIN_ORDERS:
        return _all_undefined(TOO_MANY.format(maximum=MAX_GAMES // MIN_ORDERS), compared)
    outcomes = compared.outcomes
    if separability is not None:
        outcomes = np.where(np.isnan(separability)[:, None], 0, outcomes)
    reason = _disconnected_reason(compared, outcomes)
    if reason is not None:
        return _all_undefined(reason, compared)
    ratings = elo(
        compared.outcomes,
        **compared.names,
        **vars(constants),
        separability=separability,
        clusters=compared.clusters,
        rng=rng,
        orders=min(max(ENOUGH_GAMES // units, MIN_ORDERS), RANKING_REPLICATES),
    )
    return _all_systems(ratings.systems, compared)


def _disconnected_reason(compared: Comparisons, outcomes: NDArray[np.int64]) -> str | None:
    """Return a sentence on groups of systems that were never compared with each other, or None."""
    try:
        Games.of(outcomes, **compared.names)
    except DisconnectedError as error:
        return error.message
    return None


def _all_systems(estimates: Mapping[str, Estimate], compared: Comparisons) -> Estimates:
    """Return the estimates of all systems, which are undefined for systems without ratings."""
    return _all_undefined(NO_RATING, compared) | dict(estimates)


def _all_undefined(reason: str, compared: Comparisons) -> Estimates:
    return {name: undefined(reason) for name in compared.systems}
