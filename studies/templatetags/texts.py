"""Filters of `templates/text.html`, which shows a text of a dataset on any page."""

from django import template
from django.utils.safestring import SafeString

from studies.models import Instance, Study
from studies.rendering import is_markup, render_text
from tiebreak.formats.shown_fields import FieldText, field_texts

register = template.Library()


@register.filter
def shown_as(text: str, text_format: str) -> SafeString:
    return render_text(text, text_format)


@register.filter
def is_markup_as(text: str, text_format: str) -> bool:
    return is_markup(text, text_format)


@register.filter
def fields_shown_in(instance: Instance | None, study: Study) -> list[FieldText]:
    """Return the further texts of an instance that raters or judges of the study see."""
    return list(field_texts(study.fields, instance.metadata)) if instance else []
