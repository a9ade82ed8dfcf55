"""The alternative annotator test, which asks whether a machine may replace an annotator.

Source: Calderon et al. 2025 ("The alternative annotator test for LLM-as-a-judge").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_codes,
    as_counts,
    as_groups,
    as_unit_weights,
    as_unparsed,
    as_values,
    check_choice,
    check_rated_once,
    check_same_length,
    check_share,
)
from tiebreak.stats.raters.additive import LEVELS
from tiebreak.stats.raters.label_pairs import central_weights

Score = Literal["agreement", "neg_rmse"]

EPSILON = 0.1
MIN_INSTANCES = 30
FALSE_DISCOVERY_RATE = 0.05
PASSING_RATE = 0.5
COINS = 200
TOO_FEW_INSTANCES = (
    "No annotator rated at least {least} instances that another annotator and this machine rated"
    " too."
)
NOT_ABOVE_0 = "weights must be above 0; the smallest is {smallest:g}. Leave out such units."
_UNPARSED = -1
_ROUNDING = 1e-9
_AT_ONCE = 2_000_000  # labels of coins in memory


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """Result of the alternative annotator test for one machine; it applies to these annotators only.

    See Also
    --------
    alternative_annotator_test : Performs the test.
    """

    epsilon: float
    """How much less often than an annotator the machine may be the better one."""
    score: Score
    """How a label is scored against those of the other annotators: by the share that equals it, or
    by the negative root mean square of the differences."""
    winning_rate: float
    """Share of the annotators that the machine may replace; NaN if there are none to compare with."""
    advantage_probability: float
    """Probability that the machine scores at least as high as an annotator, averaged over the
    annotators; NaN if there are none to compare with."""
    annotators: int
    """Number of annotators that the machine was compared with."""
    left_out: int
    """Number of annotators with too few instances for a comparison."""
    passes: bool | None
    """Whether the winning rate is at least one half, if there is a winning rate."""
    reason: str | None
    """Why there is no winning rate."""


def alternative_annotator_test(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    machine: npt.ArrayLike,
    *,
    unparsed: npt.ArrayLike | None = None,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    epsilon: float = EPSILON,
    min_instances: int = MIN_INSTANCES,
) -> AlternativeAnnotatorTest:
    """Test whether a machine may replace an annotator, by leaving out each annotator in turn.

    Parameters
    ----------
    units : array_like of int, shape (n_ratings,)
        Unit of each human rating, from 0 to n_units − 1.
    raters : array_like of int, shape (n_ratings,)
        Annotator who gave each rating, from 0. An annotator may rate each unit only once.
    labels : array_like of int, shape (n_ratings,)
        Label of each rating, from 0 to n_labels − 1, or −1 if the rating is missing.
    machine : array_like of int, shape (n_units, n_labels)
        Number of the machine's answers that give each unit each label.
    unparsed : array_like of int, shape (n_units,), optional
        Number of the machine's answers for each unit that could not be read. A unit without any
        other answer is a disagreement on nominal scales, and missing on all others.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement. It decides the score: agreement for nominal labels, the negative root
        mean squared error for all others.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label, for the squared error; 0, 1, 2, … by default.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. If units share an instance, the t-test takes instances, each with the
        mean over its units; otherwise it takes units.
    weights : array_like of float, shape (n_units,), optional
        How many instances of the dataset each unit represents, above 0, such as the inverse inclusion
        probability of its instance; 1 by default. An instance has the mean over its units.
    epsilon : float, default 0.1
        How much less often than an annotator the machine may be the better one, from 0 to 1. The
        source proposes 0.2 for experts, 0.15 for trained annotators and 0.1 for crowd workers.
    min_instances : int, default 30
        Smallest number of instances for which an annotator is compared with the machine. With
        weights, of effective instances: (Σw)² / Σw², which is smaller the more weights differ (Kish).

    Returns
    -------
    AlternativeAnnotatorTest
        Winning rate and average advantage probability, or the reason why there are none.

    Raises
    ------
    InvalidInput
        If a code is out of range, a rater rated a unit twice, a weight is not above 0, or the options are
        not allowed.

    See Also
    --------
    single_human_machine : Agreement of the machine with one annotator drawn at random.

    Notes
    -----
    On each unit that the annotator j, at least one other annotator and the machine rated, j's label
    and the machine's are scored against the labels of the others. W_m is 1 if the machine's score is
    at least as high as j's, and W_j is 1 if j's is at least as high as the machine's. The machine
    may replace j if a one-sided t-test shows that the mean of W_j − W_m is below ε (section 3). The
    p-values are adjusted by Benjamini and Yekutieli at a false discovery rate of 0.05. The winning
    rate ω is the share of annotators that the machine may replace, and the advantage probability ρ
    the mean of W_m over instances and then over annotators.

    As in the published code, one other annotator suffices for a unit. A machine with several runs or
    presentation orders has the label that it gave most often (nominal) or their lower median; tied
    labels enter with equal weights. Differences that are all equal have a p-value of 0 or 1, which
    is the limit of the t-test. Not in the source: with weights, means are Hájek's, their variance is
    that of the linearised ratio for instances drawn with replacement, n/(n − 1) Σw²(d − d̄)² / (Σw)²,
    and the degrees of freedom are one less than the effective number of instances.

    Examples
    --------
    >>> units, raters = [u for u in range(40) for _ in "abc"], [0, 1, 2] * 40
    >>> labels = [int(r == 2 and u % 3 == 0) for u, r in zip(units, raters)]
    >>> test = alternative_annotator_test(units, raters, labels, [[1, 0]] * 40)
    >>> test.winning_rate, test.annotators, test.passes
    (1.0, 3, True)
    """
    check_choice(level, allowed=LEVELS, name="level")
    check_share(epsilon, name="epsilon")
    rated = _Rated.of(units, raters, labels, as_counts(machine, name="machine"), weights)
    answers = _answers(rated.machine, as_unparsed(unparsed, len(rated.machine)), level)
    numbers = as_values(values, labels=rated.machine.shape[1])
    score: Score = "agreement" if level == "nominal" else "neg_rmse"
    instances = np.arange(len(rated.machine))
    if clusters is not None:
        instances = as_groups(clusters, length=len(rated.machine), name="clusters")
    advantages = _advantages(rated, answers, score, numbers, instances)
    rates, probability, annotators = _rates(advantages, [epsilon], min_instances)
    rate = float(rates[0, 0])
    return AlternativeAnnotatorTest(
        epsilon=epsilon,
        score=score,
        winning_rate=rate,
        advantage_probability=probability,
        annotators=annotators,
        left_out=rated.n_raters - annotators,
        passes=rate >= PASSING_RATE if annotators else None,
        reason=None if annotators else TOO_FEW_INSTANCES.format(least=min_instances),
    )


def coin_winning_rates(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    machine: npt.ArrayLike,
    *,
    faces: IntArray,
    epsilons: Sequence[float],
    rng: np.random.Generator,
    unparsed: npt.ArrayLike,
    level: Level,
    values: npt.ArrayLike | None,
    clusters: IntArray,
    weights: npt.ArrayLike,
    coins: int = COINS,
) -> FloatArray:
    """Return the winning rate of each coin with each ε on the units that a machine answered.

    A coin falls on each of the labels in ``faces`` with the same probability. The other parameters are
    those of `alternative_annotator_test`. The shape is (epsilons, coins); rates are NaN if there is no
    annotator to compare with.
    """
    rated = _Rated.of(units, raters, labels, as_counts(machine, name="machine"), weights)
    of_machine = _answers(rated.machine, as_unparsed(unparsed, len(rated.machine)), level)
    unit = np.unique(of_machine.unit)
    answers = _Answers(np.repeat(unit, len(faces)), np.tile(faces, len(unit)), np.empty(0))
    rating, answer = _pairs(rated, answers)
    score: Score = "agreement" if level == "nominal" else "neg_rmse"
    numbers = as_values(values, labels=rated.machine.shape[1])
    lead = _lead(rated, rating, answers.label[answer], score, numbers)
    differences, rating = -np.sign(lead).reshape(-1, len(faces)), rating[:: len(faces)]
    unit, rater = rated.unit[rating], rated.rater[rating]
    item = numbered(unit)

    def rates(n: int) -> FloatArray:
        thrown = rng.integers(len(faces), size=(n, item.max(initial=0) + 1))[:, item]
        difference = differences[np.arange(len(unit)), thrown].ravel()
        of_coin = np.repeat(np.arange(n) * (rater.max(initial=0) + 1), len(rater))
        tiled, instance = (np.tile(codes, n) for codes in (rater, clusters[unit]))
        weight = np.tile(rated.weight[unit], n)
        every = _per_instance(tiled + of_coin, instance, difference, difference, weight)
        return _rates(every, epsilons, MIN_INSTANCES, machines=n)[0]

    batch = max(1, _AT_ONCE // max(1, len(unit)))
    sizes = (min(batch, coins - first) for first in range(0, coins, batch))
    return np.concatenate([rates(n) for n in sizes], axis=1)


@dataclass(frozen=True)
class _Rated:
    """Human ratings of units with at least two of them; the machine's label counts and the weights.

    `n_raters` also counts annotators without such a unit.
    """

    unit: IntArray
    rater: IntArray
    label: IntArray
    machine: IntArray
    weight: FloatArray
    n_raters: int

    @classmethod
    def of(
        cls,
        units: npt.ArrayLike,
        raters: npt.ArrayLike,
        labels: npt.ArrayLike,
        machine: IntArray,
        weights: npt.ArrayLike | None,
    ) -> "_Rated":
        n_units, n_labels = machine.shape
        unit = as_codes(units, below=n_units, name="units")
        rater = as_codes(raters, below=2**31, name="raters")
        label = as_codes(labels, below=n_labels, name="labels", missing=True)
        check_same_length(units=unit, raters=rater, labels=label)
        check_rated_once(unit, rater)
        used = label >= 0
        n_raters = n_distinct(rater[used])
        used &= np.bincount(unit[used], minlength=n_units)[unit] > 1
        weight = as_unit_weights(weights, length=n_units)
        if not (weight > 0).all():
            raise InvalidInput("out_of_range", NOT_ABOVE_0.format(smallest=weight.min()))
        return cls(unit[used], rater[used], label[used], machine, weight, n_raters)


@dataclass(frozen=True)
class _Answers:
    """The machine's labels of units, with weights that sum to 1 for each unit."""

    unit: IntArray
    label: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class _Advantages:
    """Means for each annotator and instance: of W_m, of W_j − W_m, and of the weights."""

    rater: IntArray
    machine: FloatArray
    difference: FloatArray
    weight: FloatArray


def _answers(counts: IntArray, unparsed: IntArray, level: Level) -> _Answers:
    weights = central_weights(counts, level=level)
    unit, label = np.nonzero(weights)
    weight = weights[unit, label]
    if level == "nominal":
        only_unparsed = np.flatnonzero((counts.sum(axis=1) == 0) & (unparsed > 0))
        unit = np.concatenate([unit, only_unparsed])
        label = np.concatenate([label, np.full(len(only_unparsed), _UNPARSED)])
        weight = np.concatenate([weight, np.ones(len(only_unparsed))])
    order = np.argsort(unit, kind="stable")
    return _Answers(unit[order], label[order], weight[order])


def _advantages(
    rated: _Rated,
    answers: _Answers,
    score: Score,
    values: FloatArray,
    instances: IntArray,
) -> _Advantages:
    """Compare each human rating with each of the machine's labels of its unit."""
    rating, answer = _pairs(rated, answers)
    lead = _lead(rated, rating, answers.label[answer], score, values)
    compared, weight = np.unique(rating), answers.weight[answer]
    wins, losses = (
        np.bincount(rating, weights=weight * side)[compared].astype(float)
        for side in (lead >= 0, lead <= 0)
    )
    unit = rated.unit[compared]
    return _per_instance(
        rated.rater[compared], instances[unit], wins, losses - wins, rated.weight[unit]
    )


def _pairs(rated: _Rated, answers: _Answers) -> tuple[IntArray, IntArray]:
    """Return the indices of each rating, and of each label that the machine gave the same unit."""
    n_answers = np.bincount(answers.unit, minlength=len(rated.machine))
    first = np.cumsum(n_answers) - n_answers
    number = n_answers[rated.unit]
    rating = np.repeat(np.arange(len(rated.unit)), number)
    within = np.arange(len(rating)) - np.repeat(np.cumsum(number) - number, number)
    return rating, first[rated.unit[rating]] + within


def _lead(
    rated: _Rated, rating: IntArray, label: IntArray, score: Score, values: FloatArray
) -> FloatArray:
    """Return a number above 0 where a label fits the others better than the rating does."""
    if score == "agreement":
        return _lead_in_agreement(rated, rating, label)
    return _lead_in_error(rated, rating, label, values)


def _lead_in_agreement(rated: _Rated, rating: IntArray, label: IntArray) -> FloatArray:
    """Return how many more of the others agree with the machine's label than with the rating."""
    n_labels = rated.machine.shape[1]
    keys, number = np.unique(rated.unit * n_labels + rated.label, return_counts=True)

    def agreeing(labels: IntArray) -> IntArray:
        key = np.where(labels == _UNPARSED, -1, rated.unit[rating] * n_labels + labels)
        position = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where(keys[position] == key, number[position], 0)

    human = rated.label[rating]
    lead: FloatArray = (agreeing(label) - (label == human)) - (agreeing(human) - 1.0)
    return lead


def _lead_in_error(
    rated: _Rated, rating: IntArray, label: IntArray, values: FloatArray
) -> FloatArray:
    """Return by how much the sum of squared differences from the others is larger for the rating.

    With a the rating, m the machine's label and S the sum of the labels of the n others, it is
    (a − m)(n(a + m) − 2S). What differs from 0 by rounding only is 0.
    """
    centred = values - values.mean()
    unit = rated.unit[rating]
    human, answer = centred[rated.label[rating]], centred[label]
    others = np.bincount(rated.unit)[unit] - 1
    total = np.bincount(rated.unit, weights=centred[rated.label])[unit] - human
    lead: FloatArray = (human - answer) * (others * (human + answer) - 2 * total)
    smallest = _ROUNDING * np.ptp(centred) ** 2
    return np.where(np.abs(lead) <= smallest, 0.0, lead)


def _per_instance(rater: IntArray, instance: IntArray, *columns: FloatArray) -> _Advantages:
    key = rater * (instance.max(initial=0) + 1) + instance
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    size = np.bincount(group)
    means = [np.bincount(group, weights=column) / size for column in columns]
    return _Advantages(rater[first], *means)


def _rates(
    advantages: _Advantages, epsilons: Sequence[float], min_instances: int, machines: int = 1
) -> tuple[FloatArray, float, int]:
    """Return winning rates (epsilons × machines), the advantage probability, and the number compared.

    Several machines have the same annotators, whose codes rise from one machine to the next.
    """
    annotator = numbered(advantages.rater)
    total = np.bincount(annotator, weights=advantages.weight)
    effective = total**2 / np.bincount(annotator, weights=advantages.weight**2)
    tested = effective >= max(2, min_instances) - _ROUNDING
    if not tested.any():
        return np.full((len(epsilons), machines), NAN), NAN, 0
    p_values = _p_values(annotator, advantages, effective, np.array(epsilons))[:, tested]
    p_values = p_values.reshape(len(epsilons), machines, -1)
    adjusted = scipy.stats.false_discovery_control(p_values, axis=-1, method="by")
    replaced = adjusted <= FALSE_DISCOVERY_RATE
    probability = np.bincount(annotator, weights=advantages.weight * advantages.machine) / total
    return replaced.mean(axis=-1), float(probability[tested].mean()), int(tested.sum())


def _p_values(
    annotator: IntArray, advantages: _Advantages, effective: FloatArray, epsilons: FloatArray
) -> FloatArray:
    """Return the p-values (epsilons × annotators) of one-sided t-tests that the mean is below ε."""
    difference, weight = advantages.difference, advantages.weight
    total, instances = np.bincount(annotator, weights=weight), np.bincount(annotator)
    mean = np.bincount(annotator, weights=weight * difference) / total
    residual = weight * (difference - mean[annotator])
    squares = np.bincount(annotator, weights=residual**2) / total**2
    error = np.sqrt(squares * instances / np.maximum(instances - 1, 1))
    excess = mean - epsilons[:, None]
    limit = np.where(excess < 0, -np.inf, np.inf)
    t = np.where(error > 0, excess / np.where(error > 0, error, 1), limit)
    p_values: FloatArray = scipy.stats.t.cdf(t, np.maximum(effective - 1, 1))
    return p_values
