"""A part of the instances whose ratings by annotators a board does not use, and how well it is foretold."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import in_population
from tiebreak.report.model.rankings import Foretold, HiddenPart, LeaderboardSection
from tiebreak.report.sections.machines.win_rate_strata import machine_design, scores_by_machine
from tiebreak.report.sections.systems.comparisons import UNEVEN, Comparisons, SystemScores
from tiebreak.report.sections.systems.rank_correlations import possible_correlations
from tiebreak.report.sections.systems.rank_stability import correlation_of_ranks
from tiebreak.stats import Estimate, RankSet, rank_sets, undefined
from tiebreak.stats.core.independence import MIN_CLUSTERS, drop_unreliable_interval
from tiebreak.stats.core.results import NEW_INSTANCES, NEW_RATERS, NarrowerInterval

LEVEL = 0.975  # of the ranks of each of two boards, so that both hold in 95%
METHOD = "orders that the ranks of both boards allow, max-t, Bonferroni"
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class HiddenDraw:
    """Which instances are hidden: about this share of them, by a hash of the seed and each one's id.

    An instance is hidden or not whatever others there are, so later ones change nothing.
    """

    share: float
    seed: int
    fixed_at: str = ""

    def hides(self, instance: str) -> bool:
        digest = hashlib.sha256(f"{self.seed}:hidden:{instance}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < self.share * 2**64

    def members(self, instances: NDArray[np.str_]) -> Mask:
        """Return which of these instances, of which one may occur many times, are hidden."""
        names, codes = np.unique(instances, return_inverse=True)
        return np.array([self.hides(str(name)) for name in names], dtype=bool)[codes]

    def public(self, table: RatingTable) -> RatingTable:
        """Return the ratings without annotators' of hidden instances."""
        hidden = self.members(table["instance"].astype(str))
        return table.select(~(hidden & (table["kind"] == "human")))


def with_hidden_part(
    board: LeaderboardSection, whole: Criterion, drawn: HiddenDraw
) -> LeaderboardSection:
    """Return a board of the public ratings with what it says of the hidden part.

    A system that annotators rated in the hidden part only is not one that only machines rated.
    """
    compared = Comparisons.of(whole)
    hidden = drawn.members(whole.of_units("instance").astype(str))
    rated = {s for s in compared.systems if compared.outcomes_of(s, compared.outcomes).any()}
    of_units = np.unique(whole.clusters[compared.number])
    of_hidden = np.unique(whole.clusters[compared.number[hidden[compared.number]]])
    only = {
        machine: {name: rate for name, rate in of.items() if name not in rated}
        for machine, of in (board.machines_only or {}).items()
    }
    part = HiddenPart(
        share=drawn.share,
        seed=drawn.seed,
        fixed_at=drawn.fixed_at,
        instances=len(of_units),
        hidden=len(of_hidden),
        machines=dict(_foretold(compared, hidden, sorted(rated))),
    )
    return replace(board, machines_only={m: of for m, of in only.items() if of}, hidden=part)


def _foretold(
    compared: Comparisons, hidden: Mask, systems: Sequence[str]
) -> Iterator[tuple[str, Foretold]]:
    for machine in sorted(compared.machines):

        def foretold(judged: Mask, rated: Mask, machine: str = machine) -> Estimate:
            boards = (
                _Board.of_machine(compared, machine, judged),
                _Board.of_people(compared, rated),
            )
            return compared.scoped({machine: _correlation(*boards, systems)})[machine]

        yield machine, Foretold(foretold(~hidden, hidden), foretold(hidden, ~hidden))


@dataclass(frozen=True, eq=False)
class _Board:
    """The scores of each system in some units, and whether the systems met equally often there."""

    scores: dict[str, SystemScores]
    is_even: bool

    @classmethod
    def of_machine(cls, compared: Comparisons, machine: str, members: Mask) -> "_Board":
        used = members & in_population(compared.criterion)
        counts = compared.machines[machine] * used[compared.number][:, None]
        even = compared.are_even(counts, machine_design(compared, machine))
        return cls(scores_by_machine(compared, machine, used), even)

    @classmethod
    def of_people(cls, compared: Comparisons, members: Mask) -> "_Board":
        counts = compared.outcomes * members[compared.number][:, None]
        every = {name: compared.scores_of(name) for name in compared.systems}
        scores = {name: one.of(members[one.unit]) for name, one in every.items()}
        return cls(scores, compared.are_even(counts, compared.design))

    def instances(self, systems: Sequence[str]) -> float:
        """Return the effective number of instances of the system that has the fewest."""
        return min(self.scores[name].effective_instances for name in systems)

    def rates(self, systems: Sequence[str]) -> NDArray[np.float64]:
        return np.array([self.scores[name].mean for name in systems])

    def ranks(self, systems: Sequence[str], *, of_these: bool) -> dict[str, RankSet]:
        means = {name: self.scores[name].rated(of_these=of_these) for name in systems}
        return rank_sets(means, confidence_level=LEVEL)


def _correlation(machine: _Board, people: _Board, systems: Sequence[str]) -> Estimate:
    """Return Spearman's ρ of two boards, with what the ranks that each system may have allow."""
    if not (machine.is_even and people.is_even):
        return undefined(UNEVEN)
    value, reason = correlation_of_ranks(machine.rates(systems), people.rates(systems))
    if value is None:
        return undefined(reason or UNEVEN)

    def ends(*, of_these: bool) -> tuple[float, float]:
        ranks = (board.ranks(systems, of_these=of_these) for board in (machine, people))
        low, high = possible_correlations(*ranks)
        return min(low, value), max(high, value)

    point = Estimate(value, n=len(systems))
    instances = min(board.instances(systems) for board in (machine, people))
    if instances < MIN_CLUSTERS:
        return drop_unreliable_interval(point, instances)
    low, high = ends(of_these=True)
    of_these = replace(point, low=low, high=high, method=METHOD)
    if not all(people.scores[name].has_several_raters for name in systems):
        return of_these
    wide, inner = ends(of_these=False), NarrowerInterval(low, high, NEW_INSTANCES, METHOD)
    return replace(
        of_these,
        low=min(low, wide[0]),
        high=max(high, wide[1]),
        stated_scope=NEW_RATERS,
        narrower=(inner,),
    )
