"""URL path converters for public ids and names, as in `path("s/<public_id:study_id>/", …)`."""

import re

from django.urls import register_converter

from tiebreak.identifiers import LENGTH


class PublicIdConverter:
    """A public id of letters and digits only so that nothing else reaches the database."""

    regex = f"[0-9a-z]{{{LENGTH}}}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class NameConverter:
    """Any name as one path segment, in which special characters are written as ~ and a code.

    Letters, digits, - and _ stay as they are. Percent-encoding would not work for the other
    characters, because servers and browsers decode it before they split the path, so a name that
    contains a slash or ".." would become another URL.

    >>> NameConverter().to_url("overall quality")
    'overall~20quality'
    """

    regex = "(?:[A-Za-z0-9_-]|~[0-9A-F]{2})+"

    def to_python(self, value: str) -> str:
        raw = re.sub("~(..)", lambda match: chr(int(match[1], 16)), value)
        return raw.encode("latin-1").decode()  # if it is not UTF-8, the ValueError becomes a 404

    def to_url(self, value: str) -> str:
        return "".join(
            chr(byte) if re.fullmatch("[A-Za-z0-9_-]", chr(byte)) else f"~{byte:02X}"
            for byte in value.encode()
        )


register_converter(PublicIdConverter, "public_id")
register_converter(NameConverter, "name")
