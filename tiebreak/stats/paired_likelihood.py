"""The likelihood of paired comparisons with ties, and its maximum, for many samples at once.

With d = (θ_i − θ_j) / 2 and D = e^d + e^−d + ν, the probabilities are e^d / D for i, ν / D for a tie
and e^−d / D for j: Davidson 1970, eq. 2.3. ν = 0 is Bradley and Terry's model. The log-likelihood
is concave in (θ, log ν), so that Newton's method with step halving finds the maximum if it exists.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tiebreak.stats.results import NAN
from tiebreak.stats.validation import FloatArray

Mask = npt.NDArray[np.bool_]

MAX_STEPS = 100
MAX_HALVINGS = 30
TOLERANCE = 1e-10
ONLY_TIES = "Every comparison is a tie: the tie parameter has no finite maximum."
NEVER_BEATEN = (
    "No maximum: nobody else ever wins or ties against {group}, whose strength has no bound."
)
TIES_BETWEEN = (
    "Wins and ties fit an order in which nobody is ever beaten by a weaker system: the maximum "
    "lies at infinity. Ties as half wins may have one."
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Weighted wins of row over column (B, S, S), and ties (B, S, S), which are symmetric.

    ν is 0 in a sample without ties.
    """

    wins: FloatArray
    ties: FloatArray

    def __getitem__(self, samples: Mask) -> "Outcomes":
        return Outcomes(self.wins[samples], self.ties[samples])

    @property
    def n_games(self) -> FloatArray:
        """Weighted games of each pair (B, S, S)."""
        return self.wins + self.wins.swapaxes(-1, -2) + self.ties


@dataclass(frozen=True, eq=False)
class Strengths:
    """Log-strengths with mean 0, and log ν in the last column: (B, S + 1), NaN where undefined."""

    parameters: FloatArray
    exists: Mask
    converged: Mask
    steps: int


def maximum_likelihood(outcomes: Outcomes, *, start: FloatArray | None = None) -> Strengths:
    """The maximum for each sample; ``start`` (S + 1,) are the initial parameters of all."""
    samples, systems = len(outcomes.wins), outcomes.wins.shape[-1]
    exists = _all_beat_all(outcomes)
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
    """Why the (first) sample has no maximum, with the systems that never lose; None if it has one."""
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


def _all_beat_all(outcomes: Outcomes) -> Mask:
    """Samples (B,) in which every system beat every other; a cheap sufficient condition."""
    diagonal = np.eye(outcomes.wins.shape[-1], dtype=np.bool_)
    has_beaten = (outcomes.wins > 0) | diagonal
    return np.asarray(has_beaten.all(axis=(1, 2)) & (len(diagonal) > 1))


def _has_maximum(wins: FloatArray, ties: FloatArray) -> bool:
    """Whether the maximum exists, for wins and ties (S, S) of one sample.

    Without ties, this is Ford's condition. With ties, there must also be no positions of the
    systems on a line with every win more than 1 apart and every tie within 1, which exist unless
    a cycle of comparisons has more wins than ties.
    """
    if not wins.any() or _strong_components(wins + ties)[0] > 1:
        return False
    if not ties.any() or ((wins > 0) & (wins.T > 0)).any():
        return True
    return _has_winning_cycle(wins > 0, ties > 0)


def _strong_components(beats: FloatArray) -> tuple[int, npt.NDArray[np.int32]]:
    number, component_of = connected_components(csr_array(beats > 0), connection="strong")
    return int(number), component_of


def _has_winning_cycle(wins: Mask, ties: Mask) -> bool:
    """Bellman–Ford: there is such a cycle if longest paths still grow after S rounds."""
    length = np.where(wins, 1.0, np.where(ties, -1.0, -np.inf))
    longest = np.zeros(len(wins))
    for _ in range(len(wins)):
        before, longest = longest, np.maximum(longest, (longest[:, None] + length).max(axis=0))
    return bool((longest > before).any())


def _newton(outcomes: Outcomes, initial: FloatArray) -> tuple[FloatArray, Mask, int]:
    """Parameters (B, S + 1), which of them converged, and the number of steps."""
    parameters, done, steps = initial.copy(), np.zeros(len(initial), dtype=np.bool_), 0
    tolerance = TOLERANCE * outcomes.n_games.sum(axis=(1, 2))
    while not done.all() and steps < MAX_STEPS:
        left = outcomes[~done]
        gradient, information = _derivatives(left, parameters[~done])
        is_flat = np.abs(gradient).max(axis=1) <= tolerance[~done]
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        parameters[~done] = _line_search(
            left, parameters[~done], np.where(is_flat[:, None], 0, step)
        )
        done[~done] = is_flat
        steps += 1
    return parameters, done, steps


def _line_search(outcomes: Outcomes, start: FloatArray, step: FloatArray) -> FloatArray:
    """The parameters after the step, halved until the likelihood does not decrease."""
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
    """d (B, S, S), ν (B, 1, 1) and D (B, S, S)."""
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


def _derivatives(outcomes: Outcomes, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient (B, S + 1) of the log-likelihood, and its negative Hessian."""
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
    """The negative Hessian, made regular in the direction of equal shifts of all strengths.

    Such a shift changes no probability, and so leaves the mean of the strengths at 0.
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
