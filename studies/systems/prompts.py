"""Prompt templates: what they may fill in, which is the columns of the table."""

import re

from studies.design.field_rows import names_of_fields
from studies.models import Dataset, System
from tiebreak.asking.samples import DEFAULT_PROMPT, PLACEHOLDER
from tiebreak.errors import DomainError

# What was meant as a placeholder, and not JSON or the argument of a LaTeX command.
_MEANT = re.compile(r"(?<![\w\\])\{\s*((?:field )?[^\W\d][\w .-]{0,100})\s*\}")
UNKNOWN = "There is no {unknown} in these instances. A prompt template may contain {known}."
NOTHING_FILLED_IN = (
    "The prompt template fills in nothing, so every instance would get the same prompt. Write {known}"
    " where the instance's text belongs."
)


def placeholders_of(dataset: Dataset) -> list[str]:
    """Return the placeholders for which some instance has a value, the source first."""
    instances = dataset.instances.all()
    more = [name for name in ("reference", "category") if instances.exclude(**{name: ""}).exists()]
    fields = [f"field {name}" for name in names_of_fields(dataset.pk)]
    return [f"{{{name}}}" for name in ("source", *more, *fields)]


def check_template(template: str, dataset: Dataset) -> None:
    """Raise `DomainError` if a template names what no instance has, or nothing of the instance."""
    if not template:
        return
    known = placeholders_of(dataset)
    for meant in _MEANT.finditer(template):
        if meant[0] not in known and not _is_further_field(meant[0], dataset):
            listed = ", ".join(known)
            message = UNKNOWN.format(unknown=meant[0], known=listed)
            raise DomainError("unknown_placeholder", message, status=400)
    is_chat = dataset.instances.exclude(messages=[]).exists()
    if not is_chat and not PLACEHOLDER.search(template):
        message = NOTHING_FILLED_IN.format(known=" or ".join(known))
        raise DomainError("no_source", message, status=400)


def _is_further_field(placeholder: str, dataset: Dataset) -> bool:
    """Whether an instance that was not read for the list has the field."""
    match = PLACEHOLDER.fullmatch(placeholder)
    return bool(
        match and match[2] and dataset.instances.filter(metadata__has_key=match[2]).exists()
    )


def template_of(system: System, default: str) -> str:
    """Return the prompt template with which a system's texts are sampled."""
    return system.prompt_template or default or DEFAULT_PROMPT
