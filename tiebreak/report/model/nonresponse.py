"""Answers without a label: how many there are, and of whom and on what."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Estimates, Votes


@dataclass(frozen=True)
class NonresponseCounts:
    """Answers of a rater, to an item, or to all items with a text of a system."""

    name: str
    """The rater, item or system."""
    answers: int
    """Number of answers with a label and without one."""
    counts: Votes
    """Number of answers without a label, by what they say instead: `cannot_say` or `broken`."""

    @property
    def without_label(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class NonresponsesOfRaters(NonresponseCounts):
    """Answers without a label of all annotators, or of one machine rater, which `name` names."""

    shares: Estimates
    """Share of each of the counts, and of `all` of them, with the Wilson interval of independent
    answers. Answers of machine raters that could not be parsed do not enter."""
    systems: tuple[NonresponseCounts, ...]
    raters: tuple[NonresponseCounts, ...]
    items: tuple[NonresponseCounts, ...]
    """The answers by system, and those raters and items with the most answers without a label."""
    raters_left_out: int
    items_left_out: int
    """Number of further raters and items with an answer without a label."""


@dataclass(frozen=True)
class NonresponseSection:
    """First answers to main items without a label: the rater cannot say, or the item is broken."""

    humans: NonresponsesOfRaters
    """Answers of annotators."""
    machines: dict[str, NonresponsesOfRaters]
    """Answers of each machine rater."""

    @property
    def groups(self) -> tuple[NonresponsesOfRaters, ...]:
        """Annotators, if they answered at all, and each machine rater."""
        groups = (self.humans, *self.machines.values())
        return tuple(group for group in groups if group.answers)
