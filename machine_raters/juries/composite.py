"""Which members a composite follows: on each item those that agree best with annotators on its kind.

Source: Lyu et al. 2024 (HREF). On an item that annotators rated, a member counts by what it did on others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Rater, Rating
from machine_raters.models import Jury
from studies.models import Unit
from tiebreak.scales import Scale
from tiebreak.stats import Comparison, composite_shares, cross_validated_composite

# Leave-one-out agreement needs so many annotators of an item.
MIN_RATINGS = 2
SEED = 0


@dataclass(frozen=True, eq=False)
class Known:
    """The items by which members are chosen: their instances and categories, and members' credits."""

    units: list[int]
    instances: list[int]
    categories: list[str]
    credits: NDArray[np.float64]

    @property
    def suffices(self) -> bool:
        """Whether an item can be left out, and there are others."""
        return len(set(self.instances)) > 1

    @classmethod
    def of(cls, jury: Jury, members: Sequence[int], answered: Any) -> "Known":
        scale, labels = jury.criterion.parsed_scale, jury.criterion.parsed_scale.labels or ()
        code = {str(label): n for n, label in enumerate(labels)}
        rows = Rating.objects.counted().filter(
            criterion=jury.criterion, unit__in=answered.values("pk"), repeat=0, nonresponse=""
        )
        people = rows.filter(rater__kind=Rater.Kind.HUMAN, label__isnull=False)
        counts: dict[int, NDArray[np.int64]] = {}
        for unit, label in people.values_list("unit", "label"):
            counts.setdefault(unit, np.zeros(len(labels), dtype=np.int64))[code[str(label)]] += 1
        humans = {unit: given for unit, given in counts.items() if given.sum() >= MIN_RATINGS}
        about = Unit.objects.filter(pk__in=humans).order_by("pk")
        facts = list(about.values_list("pk", "instance", "instance__category"))
        units = [unit for unit, *_ in facts]
        if not units:
            return cls([], [], [], np.zeros((0, len(members))))
        given = np.array([humans[unit] for unit in units]).reshape(-1, len(labels))
        index = {unit: n for n, unit in enumerate(units)}
        shape = (len(members), len(units), len(labels) + 1)
        answers: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        number = {member: n for n, member in enumerate(members)}
        of_members = rows.filter(rater__in=members, unit__in=units)
        for member, unit, label in of_members.values_list("rater", "unit", "label"):
            answers[number[member], index[unit], code.get(str(label), -1)] += 1
        credits = [_credits(given, one, scale) for one in answers]
        categories = [category or "" for *_, category in facts]
        instances = [unit if one is None else one for unit, one, _ in facts]
        return cls(units, instances, categories, np.stack(credits, axis=1))


def _credits(humans: NDArray[np.int64], answers: NDArray[np.int64], scale: Scale) -> NDArray[Any]:
    """Return a member's leave-one-out agreement on each item; the last column are unreadable answers."""
    compared = Comparison.of(humans, answers[:, :-1], unparsed=answers[:, -1])
    statistic = compared.pairs(level=scale.level).leave_one_out_statistic()
    return np.asarray(statistic.features(np.column_stack([humans, answers]))[:, 1])


def followed(known: Known, units: Sequence[int]) -> NDArray[np.bool_]:
    """Return which members are followed on each unit, by unit and member."""
    category = dict(Unit.objects.filter(pk__in=units).values_list("pk", "instance__category"))
    of = [category[unit] or "" for unit in units]
    shares = composite_shares(known.credits, known.categories, of=of)
    on_others = cross_validated_composite(
        known.credits,
        known.categories,
        clusters=known.instances,
        rng=np.random.default_rng(SEED),
    ).shares
    index = {unit: n for n, unit in enumerate(known.units)}
    for n, unit in enumerate(units):
        if unit in index:
            shares[n] = on_others[index[unit]]
    return np.asarray(shares > 0)
