"""What someone types to choose the columns of a table: `ROLE=COLUMN,ROLE=COLUMN`."""

import re
from collections.abc import Iterable

from tiebreak.errors import DomainError


def parse_columns(text: str, roles: Iterable[str], prefixes: Iterable[str]) -> dict[str, str]:
    """Return the columns by role of a text such as `source=article,text:bart=bart_summary`.

    A comma ends a column's name only before one of the ``roles``, or before a role that begins with
    one of the ``prefixes``, because names of columns may contain commas.
    """
    starts = "|".join([*map(re.escape, roles), *(f"{re.escape(p)}[^=,]+" for p in prefixes)])
    columns = {}
    for part in re.split(rf",(?=(?:{starts})=)", text) if text else ():
        role, equals, column = part.partition("=")
        if not equals or not column:
            sentence = f"Columns must have the form ROLE=COLUMN, not {part[:100]!r}."
            raise DomainError("bad_columns", sentence, status=400)
        columns[role.strip()] = column
    return columns
