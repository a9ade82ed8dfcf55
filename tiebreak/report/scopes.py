"""The scope of statistics that are computed on drawn instances."""

from typing import Any


def limit_to_selected(section: Any) -> Any:
    """Return the section with the scope of every estimate limited to the selected instances.

    The section's ratings are not weighted, so they say nothing about instances that were not drawn.
    """
    if isinstance(section, list):
        return [limit_to_selected(part) for part in section]
    if not isinstance(section, dict):
        return section
    if "scope" in section and "value" in section:
        return section | {"scope": section["scope"] | {"instances": "selected"}}
    return {name: limit_to_selected(part) for name, part in section.items()}
