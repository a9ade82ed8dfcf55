"""CSV cells that a spreadsheet would run as a formula: disarmed on writing, restored on reading.

A cell that begins with = + - @, tab or a line break gets an apostrophe in front, and so does one
that begins with apostrophes before such a character: taking one apostrophe off restores both.
"""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_DISARMED = re.compile(r"'+[=+\-@\t\r\n]")


def disarmed(text: str) -> str:
    """
    >>> disarmed("=1+1"), disarmed("'=1+1"), disarmed("a=1")
    ("'=1+1", "''=1+1", 'a=1')
    """
    return "'" + text if _FORMULA.match(text) else text


def restored(cell: str) -> str:
    """
    >>> restored("'=1+1"), restored("''=1+1"), restored("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return cell[1:] if _DISARMED.match(cell) else cell
