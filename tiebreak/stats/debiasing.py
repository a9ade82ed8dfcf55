"""Taking a preference for one position out of probabilities (Liusie et al. 2024)."""

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, logit

from tiebreak.errors import InvalidInput
from tiebreak.stats.results import NAN
from tiebreak.stats.validation import FloatArray, as_shares

# The odds of the shift lie between e to the power of minus and plus this number.
_WIDEST = 700.0


def debiasing_threshold(first: npt.ArrayLike) -> float:
    """Return the threshold above which half of the probabilities lie.

    Parameters
    ----------
    first : array_like of float, shape (n_answers,)
        Probability that the text shown first is better, in [0, 1], one for each answer.

    Returns
    -------
    float
        The threshold τ, in [0, 1]; NaN without answers. An answer prefers the first text if its
        probability is above τ, and neither text if it is equal to τ.

    Raises
    ------
    InvalidInput
        If a probability is missing or not between 0 and 1.

    See Also
    --------
    prior_shift : Shifts the probabilities so that their mean is ½.

    Notes
    -----
    τ is the median, so that P(first) = ½ over all answers. It is the same to multiply the odds of the
    first text by α = (1 − τ)/τ and to decide at ½ (Liusie et al. 2024, comparative assessment). If
    either text is first equally often, a judge without bias has τ near ½.

    Examples
    --------
    >>> debiasing_threshold([0.9, 0.7, 0.6, 0.8, 0.3])
    0.7
    """
    shares = as_shares(first, name="first")
    return float(np.median(shares)) if shares.size else NAN


def prior_shift(first: npt.ArrayLike) -> float:
    """Return the factor on the odds that makes the mean probability ½.

    Parameters
    ----------
    first : array_like of float, shape (n_answers,)
        Probability that the text shown first is better, in [0, 1], one for each answer.

    Returns
    -------
    float
        α > 0; NaN without answers, or if at least half of the probabilities are 0, or are 1, because
        no α changes these.

    Raises
    ------
    InvalidInput
        If a probability is missing or not between 0 and 1.

    See Also
    --------
    shifted : Applies the factor.
    debiasing_threshold : Makes the share of answers ½ instead of their mean.

    Notes
    -----
    α solves mean(αp / (αp + 1 − p)) = ½, which is increasing in α. It is the shift of the prior of
    Liusie et al. 2023 for two labels.

    Examples
    --------
    >>> round(prior_shift([0.9, 0.9, 0.5, 0.5]), 4)
    0.3333
    """
    shares = as_shares(first, name="first")
    if not shares.size or max((shares == 0).mean(), (shares == 1).mean()) >= 0.5:
        return NAN
    log_odds = logit(shares)
    root = brentq(lambda shift: float(expit(log_odds + shift).mean()) - 0.5, -_WIDEST, _WIDEST)
    return math.exp(root)


def shifted(first: npt.ArrayLike, alpha: float) -> FloatArray:
    """Multiply the odds of probabilities by a factor.

    Parameters
    ----------
    first : array_like of float, shape (n_answers,)
        Probabilities p, in [0, 1].
    alpha : float
        Factor α, above 0.

    Returns
    -------
    ndarray of float, shape (n_answers,)
        αp / (αp + 1 − p).

    Raises
    ------
    InvalidInput
        If a probability is missing or not between 0 and 1, or if α is not above 0.

    See Also
    --------
    prior_shift : Finds the factor.

    Examples
    --------
    >>> shifted([0.5, 0.75], 1 / 3).round(2).tolist()
    [0.25, 0.5]
    """
    if not (alpha > 0 and math.isfinite(alpha)):
        raise InvalidInput("out_of_range", f"alpha must be a finite number above 0, not {alpha}.")
    shares = as_shares(first, name="first")
    return np.asarray(alpha * shares / (alpha * shares + (1 - shares)))
