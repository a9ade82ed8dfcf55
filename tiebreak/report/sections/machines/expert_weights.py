"""Experts' weights of criteria for each perturbation, from the votes of a survey."""

from collections import Counter, defaultdict

import numpy as np

from tiebreak.errors import InvalidInput
from tiebreak.formats import RatingTable

NO_VOTES = (
    "The survey has no votes that say which quality a perturbation damages. Its annotators choose a"
    " quality for each copy, and each copy's column perturbation, or else the name of its system, is"
    " the perturbation."
)


def votes_of(table: RatingTable) -> RatingTable:
    """Return the ratings of a survey that count as votes: ratings of people who are not excluded."""
    return table.select(table.is_counted & table.coded("kind").equals("human"))


def expert_weights(table: RatingTable) -> dict[str, dict[str, float]]:
    """Return the share of votes for each quality, by perturbation.

    Each vote of a person counts once. Votes for a label that is no criterion, such as none, keep
    their share, which then weighs nothing. Raises `InvalidInput` if there is no vote.
    """
    counted = votes_of(table)
    changes, systems = counted["perturbation"], counted["system_a"]
    names = np.where(changes == "", systems, changes)
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for name, label in zip(names.tolist(), counted["label"].tolist(), strict=True):
        if name and label is not None:
            votes[name][str(label)] += 1
    if not votes:
        raise InvalidInput("no_votes", NO_VOTES)
    return {
        name: {quality: n / given.total() for quality, n in sorted(given.items())}
        for name, given in sorted(votes.items())
    }
