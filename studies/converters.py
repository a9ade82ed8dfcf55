"""How public ids and names stand in addresses: `path("s/<public_id:study_id>/", …)`."""

import re

from django.urls import register_converter

from tiebreak.identifiers import LENGTH


class PublicIdConverter:
    """Letters and digits only: whatever else stands there never reaches the database."""

    regex = f"[0-9a-z]{{{LENGTH}}}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class NameConverter:
    """Any name as one part of an address: what is no letter, digit, - or _ is ~ and its code.

    Not percent-encoded, because servers and browsers decode that before the path is taken apart:
    a name with a slash in it, or "..", would be another address.

    >>> NameConverter().to_url("overall quality")
    'overall~20quality'
    """

    regex = "(?:[A-Za-z0-9_-]|~[0-9A-F]{2})+"

    def to_python(self, value: str) -> str:
        raw = re.sub("~(..)", lambda found: chr(int(found[1], 16)), value)
        return raw.encode("latin-1").decode()  # not UTF-8: a ValueError, and so no such address

    def to_url(self, value: str) -> str:
        return "".join(
            character if re.fullmatch("[A-Za-z0-9_-]", character) else _codes(character)
            for character in value
        )


def _codes(character: str) -> str:
    return "".join(f"~{byte:02X}" for byte in character.encode())


register_converter(PublicIdConverter, "public_id")
register_converter(NameConverter, "name")
