"""The frame of a study's pages, for templates."""

from typing import Any

from django import template

from studies import steps

register = template.Library()


@register.simple_tag(takes_context=True)
def study_frame(context: dict[str, Any]) -> steps.StudyFrame:
    """Return the frame of the page's study, for the user who looks at it."""
    study = context.get("study") or context["original"]
    return steps.study_frame(study, context["request"].user, context.get("here", ""))
