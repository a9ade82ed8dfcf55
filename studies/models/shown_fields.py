"""The validator of the setting `fields`: the further texts of instances that a study shows."""

from django.core.exceptions import ValidationError

from tiebreak.errors import InvalidInput
from tiebreak.formats.shown_fields import parsed_fields


def validate_fields(setting: str) -> None:
    try:
        parsed_fields(setting)
    except InvalidInput as error:
        sentence = f"{error.message[0].upper()}{error.message[1:]}."
        raise ValidationError(sentence, code=error.code) from error
