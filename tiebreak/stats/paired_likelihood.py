"""The likelihood of paired comparisons with ties, and its maximum, for many samples at once.

With d = (θ_i − θ_j) / 2 and D = e^d + e^−d + ν, the probabilities are e^d / D for i, ν / D for a tie
and e^−d / D for j: Davidson 1970, eq. 2.3. ν = 0 is Bradley and Terry's model. The logarithm is concave in
(θ, log ν), so that Newton's method with step halving finds the maximum where there is one.
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

MOST_STEPS = 100
MOST_HALVINGS = 30
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
    """Weighted wins of row over column (B, S, S), and ties (B, S, S), symmetric.

    A sample without ties has ν = 0.
    """

    wins: FloatArray
    ties: FloatArray

    def __getitem__(self, samples: Mask) -> "Outcomes":
        return Outcomes(self.wins[samples], self.ties[samples])

    @property
    def met(self) -> FloatArray:
        return self.wins + self.wins.swapaxes(-1, -2) + self.ties


@dataclass(frozen=True, eq=False)
class Strengths:
    """Log-strengths with mean 0, and log ν in the last column: (B, S + 1); NaN where none is."""

    parameters: FloatArray
    exists: Mask
    converged: Mask
    steps: int


def maximum_likelihood(outcomes: Outcomes, *, start: FloatArray | None = None) -> Strengths:
    """The maximum for each sample; ``start`` (S + 1,) is a first guess, such as the sample's own."""
    samples, systems = len(outcomes.wins), outcomes.wins.shape[-1]
    exists = _mutual(outcomes)
    for sample in np.flatnonzero(~exists):
        exists[sample] = _has_maximum(outcomes.wins[sample], outcomes.ties[sample])
    found = np.full((samples, systems + 1), NAN)
    converged = np.zeros(samples, dtype=np.bool_)
    if not exists.any():
        return Strengths(found, exists, converged, 0)
    first = np.zeros(systems + 1) if start is None else np.nan_to_num(start)
    guess = np.tile(first, (int(exists.sum()), 1))
    reached, done, steps = _newton(outcomes[exists], guess)
    reached[~done] = NAN
    found[exists], converged[exists] = reached, done
    tied = outcomes.ties.any(axis=(1, 2))
    found[~tied, -1] = NAN
    return Strengths(found, exists, converged, steps)


def why_none(outcomes: Outcomes, names: Sequence[str]) -> str | None:
    """Why the (first) sample has no maximum, naming who never loses; None where it has one."""
    wins, ties = outcomes.wins[0], outcomes.ties[0]
    if _has_maximum(wins, ties):
        return None
    if not wins.any():
        return ONLY_TIES
    pieces, own = _strong(wins + ties)
    if pieces == 1:
        return TIES_BETWEEN
    winners, losers = (own[side] for side in np.nonzero(wins + ties))
    top = min(set(range(pieces)) - set(losers[winners != losers].tolist()))
    group = ", ".join(name for name, piece in zip(names, own, strict=True) if piece == top)
    return NEVER_BEATEN.format(group=group)


def _mutual(outcomes: Outcomes) -> Mask:
    """Samples (B,) in which every system beat every other one: no more need be asked of them."""
    itself = np.eye(outcomes.wins.shape[-1], dtype=np.bool_)
    beaten = (outcomes.wins > 0) | itself
    return np.asarray(beaten.all(axis=(1, 2)) & (len(itself) > 1))


def _has_maximum(wins: FloatArray, ties: FloatArray) -> bool:
    """Ford's condition, and for ties that no order of the systems explains all of them.

    Such an order puts winners more than one apart and ties within one: it fits where no cycle of
    comparisons has more wins than ties.
    """
    if not wins.any() or _strong(wins + ties)[0] > 1:
        return False
    if not ties.any() or ((wins > 0) & (wins.T > 0)).any():
        return True
    return _has_winning_cycle(wins > 0, ties > 0)


def _strong(beats: FloatArray) -> tuple[int, npt.NDArray[np.int32]]:
    pieces, own = connected_components(csr_array(beats > 0), connection="strong")
    return int(pieces), own


def _has_winning_cycle(wins: Mask, ties: Mask) -> bool:
    """Longest paths that still grow after as many rounds as there are systems (Bellman, Ford)."""
    step = np.where(wins, 1.0, np.where(ties, -1.0, -np.inf))
    longest = np.zeros(len(wins))
    for _ in range(len(wins)):
        before, longest = longest, np.maximum(longest, (longest[:, None] + step).max(axis=0))
    return bool((longest > before).any())


def _newton(outcomes: Outcomes, guess: FloatArray) -> tuple[FloatArray, Mask, int]:
    """Parameters (B, S + 1), which of them converged, and the number of steps."""
    done, steps = np.zeros(len(guess), dtype=np.bool_), 0
    flat = TOLERANCE * outcomes.met.sum(axis=(1, 2))
    while not done.all() and steps < MOST_STEPS:
        left = outcomes[~done]
        gradient, curvature = _derivatives(left, guess[~done])
        small = np.abs(gradient).max(axis=1) <= flat[~done]
        move = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        guess[~done] = _step(left, guess[~done], np.where(small[:, None], 0, move))
        done[~done] = small
        steps += 1
    return guess, done, steps


def _step(outcomes: Outcomes, start: FloatArray, move: FloatArray) -> FloatArray:
    """Newton's step, halved until the likelihood does not fall."""
    height = _log_likelihood(outcomes, start)
    slack = 1e-12 * np.abs(height)
    size = np.ones((len(start), 1))
    for _ in range(MOST_HALVINGS):
        falls = _log_likelihood(outcomes, start + size * move) < height - slack
        if not falls.any():
            break
        size[falls] /= 2
    moved: FloatArray = start + size * move
    return moved


def _parts(outcomes: Outcomes, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """d (B, S, S), ν (B, 1, 1) and D."""
    strengths = at[:, :-1]
    d = (strengths[:, :, None] - strengths[:, None, :]) / 2
    tied = outcomes.ties.any(axis=(1, 2))
    nu = np.where(tied, np.exp(at[:, -1]), 0)[:, None, None]
    return d, nu, 2 * np.cosh(d) + nu


def _log_likelihood(outcomes: Outcomes, at: FloatArray) -> FloatArray:
    d, _, total = _parts(outcomes, at)
    of_wins = (outcomes.wins * (d - np.log(total))).sum(axis=(1, 2))
    of_ties = (outcomes.ties * (at[:, -1, None, None] - np.log(total))).sum(axis=(1, 2)) / 2
    height: FloatArray = of_wins + of_ties
    return height


def _derivatives(outcomes: Outcomes, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient (B, S + 1) of the log-likelihood and its negative second derivatives."""
    d, nu, total = _parts(outcomes, at)
    met, tie = outcomes.met, nu / total
    ahead = np.tanh(d) * (1 - tie)  # P(win) − P(loss)
    score = outcomes.wins - outcomes.wins.swapaxes(1, 2) - met * ahead
    gradient = np.concatenate(
        [score.sum(axis=2) / 2, (outcomes.ties - met * tie).sum(axis=(1, 2))[:, None] / 2], axis=1
    )
    among = -met * (1 - tie - ahead**2) / 4
    crossed = -(met * ahead * tie).sum(axis=2) / 2
    of_ties = (met * tie * (1 - tie)).sum(axis=(1, 2)) / 2
    return _without_ties(outcomes, gradient, _curvature(among, crossed, of_ties))


def _curvature(among: FloatArray, crossed: FloatArray, of_ties: FloatArray) -> FloatArray:
    """The bordered Laplacian, made regular in the one direction that changes no probability."""
    samples, systems = crossed.shape
    curvature = np.zeros((samples, systems + 1, systems + 1))
    curvature[:, :-1, :-1] = among
    own = np.arange(systems)
    diagonal = -among.sum(axis=2)
    curvature[:, own, own] += diagonal
    curvature[:, :-1, :-1] += diagonal.mean(axis=1)[:, None, None] / systems
    curvature[:, :-1, -1] = curvature[:, -1, :-1] = crossed
    curvature[:, -1, -1] = of_ties
    return curvature


def _without_ties(
    outcomes: Outcomes, gradient: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Hold log ν where it is in samples without a tie."""
    none = ~outcomes.ties.any(axis=(1, 2))
    gradient[none, -1] = curvature[none, :-1, -1] = curvature[none, -1, :-1] = 0
    curvature[none, -1, -1] = 1
    return gradient, curvature
