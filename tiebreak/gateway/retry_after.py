"""Parsing of the Retry-After header."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(header: str) -> float:
    """Return the seconds to wait according to a Retry-After header, or 0 if it is invalid.

    The header is a number of seconds or a date. Source: RFC 9110, section 10.2.3.

    Examples
    --------
    >>> retry_after_s("120"), retry_after_s("soon")
    (120.0, 0.0)
    """
    if re.fullmatch(r"[0-9]{1,9}", header.strip()):
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, OverflowError):  # OverflowError for a year that datetime cannot represent
        return 0.0
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
