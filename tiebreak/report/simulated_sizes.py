"""The size of the next study by simulation, for each pair of systems of a pilot."""

from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.report.model import PairComponents, Report
from tiebreak.stats import SampleSize, sample_size
from tiebreak.stats.sample_size import VarianceComponents

SIMULATED = (
    "Each number comes from 200 simulated studies of that size, with a bootstrap interval over"
    " instances, which speaks of the annotators of such a study. Where coverage is well below 95%,"
    " annotators differ too much for that, and more instances do not help: let more annotators rate."
    " The planner on the page Size & pay plans for new annotators."
)


def simulated_sizes(report: Report, *, criterion: str = "", **design: Any) -> dict[str, SampleSize]:
    """Return what `sample_size` finds for each pair of systems.

    Parameters
    ----------
    report : Report
        Report of the pilot.
    criterion : str, optional
        Name of a preference; by default the first one of the report.
    **design
        Target and design, as in `sample_size`.

    Returns
    -------
    dict of str to SampleSize
        Sizes by pair. A pair whose variance components cannot be told has no size, with that reason.

    Raises
    ------
    InvalidInput
        If there is no such preference between systems, or a number is out of range.
    """
    pairs = {
        name: section.planning for name, section in report.criteria.items() if section.planning
    }
    name = criterion or next(iter(pairs), "")
    if not pairs.get(name):
        raise InvalidInput(
            "no_preference",
            f"The pilot has no preference {name!r} between two systems. It has:"
            f" {', '.join(pairs) or 'none'}.",
        )
    return {pair: _size(parts, design) for pair, parts in (pairs[name] or {}).items()}


def _size(parts: PairComponents, design: dict[str, Any]) -> SampleSize:
    if parts.reason is not None:
        return SampleSize(None, None, (), parts.reason)
    components = VarianceComponents(
        parts.mean, parts.instance, parts.unit, parts.rater, parts.rating
    )
    return sample_size(components, **design)


def in_words(size: SampleSize) -> str:
    """Return a size as a sentence, with what was simulated at it."""
    if size.instances is None or size.ratings is None:
        return size.reason or ""
    [study] = [one for one in size.tried if one.instances == size.instances]
    return (
        f"{size.instances:,} instances with {size.ratings:,} ratings. Mean width of the interval"
        f" {study.width:.3f}, power {study.power:.0%}, coverage {study.coverage:.0%}."
    )
