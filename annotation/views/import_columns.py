"""The form on which a researcher says what the columns of an uploaded table are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.text import Truncator

from studies.data.table_import import Choice
from tiebreak.errors import DomainError
from tiebreak.formats.tables import FIELD_OF, TEXT_OF, Column, Profile, TableSummary

# What a column can be, as the page says it; "text:" and "field:" are followed by a name.
MEANINGS = {
    "": "(leave out)",
    "instance": "Instance id",
    "source": "Source text",
    TEXT_OF: "Text of one system",
    "reference": "Human reference",
    FIELD_OF: "Further text (a field)",
    "category": "Category",
    "system": "Name of the system",
    "text": "Text",
    "sample": "Number of the sample",
    "system_a": "Name of system A",
    "text_a": "Text of system A",
    "system_b": "Name of system B",
    "text_b": "Text of system B",
}
# The answer of a button: the empty cells of the columns that it is about repeat the value above.
FILL_DOWN = "fill_down"
NAMED = (TEXT_OF, FIELD_OF)
EXAMPLE_CHARACTERS = 160


@dataclass(frozen=True)
class ColumnRow:
    """A column of the file with its meaning, the name of its system or field, and its first cells."""

    name: str
    role: str
    system: str
    examples: tuple[str, ...]


def column_rows(profile: Profile, summary: TableSummary) -> list[ColumnRow]:
    """Return the columns in the order of the file, with the roles of the plan."""
    roles = {}
    if summary.plan is not None:
        roles = {column: role for role, column in summary.plan.columns.items()}
    return [_column_row(column, roles.get(column.name, "")) for column in profile.columns.values()]


def _column_row(column: Column, role: str) -> ColumnRow:
    kind = next((prefix for prefix in NAMED if role.startswith(prefix)), None)
    examples = [*column.examples[:2], "", ""][:2]
    return ColumnRow(
        column.name,
        role if kind is None else kind,
        "" if kind is None else role.removeprefix(kind),
        tuple(map(shortened, examples)),
    )


def shortened(example: str) -> str:
    """Return as much of a cell as the pages of columns show."""
    return Truncator(example).chars(EXAMPLE_CHARACTERS)


def choice_of(data: QueryDict) -> Choice:
    """Return what the form says. If the layout or the sheet was changed, the roles are guessed anew.

    Raises `DomainError` if two columns have the same role.
    """
    layout, sheet = data.get("layout") or None, data.get("sheet", "")
    if sheet != data.get("shown_sheet", ""):
        return Choice(sheet=sheet)
    fill_down, errors = fill_down_of(data), "leave_out_errors" in data
    if layout != (data.get("shown_layout") or None) or data.get("do") == FILL_DOWN:
        return Choice(layout, sheet=sheet, fill_down=fill_down, leave_out_errors=errors)
    names = data.getlist("column")
    roles = [_role(data, number, name) for number, name in enumerate(names)]
    _check_once(roles)
    columns = {role: name for role, name in zip(roles, names, strict=True) if role}
    return Choice(
        layout,
        columns,
        is_complete=True,
        sheet=sheet,
        fill_down=fill_down,
        leave_out_errors=errors,
    )


def fill_down_of(data: QueryDict) -> tuple[str, ...]:
    """Return the columns whose empty cells repeat the value above: as said before, or just now."""
    asked = data.getlist("empty_below") if data.get("do") == FILL_DOWN else []
    return tuple(dict.fromkeys([*data.getlist("fill_down"), *asked]))


def _role(data: QueryDict, number: int, column: str) -> str:
    role = data.get(f"role-{number}", "")
    if role not in MEANINGS:
        return ""
    if role not in NAMED:
        return role
    return f"{role}{' '.join(data.get(f'system-{number}', '').split()) or column}"


def _check_once(roles: list[str]) -> None:
    repeated = next((role for role, n in Counter(filter(None, roles)).items() if n > 1), None)
    if repeated is None:
        return
    if repeated.startswith(TEXT_OF):
        name = repeated.removeprefix(TEXT_OF)
        sentence = f"Two columns have the texts of “{name}”. Give each system its own name."
    elif repeated.startswith(FIELD_OF):
        name = repeated.removeprefix(FIELD_OF)
        sentence = f"Two columns are the field “{name}”. Give each field its own name."
    else:
        sentence = f"Two columns are “{MEANINGS[repeated]}”. Choose one of them."
    raise DomainError("repeated_role", sentence, status=400)


def chosen_rows(rows: list[ColumnRow], data: Mapping[str, str]) -> list[ColumnRow]:
    """Return the rows with what was typed so that a refused form loses nothing."""
    return [
        ColumnRow(
            row.name,
            data.get(f"role-{number}", row.role),
            data.get(f"system-{number}", row.system),
            row.examples,
        )
        for number, row in enumerate(rows)
    ]
