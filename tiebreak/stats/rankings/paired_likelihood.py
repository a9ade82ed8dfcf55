"""The likelihood of paired comparisons with ties, and its maximum, for many samples together.

With d = (θ_i − θ_j) / 2 and D = e^d + e^−d + ν, system i wins with probability e^d / D, a tie has
probability ν / D, and system j wins with probability e^−d / D (Davidson 1970, eq. 2.3). With ν = 0,
this is Bradley and Terry's model. The log-likelihood is concave in (θ, log ν), so Newton's method
with step halving finds the maximum if it exists. Parameters are an array with one row for each
sample; the columns are the log-strengths θ of the systems, followed by log ν.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.validation import FloatArray

Mask = npt.NDArray[np.bool_]

MAX_STEPS = 100
MAX_HALVINGS = 30
TOLERANCE = 1e-10
ONLY_TIES = (
    "Strengths are undefined because every comparison is a tie, so the likelihood has no finite"
    " maximum in the tie parameter."
)
NEVER_BEATEN = (
    "Strengths are undefined because no other system ever wins or ties against {group}, so the"
    " likelihood has no finite maximum."
)
TIES_BETWEEN = (
    "Strengths are undefined because wins and ties fit an order in which no system ever loses to"
    " a weaker one, so the likelihood has no finite maximum. Counting ties as half wins may give"
    " finite strengths."
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Weighted wins of the row's system over the column's system, and weighted ties.

    Both arrays have the shape (samples, systems, systems); ties are symmetric. In a sample without
    ties, ν is 0.
    """

    wins: FloatArray
    ties: FloatArray

    def __getitem__(self, samples: Mask) -> "Outcomes":
        return Outcomes(self.wins[samples], self.ties[samples])

    @property
    def n_games(self) -> FloatArray:
        """Weighted number of games of each pair, shape (samples, systems, systems)."""
        return self.wins + self.wins.swapaxes(-1, -2) + self.ties


@dataclass(frozen=True, eq=False)
class Strengths:
    """Fitted parameters of each sample: log-strengths with mean 0, then log ν; NaN if undefined."""

    parameters: FloatArray
    exists: Mask
    converged: Mask
    steps: int


def maximum_likelihood(outcomes: Outcomes, *, start: FloatArray | None = None) -> Strengths:
    """Return the maximum for each sample; ``start`` contains initial parameters for all samples."""
    samples, systems = len(outcomes.wins), outcomes.wins.shape[-1]
    # That all beat all is a sufficient condition for a maximum, and cheap to check.
    diagonal = np.eye(systems, dtype=np.bool_)
    has_beaten = (outcomes.wins > 0) | diagonal
    exists = np.asarray(has_beaten.all(axis=(1, 2)) & (systems > 1))
    for sample in np.flatnonzero(~exists):
        exists[sample] = _has_maximum(outcomes.wins[sample], outcomes.ties[sample])
    parameters = np.full((samples, systems + 1), NAN)
    converged = np.zeros(samples, dtype=np.bool_)
    if not exists.any():
        return Strengths(parameters, exists, converged, 0)
    initial = np.zeros(systems + 1) if start is None else np.nan_to_num(start)
    initial = np.tile(initial, (int(exists.sum()), 1))
    fitted, is_done, steps = _newton(outcomes[exists], initial)
    fitted[~is_done] = NAN
    parameters[exists], converged[exists] = fitted, is_done
    has_ties = outcomes.ties.any(axis=(1, 2))
    parameters[~has_ties, -1] = NAN
    return Strengths(parameters, exists, converged, steps)


def reason_without_maximum(outcomes: Outcomes, names: Sequence[str]) -> str | None:
    """Return why the first sample has no maximum, or None if it has a maximum."""
    wins, ties = outcomes.wins[0], outcomes.ties[0]
    if _has_maximum(wins, ties):
        return None
    if not wins.any():
        return ONLY_TIES
    n_components, component_of = _strong_components(wins + ties)
    if n_components == 1:
        return TIES_BETWEEN
    winners, losers = (component_of[side] for side in np.nonzero(wins + ties))
    top = min(set(range(n_components)) - set(losers[winners != losers].tolist()))
    group = ", ".join(name for name, piece in zip(names, component_of, strict=True) if piece == top)
    return NEVER_BEATEN.format(group=group)


def _has_maximum(wins: FloatArray, ties: FloatArray) -> bool:
    """Return whether one sample has a maximum, given its wins and ties of row against column.

    Without ties, this is Ford's condition. With ties, it must also be impossible to place the
    systems on a line such that every winner is more than 1 above the loser and tied systems are
    at most 1 apart. This is impossible if a cycle of comparisons has more wins than ties.
    """
    if not wins.any() or _strong_components(wins + ties)[0] > 1:
        return False
    if not ties.any() or ((wins > 0) & (wins.T > 0)).any():
        return True
    return _has_winning_cycle(wins > 0, ties > 0)


def _strong_components(beats: FloatArray) -> tuple[int, npt.NDArray[np.int32]]:
    number, component_of = scipy.sparse.csgraph.connected_components(
        scipy.sparse.csr_array(beats > 0), connection="strong"
    )
    return int(number), component_of


def _has_winning_cycle(wins: Mask, ties: Mask) -> bool:
    """Return whether a cycle of comparisons has more wins than ties.

    The algorithm is Bellman and Ford's: there is such a cycle if the longest paths still grow after
    as many rounds as there are systems.
    """
    length = np.where(wins, 1.0, np.where(ties, -1.0, -np.inf))
    longest = np.zeros(len(wins))
    for _ in range(len(wins)):
        before, longest = longest, np.maximum(longest, (longest[:, None] + length).max(axis=0))
    return bool((longest > before).any())


def _newton(outcomes: Outcomes, initial: FloatArray) -> tuple[FloatArray, Mask, int]:
    """Return the parameters, which samples converged, and the number of steps."""
    parameters, done, steps = initial.copy(), np.zeros(len(initial), dtype=np.bool_), 0
    tolerance = TOLERANCE * outcomes.n_games.sum(axis=(1, 2))
    while not done.all() and steps < MAX_STEPS:
        left = outcomes[~done]
        gradient, information = derivatives(left, parameters[~done])
        is_flat = np.abs(gradient).max(axis=1) <= tolerance[~done]
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        parameters[~done] = _line_search(
            left, parameters[~done], np.where(is_flat[:, None], 0, step)
        )
        done[~done] = is_flat
        steps += 1
    return parameters, done, steps


def _line_search(outcomes: Outcomes, start: FloatArray, step: FloatArray) -> FloatArray:
    """Return the parameters after a step, halved until the likelihood does not decrease."""
    likelihood = _log_likelihood(outcomes, start)
    slack = 1e-12 * np.abs(likelihood)
    size = np.ones((len(start), 1))
    for _ in range(MAX_HALVINGS):
        decreases = _log_likelihood(outcomes, start + size * step) < likelihood - slack
        if not decreases.any():
            break
        size[decreases] /= 2
    end: FloatArray = start + size * step
    return end


def _parts(outcomes: Outcomes, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return d, ν and D (see the module's docstring) for each sample and pair of systems."""
    strengths = parameters[:, :-1]
    d = (strengths[:, :, None] - strengths[:, None, :]) / 2
    has_ties = outcomes.ties.any(axis=(1, 2))
    nu = np.where(has_ties, np.exp(parameters[:, -1]), 0)[:, None, None]
    return d, nu, 2 * np.cosh(d) + nu


def _log_likelihood(outcomes: Outcomes, parameters: FloatArray) -> FloatArray:
    d, _, total = _parts(outcomes, parameters)
    log_nu = parameters[:, -1, None, None]
    of_wins = (outcomes.wins * (d - np.log(total))).sum(axis=(1, 2))
    of_ties = (outcomes.ties * (log_nu - np.log(total))).sum(axis=(1, 2)) / 2
    likelihood: FloatArray = of_wins + of_ties
    return likelihood


def derivatives(outcomes: Outcomes, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of the log-likelihood and its negative Hessian, for each sample."""
    d, nu, total = _parts(outcomes, parameters)
    games, tie = outcomes.n_games, nu / total
    advantage = np.tanh(d) * (1 - tie)  # P(win) − P(loss)
    score = outcomes.wins - outcomes.wins.swapaxes(1, 2) - games * advantage
    tie_score = (outcomes.ties - games * tie).sum(axis=(1, 2)) / 2
    gradient = np.concatenate([score.sum(axis=2) / 2, tie_score[:, None]], axis=1)
    between = -games * (1 - tie - advantage**2) / 4
    mixed = -(games * advantage * tie).sum(axis=2) / 2
    of_ties = (games * tie * (1 - tie)).sum(axis=(1, 2)) / 2
    return _hold_tie_parameter(outcomes, gradient, _information(between, mixed, of_ties))


def _information(between: FloatArray, mixed: FloatArray, of_ties: FloatArray) -> FloatArray:
    """Return the negative Hessian, made regular in the direction of a shift of all strengths.

    A shift of all strengths by the same amount does not change any probability. The added term
    keeps the mean of the strengths at 0.
    """
    samples, systems = mixed.shape
    information = np.zeros((samples, systems + 1, systems + 1))
    information[:, :-1, :-1] = between
    index = np.arange(systems)
    diagonal = -between.sum(axis=2)
    information[:, index, index] += diagonal
    information[:, :-1, :-1] += diagonal.mean(axis=1)[:, None, None] / systems
    information[:, :-1, -1] = information[:, -1, :-1] = mixed
    information[:, -1, -1] = of_ties
    return information


def _hold_tie_parameter(
    outcomes: Outcomes, gradient: FloatArray, information: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Keep log ν constant in samples without ties."""
    no_ties = ~outcomes.ties.any(axis=(1, 2))
    gradient[no_ties, -1] = information[no_ties, :-1, -1] = information[no_ties, -1, :-1] = 0
    information[no_ties, -1, -1] = 1
    return gradient, information
