"""What the figures of a section describe where instances were drawn."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tiebreak.reading.figures.figure import Figure, reading_if_drawn
from tiebreak.reading.findings import is_drawn
from tiebreak.reading.messages import OF_RATED_ITEMS
from tiebreak.report.registry import SECTIONS
from tiebreak.report.scopes import estimates_in


def about_draw(name: str, part: Any) -> str:
    """Return the sentence about what a section describes after a draw, given what a report has of it."""
    section = SECTIONS[name]
    described = {one: getattr(part, one) for one in section.fills} if section.fills else part
    estimates = [*estimates_in(described)]
    if not any(map(is_drawn, estimates)):
        return ""
    if section.of_rated_items:
        return OF_RATED_ITEMS.format(why=section.of_rated_items)
    return reading_if_drawn(estimates)


def after_draw(name: str, part: Any, figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures of a section, which say what they describe after a draw."""
    sentence = about_draw(name, part)
    return [
        figure
        if sentence.strip() in figure.reading or "were drawn" in figure.reading
        else replace(figure, reading=f"{figure.reading}{sentence}")
        for figure in figures
    ]
