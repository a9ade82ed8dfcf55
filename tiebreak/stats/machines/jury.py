"""Verdicts of a jury: several raters whose answers are combined into one label for each unit."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import ratio
from tiebreak.stats.core.validation import FloatArray, IntArray, check_choice
from tiebreak.stats.raters.dawid_skene import dawid_skene

JuryRule = Literal["vote", "mean_probability", "dawid_skene"]
RULES = ("vote", "mean_probability", "dawid_skene")
# Shares that differ by less are equal: they are sums of fractions.
_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Jury:
    """The label of a jury for each unit.

    See Also
    --------
    jury : Combines the answers.
    """

    shares: FloatArray
    """What decides: the share of votes, the mean probability or the probability of each label;
    shape (n_units, n_labels). NaN for units without a vote."""
    labels: IntArray
    """Label with the largest share; −1 if several have it, or if there is
    no vote; shape (n_units,)."""


def jury(answers: npt.ArrayLike, *, rule: JuryRule = "vote") -> Jury:
    """Combine the answers of several raters into one label for each unit.

    Parameters
    ----------
    answers : array_like of float, shape (n_members, n_units, n_labels)
        Probability that each member gives each label, or the share of its answers; each row of
        labels sums to 1. NaN if a member has no answer for a unit.
    rule : {"vote", "mean_probability", "dawid_skene"}, default "vote"
        With ``vote``, each member has one vote for its most probable label. A member abstains if
        several are equally probable, such as one whose preference flips when the texts are swapped.
        With ``mean_probability``, the members' probabilities are averaged, so such a member
        counts as half a vote for each label. With ``dawid_skene``, votes are weighted by how consistent a
        member is with the others.

    Returns
    -------
    Jury
        The labels.

    Raises
    ------
    InvalidInput
        If there are fewer than two members, a row does not sum to 1, or the rule is unknown.

    See Also
    --------
    dawid_skene : The model behind the third rule, in which members are independent.

    Notes
    -----
    A jury is not better than its members by being one: members that share a fault outvote the others,
    and Dawid and Skene's method takes members that agree with each other for accurate ones. Sources:
    Verga et al. 2024 ("Replacing judges with juries") for votes and means; Dawid and Skene 1979.

    Examples
    --------
    >>> sure, turned = [1, 0], [0.5, 0.5]
    >>> answers = [[sure, sure], [sure, turned], [[0, 1], [0, 1]]]
    >>> jury(answers).labels.tolist()
    [0, -1]
    >>> jury(answers, rule="mean_probability").shares.round(2).tolist()
    [[0.67, 0.33], [0.5, 0.5]]
    """
    check_choice(rule, allowed=RULES, name="rule")
    table = _answers(answers)
    if rule == "mean_probability":
        answered = (~np.isnan(table)).sum(axis=0)
        shares = ratio(np.nansum(table, axis=0), answered)
    else:
        votes = _largest(table)
        if rule == "dawid_skene":
            shares = _posterior(votes, table.shape)
        else:
            counts = (votes[:, :, None] == np.arange(table.shape[2])).sum(axis=0)
            shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    return Jury(shares, _largest(shares))


def _answers(answers: npt.ArrayLike) -> FloatArray:
    table = np.asarray(answers, dtype=np.float64)
    if table.ndim != 3 or len(table) < 2:
        raise InvalidInput("few_members", "A jury needs the answers of two members or more.")
    sums = table.sum(axis=2)
    if (np.isnan(table).any(axis=2) != np.isnan(table).all(axis=2)).any() or (
        np.abs(sums[~np.isnan(sums)] - 1) > 1e-6
    ).any():
        raise InvalidInput(
            "not_probabilities", "Each member's probabilities of a unit must sum to 1, or be NaN."
        )
    return table


def _largest(shares: FloatArray) -> IntArray:
    """Return the label with the largest share, or −1 if there are several or none."""
    rounded = np.nan_to_num(shares, nan=-1).round(_DECIMALS)
    highest = rounded.max(axis=-1, keepdims=True)
    is_alone = ((rounded == highest).sum(axis=-1) == 1) & (highest[..., 0] >= 0)
    return np.where(is_alone, rounded.argmax(axis=-1), -1)


def _posterior(votes: IntArray, shape: tuple[int, ...]) -> FloatArray:
    members, units, labels = shape
    member, unit = np.indices((members, units)).reshape(2, -1)
    return dawid_skene(
        unit, member, votes.ravel(), n_units=units, n_raters=members, n_labels=labels
    ).posterior
