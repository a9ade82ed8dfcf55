"""Validators of settings that have a line for each thing: shown fields, and families of models."""

from collections.abc import Callable

from django.core.exceptions import ValidationError

from tiebreak.errors import InvalidInput
from tiebreak.formats.shown_fields import parsed_fields
from tiebreak.report.families import parsed_families


def validate_fields(setting: str) -> None:
    _validate(parsed_fields, setting)


def validate_families(setting: str) -> None:
    _validate(parsed_families, setting)


def _validate(parse: Callable[[str], object], setting: str) -> None:
    try:
        parse(setting)
    except InvalidInput as error:
        sentence = f"{error.message[0].upper()}{error.message[1:]}."
        raise ValidationError(sentence, code=error.code) from error
