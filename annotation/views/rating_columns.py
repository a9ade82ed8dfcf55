"""The form on which a researcher says what the columns of a file of ratings are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict

from annotation.views.import_columns import FILL_DOWN, fill_down_of, shortened
from tiebreak.errors import DomainError
from tiebreak.formats.layouts import LABEL_OF, RATER_OF, TABLE, Choice, Seen, rater_and_criterion
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.readers import READERS

LEFT_OUT, LABEL, RATER = "leave_out", "label", "rater"
# What a column can be, as the page says it. Labels have a rater's name, or a criterion's, or both.
MEANINGS = {
    "": "(not chosen)",
    LEFT_OUT: "Leave out",
    "unit": "Item",
    RATER: "Name of the rater",
    "criterion": "Name of the criterion",
    LABEL: "Labels",
    "system_a": "System, or system A",
    "system_b": "System B",
    "text_a": "Text, or text A",
    "text_b": "Text B",
    "category": "Category",
}


@dataclass(frozen=True)
class RatingColumn:
    """A column of the file with its meaning and its first cells."""

    name: str
    role: str
    rater: str
    criterion: str
    examples: tuple[str, ...]


@dataclass(frozen=True)
class CriterionScale:
    """A criterion with the scale that was chosen, and the one that it has otherwise."""

    name: str
    chosen: str
    found: str


def rating_columns(seen: Seen, choice: Choice) -> list[RatingColumn]:
    """Return the columns in the order of the file, as they were read or, if refused, as chosen."""
    roles = {column: role for role, column in (seen.roles or choice.columns).items()}
    roles |= dict.fromkeys(choice.left_out, LEFT_OUT)
    return [_column(name, roles.get(name, ""), cells) for name, cells in seen.columns.items()]


def _column(name: str, role: str, cells: list[str]) -> RatingColumn:
    rater = criterion = ""
    if role.startswith((RATER_OF, LABEL_OF)):
        rater, criterion = rater_and_criterion(role)
        role = LABEL
    examples = tuple(map(shortened, cells))
    return RatingColumn(name, role, rater, criterion, examples)


def scales_of(seen: Seen, choice: Choice) -> list[CriterionScale]:
    """Return the criteria with their scales; those of a refused choice stay to be corrected."""
    names = [*seen.scales, *(name for name in choice.scales if name not in seen.scales)]
    return [CriterionScale(n, choice.scales.get(n, ""), seen.scales.get(n, "")) for n in names]


def rating_choice_of(data: QueryDict) -> Choice:
    """Return what the form says. If the sheet or the reader was changed, the rest is guessed anew.

    Raises `DomainError` if two columns have the same role.
    """
    sheet, reader = data.get("sheet", ""), data.get("reader", "")
    reader = reader if reader in (*READERS, TABLE) else ""
    if sheet != data.get("shown_sheet", "") or reader != data.get("shown_reader", ""):
        return Choice(reader=reader, sheet=sheet)
    scales = _scales(data)
    if reader not in ("", TABLE):
        return Choice(reader=reader, sheet=sheet, scales=scales)
    fill_down = fill_down_of(data)
    if data.get("do") == FILL_DOWN:
        return Choice(reader=reader, scales=scales, sheet=sheet, fill_down=fill_down)
    names = data.getlist("column")
    asked = [data.get(f"role-{number}", "") for number in range(len(names))]
    left_out = tuple(n for n, role in zip(names, asked, strict=True) if role == LEFT_OUT)
    roles = _roles(data, names, asked)
    columns = {role: name for name, role in roles.items()}
    return Choice(columns, left_out, reader, scales, sheet, fill_down)


def _roles(data: QueryDict, names: list[str], asked: list[str]) -> dict[str, str]:
    """Return the role of each column that has one, as the reader of ratings takes them."""
    roles = {}
    n_labels, has_rater = asked.count(LABEL), RATER in asked
    for number, (name, role) in enumerate(zip(names, asked, strict=True)):
        if role == LABEL:
            rater, criterion = (_typed(data, f"{of}-{number}") for of in ("rater", "criterion"))
            if n_labels > 1 and not (rater or criterion):
                rater, criterion = ("", name) if has_rater else (name, "")
            roles[name] = _label_role(rater, criterion)
        elif role in COLUMNS:
            roles[name] = role
    repeated = next((role for role, n in Counter(roles.values()).items() if n > 1), None)
    if repeated is not None:
        first, second = [f"“{name}”" for name, role in roles.items() if role == repeated][:2]
        sentence = (
            f"The columns {first} and {second} mean the same. Give each its own meaning or name."
        )
        raise DomainError("repeated_role", sentence, status=400)
    return roles


def _label_role(rater: str, criterion: str) -> str:
    if rater:
        return f"{RATER_OF}{rater}:{criterion}" if criterion or ":" in rater else RATER_OF + rater
    return LABEL_OF + criterion if criterion else LABEL


def _scales(data: QueryDict) -> Mapping[str, str]:
    typed = {
        name: _typed(data, f"scale-{number}")
        for number, name in enumerate(data.getlist("of_criterion"))
    }
    return {name: scale for name, scale in typed.items() if scale}


def _typed(data: QueryDict, name: str) -> str:
    return " ".join(data.get(name, "").split())
