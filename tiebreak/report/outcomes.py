"""Human ratings of two systems, by unit and one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.stats import outcome_counts

NO_SYSTEMS = "The ratings of this criterion do not compare systems."
NO_ANNOTATORS = (
    "No annotator has given a preference between two systems on this criterion; machine raters alone do"
    " not suffice here."
)


class SystemNames(TypedDict):
    """The names of the two systems that each unit compares."""

    system_a: Sequence[str]
    system_b: Sequence[str]


def without_scores(criterion: Criterion) -> InvalidInput:
    """Return the refusal of a criterion in which no annotator compared two systems."""
    if criterion.scale.kind == "preference" and criterion.compares.any():
        return InvalidInput("no_annotators", NO_ANNOTATORS)
    return InvalidInput("no_systems", NO_SYSTEMS)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Units that compare two different systems, with the wins, ties and losses of the first.

    The first system of a unit is the one that is first in alphabetical order. `counts` has the shape
    (units, 3), `clusters` the instance of each unit, and `unit` its number in the criterion.
    """

    first: NDArray[np.str_]
    second: NDArray[np.str_]
    counts: NDArray[np.int64]
    clusters: NDArray[np.int64]
    unit: NDArray[np.int64]

    @classmethod
    def of(cls, criterion: Criterion) -> "Outcomes":
        """Return the human ratings. Raises `InvalidInput` if they compare no systems."""
        if criterion.scale.kind != "preference":
            raise InvalidInput("no_systems", NO_SYSTEMS)
        compared = criterion.compares
        if not compared.any():
            raise InvalidInput("no_systems", NO_SYSTEMS)
        a, b = (side[compared] for side in criterion.systems)
        counts = outcome_counts(criterion.humans[compared], criterion.labels)
        return cls(
            np.where(a < b, a, b),
            np.where(a < b, b, a),
            np.where((a < b)[:, None], counts, counts[:, ::-1]),
            criterion.clusters[compared],
            np.flatnonzero(compared),
        )

    @property
    def names(self) -> SystemNames:
        return {"system_a": self.first.tolist(), "system_b": self.second.tolist()}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of systems, in alphabetical order."""
        return sorted({*zip(self.first.tolist(), self.second.tolist(), strict=True)})

    def units_of(self, pair: tuple[str, str]) -> NDArray[np.int64]:
        """Return the rated units that compare two systems."""
        compared = (self.first == pair[0]) & (self.second == pair[1])
        return np.flatnonzero(compared & self.counts.any(axis=1))


@dataclass(frozen=True, eq=False)
class Scores:
    """Human ratings of pairs of systems one by one: 1, ½ or 0 if the first wins, ties or loses.

    The first system is the one that is first in alphabetical order. `first` and `second` are the
    systems of each rating, `unit`, `instance` and `rater` codes, and `row` its row in the criterion.
    """

    first: NDArray[np.str_]
    second: NDArray[np.str_]
    value: NDArray[np.float64]
    unit: NDArray[np.int64]
    instance: NDArray[np.int64]
    rater: NDArray[np.int64]
    row: NDArray[np.int64]

    @classmethod
    def of(cls, criterion: Criterion) -> "Scores":
        a, b = criterion.systems
        sign = np.sign(criterion.strength)  # NaN for "both bad"
        kept = criterion.is_human & ~np.isnan(sign) & criterion.compares[criterion.unit]
        unit = criterion.unit[kept]
        _, rater = criterion.rows.ranked("rater", kept)
        of_a = (1 - sign[kept]) / 2
        return cls(
            np.where(a < b, a, b)[unit],
            np.where(a < b, b, a)[unit],
            np.where((a < b)[unit], of_a, 1 - of_a),
            unit,
            criterion.clusters[unit],
            rater.astype(np.int64),
            np.flatnonzero(kept),
        )

    @property
    def counts(self) -> NDArray[np.int64]:
        """Wins, ties and losses of the first system, 1 or 0 for each rating."""
        return np.stack([self.value == value for value in (1, 0.5, 0)], axis=1).astype(np.int64)

    def of_pair(self, pair: tuple[str, str]) -> "Scores":
        kept = (self.first == pair[0]) & (self.second == pair[1])
        return self.select(kept)

    def of_system(self, system: str, other: str | None = None) -> "Scores":
        """Return the ratings of a system against one other or all, with its wins as 1."""
        involved = (self.first == system) | (self.second == system)
        if other is not None:
            involved &= (self.first == other) | (self.second == other)
        chosen = self.select(involved)
        value = np.where(chosen.first == system, chosen.value, 1 - chosen.value)
        return replace(chosen, value=value)

    def select(self, kept: NDArray[np.bool_]) -> "Scores":
        if kept.all():  # in a study of two systems, all ratings compare both
            return self
        return Scores(*(column[kept] for column in vars(self).values()))
