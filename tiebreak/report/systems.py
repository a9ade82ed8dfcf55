"""Which system is better: win rates, Elo, Bradley–Terry, and what machine ratings add."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.selection import drawn_units
from tiebreak.report.strata import as_json
from tiebreak.stats import (
    Estimate,
    bradley_terry,
    elo,
    outcome_counts,
    prediction_powered_win_rate,
    ranks,
    undefined,
    win_rates,
)
from tiebreak.stats.games import DisconnectedError, Games
from tiebreak.stats.independence import drop_unreliable_interval
from tiebreak.stats.rankings import NO_RATING

RANKING_REPLICATES = 1_000
MOST_GAMES = 20_000_000  # played in one request for an Elo rating, over all its orders
FEWEST_ORDERS = 100
DRAWN = (
    "A prediction-powered rate takes the rated instances for a random sample of all, and these were"
    " drawn with unequal chances."
)
NO_SEPARABILITY = "No separability was scored: plan the HITs from scored instances."
TOO_MANY = (
    "Elo is not computed here for more than {most:,} compared units: its random orders would take "
    "minutes. tiebreak.stats.elo does it; Bradley–Terry strengths have no such limit."
)


class _Who(TypedDict):
    system_a: Sequence[str]
    system_b: Sequence[str]


@dataclass(frozen=True)
class _Comparisons:
    """Units (U,) that name two systems: who met, what humans said, and δ of the instance."""

    system_a: Sequence[str]
    system_b: Sequence[str]
    outcomes: NDArray[np.int64]
    machines: dict[str, NDArray[np.int64]]
    clusters: NDArray[np.int64]
    separability: NDArray[np.float64]
    is_drawn: bool

    @classmethod
    def of(cls, criterion: Criterion) -> Self:
        a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
        named = (a != "") & (b != "") & (a != b)
        machines = {
            name: outcome_counts(machine.counts[named], criterion.labels)
            for name, machine in criterion.machines.items()
        }
        return cls(
            a[named].tolist(),
            b[named].tolist(),
            outcome_counts(criterion.humans[named], criterion.labels),
            machines,
            criterion.clusters[named],
            criterion.of_units("separability").astype(float)[named],
            bool(drawn_units(criterion)[named].any()),
        )

    @property
    def systems(self) -> list[str]:
        return sorted({*self.system_a, *self.system_b})

    @property
    def who(self) -> _Who:
        return {"system_a": self.system_a, "system_b": self.system_b}

    def seen_by(self, system: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Wins, ties and losses of one system (U, 3), 0 where it is not compared."""
        first, second = (np.array(side) == system for side in (self.system_a, self.system_b))
        return np.asarray(counts * first[:, None] + counts[:, ::-1] * second[:, None])


def systems_section(criterion: Criterion, seeds: Seeds, replicates: int) -> dict[str, Any]:
    """Every ranking of the named systems over human ratings, each with its intervals.

    ``prediction_powered`` is there for machines that also rated units which no human did.
    """
    compared = _Comparisons.of(criterion)
    if not compared.systems:
        return {"win_rate": {}, "pairs": {}}
    fewer = min(replicates, RANKING_REPLICATES)
    rates = win_rates(
        compared.outcomes,
        **compared.who,
        clusters=compared.clusters,
        rng=seeds.generator("systems"),
        replicates=replicates,
    )
    pairs = {f"{first} vs {second}": each for (first, second), each in rates.pairs.items()}
    return {
        "win_rate": as_json(rates.systems),
        "pairs": as_json(pairs),
        **_strengths(compared, seeds.generator("bradley_terry"), fewer),
        "elo": _elo(compared, seeds.generator("elo"), fewer),
        "sep_elo": _separability_elo(compared, seeds.generator("sep_elo"), fewer),
        "prediction_powered": _prediction_powered(compared),
    }


def _strengths(compared: _Comparisons, rng: np.random.Generator, replicates: int) -> dict[str, Any]:
    apart = _why_apart(compared, compared.outcomes)
    if apart is not None:
        return {name: _nowhere(apart, compared) for name in ("bradley_terry", "bradley_terry_rank")}
    found = bradley_terry(
        compared.outcomes,
        **compared.who,
        clusters=compared.clusters,
        rng=rng,
        replicates=replicates,
    )
    places = ranks(found.systems, found.bootstrap_values) if found.systems else {}
    return {
        "bradley_terry": _of_all(found.systems, compared),
        "bradley_terry_rank": _of_all(places, compared),
    }


def _separability_elo(
    compared: _Comparisons, rng: np.random.Generator, replicates: int
) -> dict[str, Any]:
    if np.isnan(compared.separability).all():
        return _nowhere(NO_SEPARABILITY, compared)
    return _elo(compared, rng, replicates, compared.separability)


def _elo(
    compared: _Comparisons,
    rng: np.random.Generator,
    replicates: int,
    separability: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    most = MOST_GAMES // max(len(compared.outcomes), 1)
    if most < FEWEST_ORDERS:
        return _nowhere(TOO_MANY.format(most=MOST_GAMES // FEWEST_ORDERS), compared)
    played = np.zeros(len(compared.outcomes)) if separability is None else separability
    apart = _why_apart(compared, np.where(np.isnan(played)[:, None], 0, compared.outcomes))
    if apart is not None:
        return _nowhere(apart, compared)
    found = elo(
        compared.outcomes,
        **compared.who,
        separability=separability,
        clusters=compared.clusters,
        rng=rng,
        orders=min(most, RANKING_REPLICATES),
        replicates=min(most, replicates),
    )
    return _of_all(found.systems, compared)


def _prediction_powered(compared: _Comparisons) -> dict[str, Any]:
    """Machine → system → its win rate as humans would give it over all units."""
    by_human = compared.outcomes.any(axis=1)
    powering = {
        name: machine
        for name, machine in compared.machines.items()
        if np.any(machine.any(axis=1) & ~by_human)
    }
    if compared.is_drawn:
        return {name: _nowhere(DRAWN, compared) for name in powering}
    return {
        name: {system: _powered(compared, machine, system) for system in compared.systems}
        for name, machine in powering.items()
    }


def _powered(compared: _Comparisons, machine: NDArray[np.int64], system: str) -> dict[str, Any]:
    pairs = zip(compared.system_a, compared.system_b, strict=True)
    own = np.array([system in pair for pair in pairs])
    humans, clusters = compared.seen_by(system, compared.outcomes)[own], compared.clusters[own]
    found = prediction_powered_win_rate(
        humans, compared.seen_by(system, machine)[own], clusters=clusters
    )
    by_human, by_machine = humans.any(axis=1), machine[own].any(axis=1)
    sides = (by_human & by_machine, ~by_human & by_machine)
    fewest = min(len(np.unique(clusters[side])) for side in sides)
    return drop_unreliable_interval(found.estimate, fewest).as_json()


def _why_apart(compared: _Comparisons, outcomes: NDArray[np.int64]) -> str | None:
    """Which groups of systems never meet, so that no scale holds them all."""
    try:
        Games.of(outcomes, **compared.who)
    except DisconnectedError as error:
        return str(error)
    return None


def _of_all(found: Mapping[str, Estimate], compared: _Comparisons) -> dict[str, Any]:
    return _nowhere(NO_RATING, compared) | as_json(dict(found))


def _nowhere(reason: str, compared: _Comparisons) -> dict[str, Any]:
    return as_json({name: undefined(reason) for name in compared.systems})
