"""Sections of a report about stopping while ratings arrive."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Proportion, ProportionOrNaN
from tiebreak.stats import Estimate


@dataclass(frozen=True)
class SequencePoint:
    """A confidence sequence after a number of instances."""

    instances: int
    """Number of complete instances used."""
    ratings: int
    """Number of ratings of these instances."""
    low: ProportionOrNaN
    high: ProportionOrNaN
    """Ends of the interval; NaN if every win rate is excluded."""


@dataclass(frozen=True)
class NeededInstances:
    """A forecast of the number of instances at which a confidence sequence reaches a target."""

    instances: int | None = None
    """Number of instances, counting those used so far; missing if no forecast reaches it."""
    width: float | None = None
    """The target width; missing if the target is to exclude ½."""


@dataclass(frozen=True, kw_only=True)
class PairSequence:
    """Confidence sequence for the win rate of one pair of systems."""

    systems: tuple[str, str]
    """The two systems, in alphabetical order. The win rate is the first system's."""
    planned: int
    """Number of planned instances."""
    complete: int
    """Number of instances with all their planned ratings."""
    held_back: int
    """Number of complete instances that wait, because they follow an unfinished one."""
    win_rate: Estimate
    """Mean win share over the instances used, with the interval after the last of them."""
    of_dataset: Estimate | None = None
    """The same mean with an interval for the planned instances alone, which are drawn without
    replacement. Missing if instances were drawn with probabilities."""
    excluded_half_after: int | None = None
    """Number of instances after which the interval excluded ½ for the first time."""
    path: tuple[SequencePoint, ...]
    """The interval after some numbers of instances, the last of which is the current one."""
    needed: tuple[NeededInstances, ...] = ()
    """Forecasts for several widths and for excluding ½; empty with few instances."""


@dataclass(frozen=True, kw_only=True)
class StoppingSection:
    """How far the study is, and what may be concluded before it is complete.

    Only a server knows this section, because files of ratings have no plan. The other intervals of
    a report are valid for one look at the planned number of responses; these hold at every look.
    """

    is_reached: bool
    """Whether the number of responses that was planned at opening is reached."""
    responses: int
    """Number of completed responses."""
    planned_responses: int
    """Number of responses that was planned when the study opened."""
    statements: int
    """Number of pairs of systems times main criteria, over which the error level is split."""
    confidence_level: Proportion
    """Confidence level of each sequence, such that all hold simultaneously with 95%."""
    pairs: dict[str, PairSequence]
    """The sequence of each pair of systems, by the names of the pairs in `systems`."""
    reason: str | None = None
    """Why there are no sequences."""
