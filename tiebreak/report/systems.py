"""Rankings of systems: win rates, Elo, Bradley–Terry, and prediction-powered win rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model import Estimates, SimultaneousSection, SystemsSection
from tiebreak.report.other_rates import ranks_by_overlap, win_or_tie_rates
from tiebreak.report.outcomes import Scores
from tiebreak.report.pair_counts import pair_counts
from tiebreak.report.scopes import of_drawn
from tiebreak.stats import (
    BradleyTerry,
    Estimate,
    bradley_terry,
    cross_fitted_slopes,
    elo,
    joint_ranks,
    outcome_counts,
    prediction_powered_win_rate,
    ranks,
    two_way_mean,
    undefined,
    win_rates,
)
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.games import DisconnectedError, Games
from tiebreak.stats.independence import drop_unreliable_interval
from tiebreak.stats.rankings import NO_RATING
from tiebreak.stats.results import THESE, Scope

Mask = NDArray[np.bool_]

PAIR = "{} vs {}"
BONFERRONI = "{method}, Bonferroni over {n} comparisons"
RANKING_REPLICATES = 1_000
MAX_GAMES = 20_000_000  # limit for an Elo rating, over all random orders
MIN_ORDERS = 100
# Over so many games, the random error from the orders is small beside that from the ratings.
ENOUGH_GAMES = 5_000_000
UNPREDICTED = (
    "After a draw of instances, prediction-powered rates need a machine rating of every instance in the"
    " dataset, also of those that were not drawn."
)
UNCOVERED = (
    "The drawn instances do not represent the dataset, so machine ratings of the others cannot be"
    " corrected by them. A control sample is needed, of at least 30 instances if the most separable"
    " instances were drawn."
)
# Share of the dataset that a machine must have rated. The size of the dataset is only estimated, from
# the inclusion probabilities.
MIN_PREDICTED = 0.8
NO_SEPARABILITY = (
    "The separability of the instances was not scored. Score them before planning the tasks."
)
TOO_MANY = (
    "The report leaves out Elo ratings of more than {maximum:,} comparisons, because they take minutes"
    " to compute. Compute them with tiebreak.stats.elo, or use the Bradley–Terry strengths."
)


class _Systems(TypedDict):
    system_a: Sequence[str]
    system_b: Sequence[str]


@dataclass(frozen=True)
class _Comparisons:
    """Units that compare two different systems, with δ and the outcomes by humans and machines."""

    system_a: Sequence[str]
    system_b: Sequence[str]
    outcomes: NDArray[np.int64]
    machines: dict[str, NDArray[np.int64]]
    clusters: NDArray[np.int64]
    separability: NDArray[np.float64]
    scores: Scores
    design: DesignWeights | None
    criterion: Criterion
    number: NDArray[np.int64]

    @classmethod
    def of(cls, criterion: Criterion) -> Self:
        a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
        compared = (a != "") & (b != "") & (a != b)
        machines = {
            name: outcome_counts(machine.counts[compared], criterion.labels)
            for name, machine in criterion.machines.items()
        }
        return cls(
            a[compared].tolist(),
            b[compared].tolist(),
            outcome_counts(criterion.humans[compared], criterion.labels),
            machines,
            criterion.clusters[compared],
            criterion.of_units("separability").astype(float)[compared],
            Scores.of(criterion),
            DesignWeights.of(criterion),
            criterion,
            np.flatnonzero(compared),
        )

    @property
    def systems(self) -> list[str]:
        return sorted({*self.system_a, *self.system_b})

    @property
    def names(self) -> _Systems:
        return {"system_a": self.system_a, "system_b": self.system_b}

    def outcomes_of(self, system: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the wins, ties and losses of a system per unit; all are 0 if it is not compared."""
        first, second = np.array(self.system_a) == system, np.array(self.system_b) == system
        return np.asarray(counts * first[:, None] + counts[:, ::-1] * second[:, None])

    def scores_of(self, system: str, other: str | None = None) -> "_SystemScores":
        """Return the scores of a system, against one other or all."""
        chosen = self.scores.of_system(system, other)
        return _SystemScores(chosen.value, chosen.unit, chosen.rater, self.criterion, self.design)

    def scoped(self, estimates: Estimates) -> Estimates:
        """Return weighted estimates of all systems with the scope that they have after a draw."""
        if self.design is None:
            return estimates
        covers = bool(self.design.covers[self.number].all())
        return {name: of_drawn(estimate, covers=covers) for name, estimate in estimates.items()}

    def strengths(self) -> BradleyTerry:
        """Return the Bradley–Terry strengths; a system's n is its number of rated units."""
        scores = self.scores
        fit = bradley_terry(
            scores.counts,
            system_a=scores.first.tolist(),
            system_b=scores.second.tolist(),
            weights=None if self.design is None else self.design.of_units[scores.unit],
            clusters=scores.instance,
            raters=scores.rater,
        )
        units = Games.of(self.outcomes, **self.names)
        systems = {
            name: replace(fit.systems[name], n=units.involving(index))
            for index, name in enumerate(units.names)
        }
        return replace(fit, systems=systems)


@dataclass(frozen=True, eq=False)
class _SystemScores:
    """The scores of one system: 1, ½ or 0 for each rating, with its unit and rater."""

    values: NDArray[np.float64]
    unit: NDArray[np.int64]
    rater: NDArray[np.int64]
    criterion: Criterion
    design: DesignWeights | None

    def win_rate(self, unweighted: Estimate) -> Estimate:
        """Return the win rate with the widest interval that the ratings support.

        If instances were drawn, they are weighted by their inverse inclusion probabilities.
        """
        narrow = unweighted
        if self.design is not None and unweighted.is_defined:
            narrow = self.design.mean(self.values, self.unit, self.criterion)
            narrow = replace(narrow, n=unweighted.n)
        return self._widened(narrow, self.rater, CONFIDENCE_LEVEL)

    def simultaneous(self, rate: Estimate, comparisons: int) -> Estimate:
        """Return the win rate with an interval that holds together with those of other comparisons."""
        if not rate.has_interval or comparisons <= 1:
            return rate
        level = 1 - (1 - CONFIDENCE_LEVEL) / comparisons
        point = replace(rate, low=rate.value, high=rate.value, narrower=(), stated_scope=THESE)
        of_these = self._widened(point, np.full(len(self.rater), -1), level)
        of_these = replace(of_these, stated_scope=Scope(rate.scope.instances))
        wide = self._widened(of_these, self.rater, level)
        return replace(wide, method=BONFERRONI.format(method=wide.method, n=comparisons))

    def of(self, kept: Mask) -> "_SystemScores":
        """Return some of the scores."""
        values, unit, rater = self.values[kept], self.unit[kept], self.rater[kept]
        return replace(self, values=values, unit=unit, rater=rater)

    def corrected(self, correction: NDArray[np.float64], n: int) -> Estimate:
        """Return the weighted mean of the scores minus a correction, which is from −1 to 1."""
        assert self.design is not None
        values = self.values - correction
        narrow = replace(self.design.mean(values, self.unit, self.criterion), n=n)
        return two_way_mean(
            values,
            self.criterion.clusters[self.unit],
            self.rater,
            narrow=replace(narrow, method=f"prediction-powered, {narrow.method}"),
            weights=self.design.of_units[self.unit],
            bounds=(-1, 2),
        )

    def _widened(
        self, narrow: Estimate, rater: NDArray[np.int64], confidence_level: float
    ) -> Estimate:
        return two_way_mean(
            self.values,
            self.criterion.clusters[self.unit],
            rater,
            narrow=narrow,
            weights=None if self.design is None else self.design.of_units[self.unit],
            confidence_level=confidence_level,
        )


def _simultaneous(
    compared: _Comparisons,
    rates: Estimates,
    pairs: Mapping[tuple[str, str], Estimate],
    criteria: int,
) -> SimultaneousSection:
    # The rates of two systems are one comparison, because they add up to 1.
    n_rates, n_pairs = criteria * (len(rates) if len(rates) > 2 else 1), criteria * len(pairs)
    return SimultaneousSection(
        win_rate={s: compared.scores_of(s).simultaneous(r, n_rates) for s, r in rates.items()},
        pairs={
            PAIR.format(*names): compared.scores_of(*names).simultaneous(rate, n_pairs)
            for names, rate in pairs.items()
        },
        n_win_rates=n_rates,
        n_pairs=n_pairs,
    )


def systems_section(
    criterion: Criterion, seeds: Seeds, replicates: int, *, criteria: int = 1
) -> SystemsSection:
    """Return the rankings; ``criteria`` is the number of criteria with preferences in the study."""
    compared = _Comparisons.of(criterion)
    if not compared.systems:
        return SystemsSection(win_rate={}, pairs={})
    ranking_replicates = min(replicates, RANKING_REPLICATES)
    rates = win_rates(
        compared.outcomes,
        **compared.names,
        clusters=compared.clusters,
        rng=seeds.generator("systems"),
        replicates=replicates,
    )
    strengths, strength_ranks = _strengths(
        compared, seeds.generator("bradley_terry"), ranking_replicates
    )
    of_systems = {s: compared.scores_of(s).win_rate(rate) for s, rate in rates.systems.items()}
    of_pairs = {
        names: compared.scores_of(*names).win_rate(rate) for names, rate in rates.pairs.items()
    }
    return SystemsSection(
        win_rate=of_systems,
        pairs={PAIR.format(*names): rate for names, rate in of_pairs.items()},
        bradley_terry=strengths,
        bradley_terry_rank=strength_ranks,
        elo=_elo(compared, seeds.generator("elo")),
        sep_elo=_separability_elo(compared, seeds.generator("sep_elo")),
        prediction_powered=_prediction_powered(compared),
        counts=pair_counts(criterion),
        simultaneous=_simultaneous(compared, of_systems, of_pairs, criteria),
        win_or_tie=win_or_tie_rates(criterion, seeds.below("win_or_tie"), replicates),
        shared_ranks=ranks_by_overlap(of_systems),
        prediction_powered_lambda_1=_prediction_powered(compared, lam=1),
    )


def _strengths(
    compared: _Comparisons, rng: np.random.Generator, replicates: int
) -> tuple[Estimates, Estimates]:
    """Return the Bradley–Terry strengths, and the ranks by strength."""
    reason = _disconnected_reason(compared, compared.outcomes)
    if reason is not None:
        undefined_systems = _all_undefined(reason, compared)
        return undefined_systems, undefined_systems
    fit = compared.strengths()
    system_ranks = {}
    if fit.linearised is not None:
        system_ranks = joint_ranks(fit.systems, fit.linearised, rng=rng, draws=replicates)
    elif fit.systems:
        system_ranks = ranks(fit.systems, fit.bootstrap_values)
    strengths, strength_ranks = compared.scoped(fit.systems), compared.scoped(system_ranks)
    return _all_systems(strengths, compared), _all_systems(strength_ranks, compared)


def _separability_elo(compared: _Comparisons, rng: np.random.Generator) -> Estimates:
    if np.isnan(compared.separability).all():
        return _all_undefined(NO_SEPARABILITY, compared)
    return _elo(compared, rng, compared.separability)


def _elo(
    compared: _Comparisons,
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
        separability=separability,
        clusters=compared.clusters,
        rng=rng,
        orders=min(max(ENOUGH_GAMES // units, MIN_ORDERS), RANKING_REPLICATES),
    )
    return _all_systems(ratings.systems, compared)


def _prediction_powered(compared: _Comparisons, lam: float | None = None) -> dict[str, Estimates]:
    """Return the prediction-powered win rates over all units, by machine and system.

    ``lam`` is the weight of the machine's ratings, which is tuned by default.
    """
    has_human = compared.outcomes.any(axis=1)
    machines = {
        name: outcomes
        for name, outcomes in compared.machines.items()
        if np.any(outcomes.any(axis=1) & ~has_human)
    }
    estimate = _prediction_powered_rate if compared.design is None else _drawn_powered_rate
    return {
        name: {s: estimate(compared, outcomes, s, lam) for s in compared.systems}
        for name, outcomes in machines.items()
    }


def _prediction_powered_rate(
    compared: _Comparisons, machine: NDArray[np.int64], system: str, lam: float | None
) -> Estimate:
    pairs = zip(compared.system_a, compared.system_b, strict=True)
    mask = np.array([system in pair for pair in pairs])
    humans = compared.outcomes_of(system, compared.outcomes)[mask]
    predictions = compared.outcomes_of(system, machine)[mask]
    clusters = compared.clusters[mask]
    rate = prediction_powered_win_rate(humans, predictions, lam=lam, clusters=clusters)
    has_human, has_machine = humans.any(axis=1), predictions.any(axis=1)
    samples = (has_human & has_machine, ~has_human & has_machine)
    n_clusters = min(len(np.unique(clusters[sample])) for sample in samples)
    return drop_unreliable_interval(rate.estimate, n_clusters)


def _drawn_powered_rate(
    compared: _Comparisons, machine: NDArray[np.int64], system: str, lam: float | None
) -> Estimate:
    """Return the weighted mean of ratings, corrected by what the machine says of all instances.

    A rating y becomes y − λ (f − F), where f is the machine's mean rating of its unit, and F that of
    all units in the dataset. The machine's ratings of the whole dataset are known, so that their mean
    adds no sampling error.
    """
    scores, design = compared.scores_of(system), compared.design
    assert design is not None
    predicted = _predictions(compared, machine, system)
    known = ~np.isnan(predicted[scores.unit])
    scores = scores.of(known)
    units = np.unique(scores.unit)
    if (
        not len(units)
        or (~np.isnan(predicted)).sum() < MIN_PREDICTED * design.of_units[units].sum()
    ):
        return undefined(UNPREDICTED, len(units))
    if not design.covers[units].all():
        return undefined(UNCOVERED, len(units))
    f, weights = predicted[scores.unit], design.of_units[scores.unit]
    instances = compared.criterion.clusters[scores.unit]
    slopes = np.full(len(f), lam)
    if lam is None:
        slopes = cross_fitted_slopes(scores.values, f, weights=weights, clusters=instances)
    return scores.corrected(slopes * (f - np.nanmean(predicted)), len(units))


def _predictions(
    compared: _Comparisons, machine: NDArray[np.int64], system: str
) -> NDArray[np.float64]:
    """Return a machine's mean rating of a system, by unit of the criterion; NaN without one."""
    outcomes = compared.outcomes_of(system, machine)
    means = np.full(compared.criterion.n_units, np.nan)
    rated = outcomes.any(axis=1)
    of_unit = outcomes[rated] @ np.array([1.0, 0.5, 0.0]) / outcomes[rated].sum(axis=1)
    means[compared.number[rated]] = of_unit
    return means


def _disconnected_reason(compared: _Comparisons, outcomes: NDArray[np.int64]) -> str | None:
    """Return a sentence on groups of systems that were never compared with each other, or None."""
    try:
        Games.of(outcomes, **compared.names)
    except DisconnectedError as error:
        return error.message
    return None


def _all_systems(estimates: Mapping[str, Estimate], compared: _Comparisons) -> Estimates:
    """Return the estimates of all systems, which are undefined for systems without ratings."""
    return _all_undefined(NO_RATING, compared) | dict(estimates)


def _all_undefined(reason: str, compared: _Comparisons) -> Estimates:
    return {name: undefined(reason) for name in compared.systems}
