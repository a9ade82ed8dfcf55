"""A part of the instances whose ratings by annotators a board does not use, and how well it is foretold."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.rankings import Foretold, HiddenPart, LeaderboardSection
from tiebreak.report.sections.machines.win_rate_strata import by_machine, win_rates_among
from tiebreak.report.sections.systems.comparisons import UNEVEN, Comparisons
from tiebreak.report.sections.systems.rank_stability import correlation_of_ranks

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
    compared: Comparisons, hidden: Mask, systems: Collection[str]
) -> Iterator[tuple[str, Foretold]]:
    seeds = Seeds(0, ("hidden part",))

    def people(members: Mask) -> Estimates:
        return win_rates_among(compared, members, seeds, 0)

    for name, outcomes in sorted(compared.machines.items()):

        def judged(members: Mask, machine: str = name) -> Estimates:
            return by_machine(compared, machine, members, seeds.generator(machine), 0)

        uneven = [
            not compared.are_even(counts * members[compared.number][:, None])
            for counts, members in (
                (outcomes, ~hidden),
                (compared.outcomes, hidden),
                (outcomes, hidden),
                (compared.outcomes, ~hidden),
            )
        ]
        value, reason = _correlation(judged(~hidden), people(hidden), systems, any(uneven[:2]))
        other, why_not = _correlation(judged(hidden), people(~hidden), systems, any(uneven[2:]))
        yield name, Foretold(value, other, reason, why_not)


def _correlation(
    machine: Estimates, people: Estimates, systems: Collection[str], is_uneven: bool
) -> tuple[float | None, str | None]:
    if is_uneven:
        return None, UNEVEN
    x, y = (
        np.array([of[name].value if name in of else np.nan for name in systems], dtype=float)
        for of in (machine, people)
    )
    return correlation_of_ranks(x, y)
