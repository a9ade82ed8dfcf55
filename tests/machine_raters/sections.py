"""What the pages of machine raters have."""

from typing import Any


def section_on(page: Any, kind: str) -> dict[str, Any]:
    """What a page has of a kind of machine rater."""
    [section] = [one for one in page.context["sections"] if one["kind"].name == kind]
    return section


def codes_of(page: Any, kind: str) -> list[str]:
    """The codes of what the form of a kind refused as a whole."""
    return [error.code for error in section_on(page, kind)["form"].errors.as_data()["__all__"]]
