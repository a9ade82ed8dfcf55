"""The scope of statistics that are computed on drawn instances."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
from typing import Any

from tiebreak.stats import Estimate
from tiebreak.stats.core.results import Instances


def estimates_in(part: Any) -> Iterator[Estimate]:
    """Yield the estimates of a part of a report."""
    if isinstance(part, Estimate):
        yield part
    elif isinstance(part, Mapping | tuple):
        for inner in part.values() if isinstance(part, Mapping) else part:
            yield from estimates_in(inner)
    elif is_dataclass(part):
        yield from estimates_in(vars(part))


def of_drawn(estimate: Estimate, *, covers: bool) -> Estimate:
    """Return a weighted estimate with the scope that it has after a draw.

    ``covers`` says whether the drawn instances represent the dataset.
    """
    if not estimate.has_interval:
        return estimate
    instances: Instances = "dataset" if covers else "selected"
    narrower = tuple(
        replace(one, scope=replace(one.scope, instances=instances)) for one in estimate.narrower
    )
    scope = replace(estimate.scope, instances=instances)
    return replace(estimate, stated_scope=scope, narrower=narrower)


def limit_to_selected(section: Any) -> Any:
    """Return the section with the scope of every estimate limited to the selected instances.

    Estimates without weights say nothing about instances that were not drawn. Weighted ones have the
    dataset as their scope and keep it.
    """
    if isinstance(section, Estimate):
        if section.scope.instances == "dataset":
            return section
        narrower = tuple(
            replace(one, scope=replace(one.scope, instances="selected"))
            for one in section.narrower
            if one.scope.instances != "these"
        )
        scope = replace(section.scope, instances="selected")
        return replace(section, stated_scope=scope, narrower=narrower)
    if isinstance(section, tuple):
        return tuple(limit_to_selected(part) for part in section)
    if isinstance(section, dict):
        return {name: limit_to_selected(part) for name, part in section.items()}
    if is_dataclass(section) and not isinstance(section, type):
        return replace(section, **limit_to_selected(vars(section)))
    return section
