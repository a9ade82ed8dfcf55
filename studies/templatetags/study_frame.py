"""The frame of a study's pages, for templates."""

from typing import Any

from django import template

from studies.design import steps
from studies.guides import address_of

register = template.Library()


@register.simple_tag(takes_context=True)
def study_frame(context: dict[str, Any]) -> steps.StudyFrame:
    """Return the frame of the page's study for the user who looks at it, or the view's frame."""
    if "frame" in context:
        frame: steps.StudyFrame = context["frame"]
        return frame
    request = context["request"]
    study = context.get("study") or context["original"]
    return steps.study_frame(study, request.user, _place(context))


@register.simple_tag(takes_context=True)
def guide_address(context: dict[str, Any]) -> str:
    """Return the address of the guide to the page that is shown."""
    place = _place(context)
    return address_of(place.guide if place else "index")


def _place(context: dict[str, Any]) -> steps.Step | steps.StudyPage | None:
    return steps.place_of(context.get("here", ""), context["request"].resolver_match)
