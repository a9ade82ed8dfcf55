"""Win rates and strengths of systems with covariates, such as length, held equal.

Sources: Bradley and Terry 1952; Dubois et al. 2024 (length-controlled win rates); Li et al. 2024 (style
control, in which covariates are relative differences).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.joint_intervals import Linearised, sparse_rows
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    as_unit_weights,
    check_resampling,
    check_same_length,
)
from tiebreak.stats.rankings.comparisons import Games

# The usual rule of ten observations for each parameter of a logistic regression.
MIN_RATINGS = 10
MAX_STEPS = 60
TOLERANCE = 1e-10
# Beyond this logit, a probability is below 1 in 3 million: the likelihood has no finite maximum.
MAX_LOGIT = 15.0
# Share of a covariate's variation that systems and other covariates must leave unexplained.
MIN_LEFT = 1e-6
TOO_FEW = (
    "A fit of {parameters} parameters needs at least {least} ratings that compare systems; there are"
    " {n}."
)
SEPARATED = (
    "The outcome of some comparisons can be predicted without error from the systems and the covariates, so"
    " there is no finite estimate. Collect more ratings, or compare systems that both win at times."
)
NONE_LEFT = "There is no covariate to hold equal: {reasons}"
CONSTANT = "The covariate {name} is the same in all ratings."
EXPLAINED = (
    "The covariate {name} cannot be told apart from the systems, because it hardly varies within a pair"
    " of systems."
)


@dataclass(frozen=True, eq=False)
class Controlled:
    """Win rates with covariates held equal."""

    win_rate: dict[str, Estimate]
    """Win rate of each system over all its comparisons, where a tie counts as half a win."""
    controlled: dict[str, Estimate]
    """Expected win rate over the same comparisons if all covariates were 0."""
    strengths: dict[str, Estimate]
    """Bradley–Terry log-strengths with the covariates in the model; the mean is 0."""
    effects: dict[str, Estimate]
    """Change of the log odds for each covariate; undefined, with the reason, for a covariate that
    is not identified and was left out."""


def controlled_win_rates(
    values: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    covariates: Mapping[str, npt.ArrayLike],
    clusters: npt.ArrayLike,
    raters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Controlled:
    """Estimate win rates of systems with covariates held equal.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        1 if the rating prefers system A, ½ for a tie, 0 if it prefers system B.
    system_a, system_b : sequence of str, length n_ratings
        Names of the two systems that each rating compares.
    covariates : mapping of str to array_like of float, shape (n_ratings,)
        By name, how much more system A's text has of something than system B's, such as length; 0 if
        the two are equal.
    clusters : array_like, shape (n_ratings,)
        Instance of each rating.
    raters : array_like, shape (n_ratings,), optional
        Rater of each rating. With three raters or more, intervals also apply to new raters, with those
        for these raters in ``narrower``.
    weights : array_like of float, shape (n_ratings,), optional
        Weight of each rating, above 0, such as the inverse of an inclusion probability.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Controlled
        Win rates with and without control, strengths, and effects of the covariates.

    Raises
    ------
    InvalidInput
        If some groups of systems were never compared with one another, no covariate is identified,
        there are fewer than 10 ratings for each parameter, or the covariates and systems predict some
        outcomes without error.

    See Also
    --------
    bradley_terry : Estimates strengths without covariates.

    Notes
    -----
    The model is logit P(A beats B) = θ_A − θ_B + x β, fitted by maximum likelihood with a tie as half
    a win. A controlled win rate is the mean of 1 / (1 + exp(θ_opponent − θ_system)) over a system's
    comparisons. Errors come from `bradley_terry`, propagated to the rates (delta method). Holding
    length equal removes what length predicts, whether raters like length as such or for what it
    comes with.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> longer = rng.choice([-1.0, 1.0], 400, p=[0.3, 0.7])
    >>> wins = (rng.random(400) < 1 / (1 + np.exp(-longer))).astype(float)
    >>> rates = controlled_win_rates(
    ...     wins, system_a=["x"] * 400, system_b=["y"] * 400, covariates={"length": longer},
    ...     clusters=range(400),
    ... )
    >>> round(rates.win_rate["x"].value, 2), round(rates.controlled["x"].value, 2)
    (0.6, 0.47)
    """
    check_resampling(0, confidence_level, None)
    value = as_numbers(values, name="values")
    names, first, second = _systems(value, system_a, system_b)
    weight = as_unit_weights(weights, length=len(value))
    instance = as_groups(clusters, length=len(value), name="clusters")
    rater = None if raters is None else as_groups(raters, length=len(value), name="raters")
    columns = {name: as_numbers(x, name=f"covariates[{name}]") for name, x in covariates.items()}
    check_same_length(values=value, **columns)
    design = _Design(len(names), first, second)
    reasons = design.unidentified(columns)
    kept = {name: x for name, x in columns.items() if name not in reasons}
    if not kept:
        raise InvalidInput("no_covariates", NONE_LEFT.format(reasons=" ".join(reasons.values())))
    fit = _Fit.of(design, value, weight, list(kept.values()))
    groups = _Groups(instance, rater, confidence_level)
    n = {name: int(((first == k) | (second == k)).sum()) for k, name in enumerate(names)}
    strengths, effects = fit.linearised(groups), len(names)
    return Controlled(
        groups.estimates(fit.rates(groups, value), n, bounds=(0.0, 1.0)),
        groups.estimates(fit.controlled(groups), n, bounds=(0.0, 1.0)),
        groups.estimates(strengths, n),
        {
            name: undefined(reasons[name], len(value))
            if name in reasons
            else groups.estimate(strengths, effects + list(kept).index(name), len(value))
            for name in columns
        },
    )


def _systems(
    value: FloatArray, system_a: Sequence[str], system_b: Sequence[str]
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """Return the systems, and the codes of those that each rating compares."""
    check_same_length(values=value, system_a=np.asarray(system_a), system_b=np.asarray(system_b))
    if not np.isin(value, (0, 0.5, 1)).all():
        raise InvalidInput("out_of_range", "values must be 1, 0.5 or 0.")
    one = np.tile([1, 0, 0], (len(value), 1))
    names = Games.of(one, system_a=system_a, system_b=system_b).names
    code = {name: k for k, name in enumerate(names)}
    a, b = (np.array([code[str(name)] for name in side], int) for side in (system_a, system_b))
    return names, a, b


@dataclass(frozen=True, eq=False)
class _Groups:
    """What groups of ratings are independent."""

    instance: IntArray
    rater: IntArray | None
    confidence_level: float

    def estimate(
        self, fitted: Linearised, k: int, n: int, bounds: tuple[float, float] | None = None
    ) -> Estimate:
        return fitted.estimate(k, n=n, confidence_level=self.confidence_level, bounds=bounds)

    def estimates(
        self, fitted: Linearised, n: Mapping[str, int], bounds: tuple[float, float] | None = None
    ) -> dict[str, Estimate]:
        return {name: self.estimate(fitted, k, n[name], bounds) for k, name in enumerate(n)}


@dataclass(frozen=True, eq=False)
class _Design:
    """Which systems each rating compares, as codes."""

    systems: int
    first: IntArray
    second: IntArray

    def matrix(self, columns: Sequence[FloatArray]) -> "scipy.sparse.csr_array":
        """Return the regressors, shape (ratings, systems + covariates)."""
        ones, size = np.ones(len(self.first)), self.systems + len(columns)
        covariates = [(np.full(len(ones), self.systems + k), x) for k, x in enumerate(columns)]
        return sparse_rows([(self.first, ones), (self.second, -ones), *covariates], size)

    def unidentified(self, columns: Mapping[str, FloatArray]) -> dict[str, str]:
        """Return why covariates are not identified, by name. Earlier ones have precedence."""
        reasons: dict[str, str] = {}
        kept: list[FloatArray] = []
        for name, x in columns.items():
            if not len(x) or np.ptp(x) == 0:
                reasons[name] = CONSTANT.format(name=name)
                continue
            regressors = self.matrix(kept)
            moments = (regressors.T @ regressors).toarray()
            explained = regressors @ (np.linalg.pinv(moments) @ (regressors.T @ x))
            if ((x - explained) ** 2).sum() <= MIN_LEFT * (x**2).sum():
                reasons[name] = EXPLAINED.format(name=name)
                continue
            kept.append(x)
        return reasons


@dataclass(frozen=True, eq=False)
class _Fit:
    """Maximum likelihood estimates: the strengths, whose mean is 0, and then the effects."""

    design: _Design
    regressors: "scipy.sparse.csr_array"
    weight: FloatArray
    parameters: FloatArray
    scores: "scipy.sparse.csr_array"
    inverse: FloatArray

    @classmethod
    def of(
        cls, design: _Design, value: FloatArray, weight: FloatArray, columns: Sequence[FloatArray]
    ) -> "_Fit":
        parameters = design.systems - 1 + len(columns)
        if len(value) < MIN_RATINGS * parameters:
            least = MIN_RATINGS * parameters
            message = TOO_FEW.format(parameters=parameters, least=least, n=len(value))
            raise InvalidInput("too_few", message)
        regressors = design.matrix(columns)
        fitted, information = _maximum(regressors, value, weight, design.systems)
        residual = weight * (value - scipy.special.expit(regressors @ fitted))
        scores = scipy.sparse.csr_array(scipy.sparse.diags_array(residual) @ regressors)
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return cls(design, regressors, weight, fitted, scores, inverse)

    def linearised(self, groups: _Groups) -> Linearised:
        """Return the strengths and the effects of covariates."""
        effects = len(self.parameters) - self.design.systems
        every = [(np.full(len(self.weight), k), self.weight) for k in range(effects)]
        blocks = [self._played(), sparse_rows(every, effects)]
        enters = scipy.sparse.csr_array(scipy.sparse.hstack(blocks))
        return self._of(groups, self.parameters, self.scores, self.inverse, enters)

    def rates(self, groups: _Groups, value: FloatArray) -> Linearised:
        """Return the win rates."""
        design, played = self.design, self._played()
        total = played.sum(axis=0)
        wins = sparse_rows(
            [(design.first, self.weight * value), (design.second, self.weight * (1 - value))],
            design.systems,
        )
        rate = wins.sum(axis=0) / total
        deviations = scipy.sparse.csr_array(wins - played @ scipy.sparse.diags_array(rate))
        return self._of(groups, rate, deviations, np.diag(1 / total), played)

    def controlled(self, groups: _Groups) -> Linearised:
        """Return the expected win rates if all covariates were 0."""
        design, theta, played = self.design, self.parameters[: self.design.systems], self._played()
        chance = scipy.special.expit(theta[design.first] - theta[design.second])
        expected = sparse_rows(
            [(design.first, self.weight * chance), (design.second, self.weight * (1 - chance))],
            design.systems,
        )
        total = played.sum(axis=0)
        rate = expected.sum(axis=0) / total
        deviations = scipy.sparse.csr_array(expected - played @ scipy.sparse.diags_array(rate))
        slope = scipy.sparse.diags_array(self.weight * chance * (1 - chance)) @ self.regressors
        # A strength raises its own rate and lowers those of the opponents.
        gradient = (self.regressors.T @ slope).toarray()[: design.systems, : design.systems]
        influence = np.vstack(
            [self.inverse[:, : design.systems] @ (gradient / total[:, None]).T, np.diag(1 / total)]
        )
        scores = scipy.sparse.csr_array(scipy.sparse.hstack([self.scores, deviations]))
        return self._of(groups, rate, scores, influence, played)

    def _played(self) -> "scipy.sparse.csr_array":
        """Return the weights of ratings by the systems that they compare."""
        pairs = [(self.design.first, self.weight), (self.design.second, self.weight)]
        return sparse_rows(pairs, self.design.systems)

    @staticmethod
    def _of(
        groups: _Groups,
        values: FloatArray,
        scores: "scipy.sparse.csr_array",
        influence: FloatArray,
        enters: "scipy.sparse.csr_array",
    ) -> Linearised:
        return Linearised(values, scores, influence, enters, groups.instance, groups.rater)


def _maximum(
    regressors: "scipy.sparse.csr_array", value: FloatArray, weight: FloatArray, systems: int
) -> tuple[FloatArray, FloatArray]:
    """Return the maximum by Newton's method with step halving, and the information matrix."""
    fitted = np.zeros(regressors.shape[1])
    total = float(weight.sum())
    for _ in range(MAX_STEPS):
        logit = regressors @ fitted
        chance = scipy.special.expit(logit)
        gradient = regressors.T @ (weight * (value - chance))
        spread = scipy.sparse.diags_array(weight * chance * (1 - chance))
        information = (regressors.T @ (spread @ regressors)).toarray()
        # A shift of all strengths changes nothing; this keeps their mean at 0.
        scale = np.trace(information[:systems, :systems]) / systems
        information[:systems, :systems] += scale / systems
        if np.abs(logit).max() > MAX_LOGIT:
            break
        if np.abs(gradient).max() <= TOLERANCE * total:
            return fitted, information
        step = np.linalg.solve(information, gradient)
        fitted = fitted + _halved(regressors, value, weight, fitted, step) * step
    raise InvalidInput("separated", SEPARATED)


def _halved(
    regressors: "scipy.sparse.csr_array",
    value: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    step: FloatArray,
) -> float:
    """Return the size of the step, halved until the likelihood does not decrease."""

    def likelihood(parameters: FloatArray) -> float:
        logit = regressors @ parameters
        return float(weight @ (value * logit - np.logaddexp(0, logit)))

    before, size = likelihood(start), 1.0
    while size > 1e-9 and likelihood(start + size * step) < before - 1e-12 * abs(before):
        size /= 2
    return size
