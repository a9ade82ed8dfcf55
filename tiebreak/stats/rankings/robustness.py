"""How few ratings decide a ranking: small sets of ratings whose removal changes it.

Ratings of one pair of systems with the same outcome and weight are exchangeable in a Bradley–Terry
fit and in win rates, so a set of ratings is a number for each of these kinds. A set is built by influence, the
first-order change when a rating leaves, and counts only if the refitted ranking has changed. Where
all smaller sets can be tried, they are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    as_positive_weights,
    check_choice,
    check_positive,
    check_same_length,
)
from tiebreak.stats.rankings.comparisons import LOSS, TIE, WIN, DisconnectedError, Games
from tiebreak.stats.rankings.paired_likelihood import (
    Outcomes,
    maximum_likelihood,
    reason_without_maximum,
)

By = Literal["bradley_terry", "win_rate"]
Outcome = Literal["won", "tied"]

SCORES = np.array([1.0, 0.5, 0.0])
# Log-strengths are accurate to about 1e-9, and a smaller lead is none.
TOLERANCE = 1e-8
MAX_ROUNDS = 60
MAX_SETS = 20_000
# Systems squared, for each set that is tried.
MAX_CELLS = 500_000
# Kinds of ratings, for each set that is tried.
MAX_NUMBERS = 5_000_000
MAX_SIZE = 60
MAX_RIVALS = 5
NO_RATINGS = "No rating compares two systems."
SHARED_TOP = "Several systems share the first rank."
NO_SET = "The search shows no set of ratings whose removal puts another system first."
NO_ORDER = "The pair is even, so it has no order to change."
NEVER_LOST = "No rating prefers the system that is behind, so removing ratings cannot put it ahead."


@dataclass(frozen=True)
class RemovedRatings:
    """Ratings of one kind that a set contains."""

    system: str
    other: str
    """The two systems that the ratings compare."""
    outcome: Outcome
    """Whether `system` won, or neither did."""
    ratings: int
    """Number of these ratings in the set."""


@dataclass(frozen=True)
class Robustness:
    """A small set of ratings whose removal changes a ranking.

    See Also
    --------
    top_robustness, pair_robustness : Compute it.
    """

    first: str
    """System that is ahead with all ratings; empty if none is."""
    new_first: str
    """System that is ahead without the set; empty if there is no set."""
    removals: int
    """Number of ratings in the set; 0 if there is no set. The fewest ratings that change the
    ranking are this number or fewer."""
    ratings: int
    """Number of all ratings."""
    is_fewest: bool
    """Whether no smaller set changes the ranking, because all of them were tried or because the
    number follows from counts."""
    removed: tuple[RemovedRatings, ...] = ()
    """Ratings in the set."""
    reason: str | None = None
    """Why there is no set."""


def top_robustness(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    by: By = "bradley_terry",
    weights: npt.ArrayLike | None = None,
) -> Robustness:
    """Search a small set of ratings whose removal puts another system first.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B.
    system_a, system_b : sequence of str, length n_units
        Names of the two systems that each unit compares.
    by : {"bradley_terry", "win_rate"}, default "bradley_terry"
        Whether systems are ranked by Bradley–Terry strength, where a tie counts as half a win for
        each system, or by win rate over all their comparisons.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit's ratings in both, above 0; 1 by default.

    Returns
    -------
    Robustness
        The smallest set that the search reached. Without the set, another system is strictly ahead
        of the one that is first with all ratings, and every system still has a score. There is no
        set if systems share the first rank, if they cannot be ranked, or if no set was reached.

    Raises
    ------
    InvalidInput
        If a unit compares a system with itself, the arguments differ in length, or a weight is not
        above 0.

    See Also
    --------
    pair_robustness : The same for the order of two systems by their direct comparisons.
    bradley_terry, win_rates : Estimate the scores.

    Notes
    -----
    The number of removals is an upper bound: there may be a smaller set that the search did not
    reach, unless `is_fewest` is set. Ratings are removed in the order of their influence on the lead,
    the derivative of the difference of two scores by the weight of a rating (Broderick, Giordano and
    Meager 2020, eq. 3.3), which is renewed as ratings leave; the ranking is refitted without them.
    All smaller sets are tried if there are at most 20,000 of them, or fewer with many systems. Source of the question: Huang et
    al. 2026.

    Examples
    --------
    >>> games = [[3, 0, 2], [3, 0, 2], [2, 0, 3]]
    >>> top = top_robustness(games, system_a=["x", "x", "y"], system_b=["y", "z", "z"])
    >>> top.first, top.new_first, top.removals, top.is_fewest
    ('x', 'z', 2, True)
    """
    check_choice(by, allowed=("bradley_terry", "win_rate"), name="by")
    try:
        games = Games.of(counts, system_a=system_a, system_b=system_b)
    except DisconnectedError as error:
        return _without_set(error.message)
    if not games.names:
        return _without_set(NO_RATINGS)
    table = _Table.of(games, _weights_of_units(weights, len(system_a))[games.units])
    scoring: _Scoring = _Strengths(table) if by == "bradley_terry" else _WinRates(table)
    scores = scoring.scores(table.ratings[None].astype(float))[0]
    if np.isnan(scores).any():
        reason = reason_without_maximum(table.outcomes(table.ratings[None]), games.names)
        return _without_set(reason or NO_RATINGS, int(table.ratings.sum()))
    return _search(table, scoring, scores)


def _weights_of_units(weights: npt.ArrayLike | None, units: int) -> FloatArray:
    values = as_positive_weights(weights, length=units)
    # Scores do not depend on the unit of weights, and tolerances should not, either.
    return np.asarray(values / values.max(initial=0)) if units else values


def pair_robustness(
    wins: int,
    ties: int,
    losses: int,
    *,
    names: tuple[str, str],
    weights: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> Robustness:
    """Return the fewest ratings whose removal reverses the order of two systems.

    Parameters
    ----------
    wins, ties, losses : int
        Numbers of ratings in which the first system won, tied and lost against the second.
    names : tuple of (str, str)
        Names of the first and the second system.
    weights : (array_like of float, array_like of float), shapes (wins,) and (losses,), optional
        Weights, above 0, of the ratings in which the first system won and lost; 1 by default. The
        order is then by the weighted win rate.

    Returns
    -------
    Robustness
        The fewest ratings. There is no set if the pair is even, or if the system that is behind
        never won.

    See Also
    --------
    top_robustness : The same for the system that is first of all.

    Notes
    -----
    A win rate is above ½ if wins outnumber losses. Every removed win shortens the lead by 1, and no
    other rating does so by more. So the fewest are the lead plus 1, if that leaves no fewer than 0
    wins. With weights, a removed win shortens the lead by its weight, and the heaviest wins go first.

    Examples
    --------
    >>> pair_robustness(7, 2, 4, names=("x", "y")).removals
    4
    """
    ratings = wins + ties + losses
    of_wins, of_losses = _weights_of_sides(weights, (wins, losses))
    lead = float(of_wins.sum() - of_losses.sum())
    least = TOLERANCE * float(of_wins.sum() + of_losses.sum())
    if abs(lead) <= least:
        return _without_set(NO_ORDER if ratings else NO_RATINGS, ratings)
    ahead, behind = names if lead > 0 else names[::-1]
    if not min(wins, losses):
        return Robustness(ahead, "", 0, ratings, False, reason=NEVER_LOST)
    heaviest_first = -np.sort(-(of_wins if lead > 0 else of_losses))
    removals = int((heaviest_first.cumsum() <= abs(lead) + least).sum()) + 1
    removed = (RemovedRatings(ahead, behind, "won", removals),)
    return Robustness(ahead, behind, removals, ratings, True, removed)


def _weights_of_sides(
    weights: tuple[npt.ArrayLike, npt.ArrayLike] | None, sizes: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    if weights is None:
        return np.ones(sizes[0]), np.ones(sizes[1])
    sides = as_numbers(weights[0], name="weights"), as_numbers(weights[1], name="weights")
    for side, size in zip(sides, sizes, strict=True):
        check_same_length(ratings=np.zeros(size), weights=side)
        check_positive(side)
    return sides


def interval_robustness(
    values: npt.ArrayLike,
    instances: npt.ArrayLike,
    interval: Callable[[npt.NDArray[np.bool_]], tuple[float, float]],
    *,
    reference: float = 0.5,
    weights: npt.ArrayLike | None = None,
) -> int:
    """Search a small number of ratings whose removal makes an interval include a reference value.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating in a mean, such as 1, ½ or 0 for a win, a tie and a loss.
    instances : array_like, shape (n_ratings,)
        Instance of each rating.
    interval : callable
        Returns the ends of the interval from the ratings that a mask of the shape (n_ratings,)
        keeps, or NaN if there is none.
    reference : float, default 0.5
        The value that the interval excludes with all ratings.
    weights : array_like of float, shape (n_ratings,), optional
        Weight of each rating in the mean, above 0; 1 by default.

    Returns
    -------
    int
        Number of ratings of a set that was removed to check that the interval without it includes the
        reference value or is undefined. The fewest are this number or fewer. 0 if the interval of
        all ratings does not exclude the reference value.

    Raises
    ------
    InvalidInput
        If a value is not finite, a weight is not above 0, or the vectors differ in length.

    See Also
    --------
    top_robustness, pair_robustness : The same for the order of systems.

    Notes
    -----
    Ratings leave in the order of their first-order influence on the end of the interval that is
    nearer to the reference value, with the variance between instances. The number comes from
    bisection, in which every step recomputes the interval.

    Examples
    --------
    >>> values = np.array([1.0] * 9 + [0.0])
    >>> def ends(kept):
    ...     share = values[kept].mean()
    ...     return share - 0.25, share + 0.25
    >>> interval_robustness(values, range(10), ends)
    6
    """
    value = as_numbers(values, name="values")
    instance = as_groups(instances, length=len(value), name="instances")
    low, high = interval(np.ones(len(value), dtype=np.bool_))
    if not (low > reference or high < reference):
        return 0
    nearer = low if low > reference else high
    weight = np.ones(len(value)) if weights is None else as_numbers(weights, name="weights")
    check_same_length(values=value, weights=weight)
    check_positive(weight)
    order = np.argsort(_pull(value, weight, instance, nearer), kind="stable")

    def excludes(removed: int) -> bool:
        kept = np.ones(len(value), dtype=np.bool_)
        kept[order[:removed]] = False
        ends = interval(kept) if kept.any() else (NAN, NAN)
        return bool(ends[0] > reference or ends[1] < reference)

    return _bisected(excludes, len(value))


def _bisected(holds: Callable[[int], bool], most: int) -> int:
    """Return a number at which it does not hold, 1 above one at which it does; ``most`` at most."""
    low, high = 0, 1
    while high < most and holds(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return high


def _pull(value: FloatArray, weight: FloatArray, instance: IntArray, end: float) -> FloatArray:
    """Return by how much an end of the interval moves towards the mean's other side; most first.

    Without a rating of weighted deviation e, the mean loses e / Σ w. With S for the sum of deviations
    of an instance, the variance, proportional to Σ S², loses a share of 2 S e / Σ S², and the half-width
    half of that share.
    """
    mean = float(weight @ value / weight.sum())
    deviation = weight * (value - mean)
    sums = np.bincount(instance, deviation)
    squares = max(float(sums @ sums), np.finfo(float).tiny)
    of_width = abs(mean - end) * sums[instance] * deviation / squares
    return np.asarray(of_width - np.sign(mean - end) * deviation / weight.sum())


def _without_set(reason: str, ratings: int = 0, first: str = "") -> Robustness:
    return Robustness(first, "", 0, ratings, False, reason=reason)


@dataclass(frozen=True, eq=False)
class _Table:
    """Numbers of ratings by kind, which is a pair of systems, a weight and an outcome.

    `first` and `second` are the systems of each row, `weight` is its ratings' weight, and `ratings` has
    the three outcomes of each row, in one vector of the length 3 · rows.
    """

    names: tuple[str, ...]
    first: IntArray
    second: IntArray
    weight: FloatArray
    ratings: IntArray

    @classmethod
    def of(cls, games: Games, weights: FloatArray) -> "_Table":
        columns = np.column_stack([games.first, games.second, weights])
        rows, row = np.unique(columns, axis=0, return_inverse=True)
        ratings = np.zeros((len(rows), 3), dtype=np.int64)
        np.add.at(ratings, row, games.counts)
        first, second = rows[:, :2].T.astype(np.int64)
        return cls(games.names, first, second, rows[:, 2], ratings.ravel())

    def outcomes(self, ratings: npt.NDArray[np.number]) -> Outcomes:
        """Return the wins of samples of ratings, shape (samples, kinds); a tie is half a win each."""
        by_row = ratings.reshape(len(ratings), -1, 3) * self.weight[:, None]
        wins = np.zeros((len(self.names), len(self.names), len(ratings)))
        of_first, of_second = (by_row[..., end] + by_row[..., TIE] / 2 for end in (WIN, LOSS))
        np.add.at(wins, (self.first, self.second), of_first.T)
        np.add.at(wins, (self.second, self.first), of_second.T)
        wins = np.ascontiguousarray(np.moveaxis(wins, -1, 0))
        return Outcomes(wins, np.zeros_like(wins))

    def described(self, removed: IntArray) -> tuple[RemovedRatings, ...]:
        """Return the removed ratings by systems and outcome, the most frequent first."""
        numbers: Counter[tuple[str, str, Outcome]] = Counter()
        for kind in np.flatnonzero(removed).tolist():
            row, outcome = divmod(kind, 3)
            names = self.names[self.first[row]], self.names[self.second[row]]
            winner, other = names[::-1] if outcome == LOSS else names
            numbers[(winner, other, "tied" if outcome == TIE else "won")] += int(removed[kind])
        return tuple(RemovedRatings(*kind, number) for kind, number in numbers.most_common())


class _Scoring(Protocol):
    """A way to score systems, and the influence of ratings on differences of scores."""

    def scores(self, ratings: FloatArray) -> FloatArray:
        """Return the scores of samples, shape (samples, systems); NaN if a sample has none."""

    def influences(self, ratings: FloatArray, scores: FloatArray, lead: FloatArray) -> FloatArray:
        """Return the derivatives of lead · scores by the weight of a rating of each kind."""


class _Strengths:
    """Bradley–Terry strengths. Newton's method starts where it ended the last time."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._start: FloatArray | None = None

    def scores(self, ratings: FloatArray) -> FloatArray:
        fit = maximum_likelihood(self._table.outcomes(ratings), start=self._start)
        if len(ratings) == 1 and fit.converged[0]:
            self._start = fit.parameters[0]
        return fit.parameters[:, :-1]

    def influences(self, ratings: FloatArray, scores: FloatArray, lead: FloatArray) -> FloatArray:
        first, second, systems = self._table.first, self._table.second, len(scores)
        games = ratings.reshape(-1, 3).sum(axis=1) * self._table.weight
        expected = 1 / (1 + np.exp(scores[second] - scores[first]))
        information = np.full((systems, systems), 1 / systems)  # the mean of strengths stays 0
        weight = games * expected * (1 - expected)
        np.add.at(information, (first, first), weight)
        np.add.at(information, (second, second), weight)
        np.add.at(information, (first, second), -weight)
        np.add.at(information, (second, first), -weight)
        direction = np.linalg.solve(information, lead)
        along = (direction[first] - direction[second]) * self._table.weight
        return np.asarray((along[:, None] * (SCORES - expected[:, None])).ravel())


class _WinRates:
    """Win rates over all comparisons of a system."""

    def __init__(self, table: _Table) -> None:
        self._table = table

    def scores(self, ratings: FloatArray) -> FloatArray:
        wins = self._table.outcomes(ratings).wins.sum(axis=2)
        games = self._games(ratings)
        rates = np.full(wins.shape, NAN)
        has_all = (games > 0).all(axis=1)
        rates[has_all] = wins[has_all] / games[has_all]
        return rates

    def influences(self, ratings: FloatArray, scores: FloatArray, lead: FloatArray) -> FloatArray:
        games, first, second = self._games(ratings[None])[0], self._table.first, self._table.second
        of_first = (lead / games)[first, None] * (SCORES - scores[first, None])
        of_second = (lead / games)[second, None] * (1 - SCORES - scores[second, None])
        return np.asarray(((of_first + of_second) * self._table.weight[:, None]).ravel())

    def _games(self, ratings: FloatArray) -> FloatArray:
        return np.asarray(self._table.outcomes(ratings).n_games.sum(axis=2))


def _search(table: _Table, scoring: _Scoring, scores: FloatArray) -> Robustness:
    """Return the smallest set for the most promising rivals, or all smaller sets' best."""
    top, total = int(np.argmax(scores)), int(table.ratings.sum())
    first = table.names[top]
    if int((scores >= scores[top] - TOLERANCE).sum()) > 1:
        return _without_set(SHARED_TOP, total)
    rivals = sorted(set(range(len(scores))) - {top}, key=lambda one: (-scores[one], one))
    predicted = {
        rival: _predicted_size(table, scoring, scores, _lead(len(scores), top, rival))
        for rival in rivals
    }
    promising = sorted(rivals, key=lambda rival: predicted[rival])[:MAX_RIVALS]
    sets = [_removal(table, scoring, _lead(len(scores), top, rival)) for rival in promising]
    smallest = min((s for s in sets if s is not None), key=lambda s: s.sum(), default=None)
    most = total if smallest is None else int(smallest.sum())
    exact, is_fewest = _exhaustive(table, scoring, top, most)
    best = exact if exact is not None else smallest
    if best is None:
        return _without_set(NO_SET, total, first)
    left = scoring.scores((table.ratings - best)[None].astype(float))[0]
    new_first = table.names[int(np.argmax(left))]
    return Robustness(first, new_first, int(best.sum()), total, is_fewest, table.described(best))


def _lead(systems: int, top: int, rival: int) -> FloatArray:
    lead = np.zeros(systems)
    lead[top], lead[rival] = 1, -1
    return lead


def _predicted_size(
    table: _Table, scoring: _Scoring, scores: FloatArray, lead: FloatArray
) -> float:
    """Return how many removals would end the lead if influences did not change."""
    influences = scoring.influences(table.ratings.astype(float), scores, lead)
    order = np.argsort(-influences, kind="stable")
    gains = np.clip(influences[order], 0, None) * table.ratings[order]
    reached = np.cumsum(gains)
    short = float(lead @ scores)
    if not len(reached) or reached[-1] < short:
        return float("inf")
    kind = int(np.searchsorted(reached, short))
    before = reached[kind] - gains[kind]
    sizes = np.cumsum(table.ratings[order])
    return float(
        sizes[kind] - table.ratings[order[kind]] + (short - before) / influences[order[kind]]
    )


def _removal(table: _Table, scoring: _Scoring, lead: FloatArray) -> IntArray | None:
    """Return a set whose removal puts the rival ahead, or None if the search reaches none."""
    path = _path(table, scoring, lead)
    if path is None:
        return None
    kinds = np.concatenate([np.repeat(kind, number) for kind, number in path])
    low, high = 0, len(kinds)  # the whole path turns the lead
    while high - low > 1:
        middle = (low + high) // 2
        left = table.ratings - _counted(kinds[:middle], table)
        if lead @ scoring.scores(left[None].astype(float))[0] < -TOLERANCE:  # False if undefined
            high = middle
        else:
            low = middle
    return _counted(kinds[:high], table)


def _counted(kinds: IntArray, table: _Table) -> IntArray:
    return np.bincount(kinds, minlength=len(table.ratings)).astype(np.int64)


def _path(table: _Table, scoring: _Scoring, lead: FloatArray) -> list[tuple[int, int]] | None:
    """Return kinds and numbers of ratings to remove, in order, until the rival is ahead.

    About half of the ratings that are predicted to be needed leave at a time so that influences are
    renewed on the way and the end is not overshot by much.
    """
    left, path = table.ratings.copy(), list[tuple[int, int]]()
    for _ in range(MAX_ROUNDS):
        scores = scoring.scores(left[None].astype(float))[0]
        short = float(lead @ scores)
        if np.isnan(short):
            return None
        if short < -TOLERANCE:
            return path
        influences = scoring.influences(left.astype(float), scores, lead)
        step = _step(left, influences, short)
        if not step:
            return None
        for kind, number in step:
            left[kind] -= number
        path += step
    return None


def _step(left: IntArray, influences: FloatArray, short: float) -> list[tuple[int, int]]:
    """Return the next ratings to remove: those with the most influence, for half of what is missing."""
    step, missing = list[tuple[int, int]](), short / 2
    for kind in np.argsort(-influences, kind="stable").tolist():
        gain, available = float(influences[kind]), int(left[kind])
        if gain <= 0:
            break
        if not available:
            continue
        number = min(available, max(1, int(missing / gain)))
        step.append((kind, number))
        missing -= number * gain
        if missing <= 0 or number < available:
            break
    return step


def _exhaustive(
    table: _Table, scoring: _Scoring, top: int, most: int
) -> tuple[IntArray | None, bool]:
    """Return the smallest set of fewer than ``most`` ratings, and whether all were tried."""
    kinds = np.flatnonzero(table.ratings)
    max_sets = min(
        MAX_SETS, MAX_CELLS // len(table.names) ** 2, MAX_NUMBERS // max(len(table.ratings), 1)
    )
    numbers = _numbers_of_sets(table.ratings[kinds], min(most, MAX_SIZE + 1))
    for size in range(1, most):
        if size > MAX_SIZE or numbers[: size + 1].sum() > max_sets:
            return None, False
        sets = np.zeros((int(numbers[size]), len(table.ratings)), dtype=np.int64)
        sets[:, kinds] = list(_sets(table.ratings[kinds].tolist(), size))
        scores = scoring.scores((table.ratings - sets).astype(float))
        has_turned = (np.delete(scores, top, axis=1) > scores[:, [top]] + TOLERANCE).any(axis=1)
        if has_turned.any():
            return sets[int(np.argmax(has_turned))], True
    return None, True


def _numbers_of_sets(ratings: IntArray, sizes: int) -> FloatArray:
    """Return how many sets of each size there are, from 0, as numbers of each kind of ratings."""
    numbers = np.ones(1)
    for available in ratings.tolist():
        numbers = np.convolve(numbers, np.ones(min(available, sizes) + 1))[:sizes]
    return np.pad(numbers, (0, max(0, sizes - len(numbers))))


def _sets(ratings: list[int], size: int) -> Iterator[list[int]]:
    """Yield all sets of a size, as numbers of each kind, none above that of the ratings."""
    if not ratings:
        if not size:
            yield []
        return
    for number in range(min(size, ratings[0]) + 1):
        for rest in _sets(ratings[1:], size - number):
            yield [number, *rest]
