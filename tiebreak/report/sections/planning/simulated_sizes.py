"""The size of the next study by simulation, for each pair of systems of a pilot."""

from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.report.model.report import Report
from tiebreak.report.model.selection import PairComponents
from tiebreak.stats import DesignOption, VarianceComponents, design_grid

SIMULATED = (
    "In 80% of simulated studies of that size, or in the share that --power names, the report's own"
    " interval reaches the target. The variances come from the pilot; a small pilot estimates them"
    " badly, and raters are assumed to rate the same number of items."
)


def simulated_sizes(
    report: Report, *, criterion: str = "", **design: Any
) -> dict[str, DesignOption]:
    """Return what `design_grid` finds for each pair of systems of a pilot's report.

    ``criterion`` is a preference, by default the first of the report; the design is as in
    `design_grid`, with one number of units and of ratings. A pair whose variance components cannot
    be estimated has no size, with that reason. Raises `InvalidInput` if there is no such preference
    between systems, or a number is out of range.
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


def _size(parts: PairComponents, design: dict[str, Any]) -> DesignOption:
    if parts.reason is not None:
        (units,), (ratings,) = design["units"], design["ratings"]
        return DesignOption(units, ratings, code="no_components", reason=parts.reason)
    components = VarianceComponents(
        parts.mean, parts.instance, parts.unit, parts.rater, parts.rating
    )
    return design_grid(components, **design)[0]


def in_words(size: DesignOption) -> str:
    """Return a size as a sentence."""
    if size.instances is None:
        return size.reason or ""
    return f"{size.instances:,} instances with {size.total:,} ratings by {size.raters:,} raters."
