"""Rankings of systems: win rates, Elo, Bradley–Terry, and prediction-powered win rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model import Estimates, SystemsSection
from tiebreak.report.other_rates import ranks_by_overlap, win_or_tie_rates
from tiebreak.report.pair_counts import pair_counts
from tiebreak.report.selection import drawn_units
from tiebreak.stats import (
    Estimate,
    bradley_terry,
    elo,
    outcome_counts,
    prediction_powered_win_rate,
    ranks,
    two_way_mean,
    undefined,
    win_rates,
)
from tiebreak.stats.games import DisconnectedError, Games
from tiebreak.stats.independence import drop_unreliable_interval
from tiebreak.stats.rankings import NO_RATING

Mask = NDArray[np.bool_]

RANKING_REPLICATES = 1_000
MAX_GAMES = 20_000_000  # limit for an Elo rating, over all random orders
MIN_ORDERS = 100
DRAWN = (
    "Prediction-powered rates need a uniform random sample of instances, but these instances were"
    " drawn with unequal probabilities."
)
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
    is_drawn: bool
    scores: "_Scores"

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
            bool(drawn_units(criterion)[compared].any()),
            _Scores.of(criterion, compared),
        )

    @property
    def systems(self) -> list[str]:
        return sorted({*self.system_a, *self.system_b})

    @property
    def names(self) -> _Systems:
        return {"system_a": self.system_a, "system_b": self.system_b}

    def outcomes_of(self, system: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the wins, ties and losses of a system per unit; all are 0 if it is not compared."""
        first, second = self.sides_of(system)
        return np.asarray(counts * first[:, None] + counts[:, ::-1] * second[:, None])

    def sides_of(self, system: str, other: str | None = None) -> tuple[Mask, Mask]:
        """Return in which units a system is A, and in which it is B, against one other or all."""
        a, b = np.array(self.system_a), np.array(self.system_b)
        first, second = a == system, b == system
        if other is not None:
            first, second = first & (b == other), second & (a == other)
        return first, second

    def widened(self, rate: Estimate, system: str, other: str | None = None) -> Estimate:
        """Return a win rate with an interval for new raters, if there are enough raters."""
        first, second = self.sides_of(system, other)
        scores = self.scores
        chosen = (first | second)[scores.unit]
        unit, score = scores.unit[chosen], scores.of_a[chosen]
        values = np.where(first[unit], score, 1 - score)
        return two_way_mean(values, self.clusters[unit], scores.rater[chosen], narrow=rate)


@dataclass(frozen=True)
class _Scores:
    """Human ratings one by one: the unit, the rater, and 1, ½ or 0 if A wins, ties or loses."""

    unit: NDArray[np.int64]
    rater: NDArray[np.int64]
    of_a: NDArray[np.float64]

    @classmethod
    def of(cls, criterion: Criterion, compared: Mask) -> Self:
        """Return the ratings of the compared units, which are numbered among these."""
        sign = np.sign(criterion.strength)
        kept = criterion.is_human & ~np.isnan(sign) & compared[criterion.unit]
        _, rater = np.unique(criterion.rows["rater"][kept].astype(str), return_inverse=True)
        number = np.cumsum(compared) - 1
        return cls(number[criterion.unit[kept]], rater, (1 - sign[kept]) / 2)


def systems_section(criterion: Criterion, seeds: Seeds, replicates: int) -> SystemsSection:
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
    rng = seeds.generator("bradley_terry")
    strengths, strength_ranks = _strengths(compared, rng, ranking_replicates)
    by_system = {name: compared.widened(rate, name) for name, rate in rates.systems.items()}
    return SystemsSection(
        win_rate=by_system,
        pairs={
            f"{first} vs {second}": compared.widened(rate, first, second)
            for (first, second), rate in rates.pairs.items()
        },
        bradley_terry=strengths,
        bradley_terry_rank=strength_ranks,
        elo=_elo(compared, seeds.generator("elo"), ranking_replicates),
        sep_elo=_separability_elo(compared, seeds.generator("sep_elo"), ranking_replicates),
        prediction_powered=_prediction_powered(compared),
        counts=pair_counts(criterion),
        win_or_tie=win_or_tie_rates(criterion, seeds.below("win_or_tie"), replicates),
        shared_ranks=ranks_by_overlap(by_system),
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
    fit = bradley_terry(
        compared.outcomes,
        **compared.names,
        clusters=compared.clusters,
        rng=rng,
        replicates=replicates,
    )
    system_ranks = ranks(fit.systems, fit.bootstrap_values) if fit.systems else {}
    return _all_systems(fit.systems, compared), _all_systems(system_ranks, compared)


def _separability_elo(
    compared: _Comparisons, rng: np.random.Generator, replicates: int
) -> Estimates:
    if np.isnan(compared.separability).all():
        return _all_undefined(NO_SEPARABILITY, compared)
    return _elo(compared, rng, replicates, compared.separability)


def _elo(
    compared: _Comparisons,
    rng: np.random.Generator,
    replicates: int,
    separability: NDArray[np.float64] | None = None,
) -> Estimates:
    max_orders = MAX_GAMES // max(len(compared.outcomes), 1)
    if max_orders < MIN_ORDERS:
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
        orders=min(max_orders, RANKING_REPLICATES),
        replicates=min(max_orders, replicates),
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
    if compared.is_drawn:
        return {name: _all_undefined(DRAWN, compared) for name in machines}
    return {
        name: {s: _prediction_powered_rate(compared, outcomes, s, lam) for s in compared.systems}
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
