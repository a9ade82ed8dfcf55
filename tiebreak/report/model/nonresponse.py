"""Answers without a label: how many there are, and of whom and on what."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Estimates, Votes


@dataclass(frozen=True)
class NonresponseCounts:
    """Answers of a rater, to an item, or to all items with a text of a system.

    Attributes
    ----------
    name : str
        The rater, item or system.
    answers : int
        Number of answers with a label and without one.
    counts : dict of str to int
        Number of answers without a label, by what they say instead: `cannot_say` or `broken`.
    """

    name: str
    answers: int
    counts: Votes

    @property
    def without_label(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class NonresponsesOfRaters(NonresponseCounts):
    """Answers without a label of all annotators, or of one machine rater, which `name` names.

    Attributes
    ----------
    shares : dict of str to Estimate
        Share of each of the counts, and of `all` of them, with the Wilson interval of independent
        answers. Answers of machine raters that could not be parsed do not enter.
    systems, raters, items : tuple of NonresponseCounts
        The answers by system, and those raters and items with the most answers without a label.
    raters_left_out, items_left_out : int
        Number of further raters and items with an answer without a label.
    """

    shares: Estimates
    systems: tuple[NonresponseCounts, ...]
    raters: tuple[NonresponseCounts, ...]
    items: tuple[NonresponseCounts, ...]
    raters_left_out: int
    items_left_out: int


@dataclass(frozen=True)
class NonresponseSection:
    """First answers to main items without a label: the rater cannot say, or the item is broken.

    Attributes
    ----------
    humans : NonresponsesOfRaters
        Answers of annotators.
    machines : dict of str to NonresponsesOfRaters
        Answers of each machine rater.
    """

    humans: NonresponsesOfRaters
    machines: dict[str, NonresponsesOfRaters]

    @property
    def groups(self) -> tuple[NonresponsesOfRaters, ...]:
        """Annotators, if they answered at all, and each machine rater."""
        groups = (self.humans, *self.machines.values())
        return tuple(group for group in groups if group.answers)
