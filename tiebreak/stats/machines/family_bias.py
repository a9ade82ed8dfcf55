"""Whether a judge prefers texts of its own model family more than people do."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.independence import drop_unreliable_interval, effective_size
from tiebreak.stats.core.joint_intervals import NO_SPREAD
from tiebreak.stats.core.results import THESE, Estimate, undefined
from tiebreak.stats.core.two_way import two_way_mean
from tiebreak.stats.core.validation import FloatArray, as_groups, as_numbers, check_same_length

NO_PEOPLE = "No annotator rated an item on which the machine rater compared a text of its own family with another."
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FamilyBias:
    """How often texts of a judge's own family are preferred, by the judge and by people."""

    machine: Estimate
    """Win rate of the judge's family by the judge, from 0 to 1."""
    humans: Estimate
    """The same by people, on the same units."""
    difference: Estimate
    """The judge's minus people's, from −1 to 1."""


def family_bias(
    machine: npt.ArrayLike,
    scores: npt.ArrayLike,
    units: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike,
    raters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> FamilyBias:
    """Estimate how much more often a judge prefers texts of its own family than people do.

    Parameters
    ----------
    machine : array_like of float, shape (n_units,)
        The judge's score of the text of its family in each unit, the mean over its runs and orders: 1
        if it is preferred, ½ for a tie, 0 if the other one is.
    scores : array_like of float, shape (n_ratings,)
        The same score of each rating by people.
    units : array_like of int, shape (n_ratings,)
        Unit of each rating, as indices from 0. Units without a rating are left out.
    clusters : array_like, shape (n_units,)
        Instance of each unit.
    raters : array_like of int, shape (n_ratings,), optional
        Person of each rating, as codes from 0, for intervals that allow for other people.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, such as the inverse of the probability with which its instance was drawn.
    confidence_level : float, default 0.95
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    FamilyBias
        Both win rates and their difference; undefined without a rating by people.

    Raises
    ------
    InvalidInput
        If arguments differ in length, or a score is not from 0 to 1.

    See Also
    --------
    position_bias, length_bias : Other preferences for something other than a text's content.

    Notes
    -----
    Every unit has the same weight in all three, whoever rated it how often: the difference is the mean
    over units of the judge's score minus the mean of people's scores. It is paired, so what makes the
    texts of a family better or worse in people's eyes cancels out. The interval comes from instances and,
    if `raters` are given, from people; it takes the judge as it is. A difference above 0 does not show
    why: the judge may share people's standards less where its family is concerned, or value something
    that its family does often, such as length.

    Examples
    --------
    >>> found = family_bias([1, 1, 0.5, 1], [1, 0, 0.5, 0], [0, 1, 2, 3], clusters=[0, 1, 2, 3])
    >>> found.machine.value, found.humans.value, found.difference.value
    (0.875, 0.375, 0.5)
    """
    judged, human = as_numbers(machine, name="machine"), as_numbers(scores, name="scores")
    unit = np.asarray(units, dtype=np.int64)
    rater = np.full(len(human), -1) if raters is None else np.asarray(raters, dtype=np.int64)
    check_same_length(scores=human, units=unit, raters=rater)
    instance = as_groups(clusters, length=len(judged), name="clusters")
    weight = np.ones(len(judged)) if weights is None else as_numbers(weights, name="weights")
    check_same_length(machine=judged, weights=weight)
    if any(
        values.size and not 0 <= values.min() <= values.max() <= 1 for values in (judged, human)
    ):
        raise InvalidInput("out_of_range", "Scores must be from 0 to 1.")
    if not len(human):
        return FamilyBias(*(undefined(NO_PEOPLE),) * 3)
    share = weight[unit] / np.bincount(unit, minlength=len(judged))[unit]
    mean = _Mean(instance[unit], share, len(np.unique(unit)), confidence_level)
    return FamilyBias(
        mean.of(judged[unit], np.full(len(unit), -1), (0, 1)),
        mean.of(human, rater, (0, 1)),
        mean.of(judged[unit] - human, rater, (-1, 1)),
    )


@dataclass(frozen=True, eq=False)
class _Mean:
    """Means over ratings in which every unit has its own weight."""

    instance: npt.NDArray[np.int64]
    weight: FloatArray
    n_units: int
    level: float

    def of(
        self, values: FloatArray, raters: npt.NDArray[np.int64], bounds: tuple[float, float]
    ) -> Estimate:
        value = float(self.weight @ values / self.weight.sum())
        point = Estimate(value, value, value, n=self.n_units, stated_scope=THESE)
        point = drop_unreliable_interval(
            point, effective_size(np.bincount(self.instance, self.weight))
        )
        if not point.has_interval:
            return point
        if np.ptp(values) < _ROUNDING:
            return replace(point, low=float("nan"), high=float("nan"), reason=NO_SPREAD)
        widened = partial(
            two_way_mean,
            values,
            self.instance,
            weights=self.weight,
            bounds=bounds,
            confidence_level=self.level,
        )
        of_these = widened(np.full(len(values), -1), narrow=point)
        return widened(raters, narrow=of_these)
