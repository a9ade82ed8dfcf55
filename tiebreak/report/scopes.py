"""Whom the statistics of a criterion speak of where its instances were drawn."""

from typing import Any


def of_selected(found: Any) -> Any:
    """The same section, every estimate in it said to be of the selected instances.

    Its rows are unweighted: of instances that were not drawn they say nothing.
    """
    if isinstance(found, list):
        return [of_selected(each) for each in found]
    if not isinstance(found, dict):
        return found
    if "scope" in found and "value" in found:
        return found | {"scope": found["scope"] | {"instances": "selected"}}
    return {name: of_selected(each) for name, each in found.items()}
