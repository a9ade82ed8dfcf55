"""Validates a table of ratings against the models before anything is stored."""

from typing import Any

import numpy as np
from django.db import models

from annotation.models import Assignment, Place, Rater, Rating
from studies.data.field_checks import check_column, complaint, if_given
from studies.models import Unit, UnitText
from tiebreak.formats import RatingTable
from tiebreak.formats.errors import Problems
from tiebreak.formats.ratings import is_known

# For each column of a ratings file, the model field that stores it.
_FIELDS: dict[str, tuple[type[models.Model], str]] = {
    "unit": (Unit, "key"),
    "sample_a": (UnitText, "sample"),
    "sample_b": (UnitText, "sample"),
    "phase": (Unit, "phase"),
    "similarity": (Unit, "similarity"),
    "separability": (Unit, "separability"),
    "separability_raw": (Unit, "separability_raw"),
    "inclusion_probability": (Unit, "inclusion_probability"),
    "rater": (Rater, "external_id"),
    "run": (Assignment, "run"),
    "order": (Assignment, "order"),
    "repeat": (Rating, "repeat"),
    "label": (Rating, "label"),
    "raw": (Rating, "raw"),
    "side_a": (Rating, "side_a"),
    "layout": (Rating, "layout"),
    "position": (Rating, "position"),
    "hit_position": (Assignment, "position"),
    "duration_ms": (Rating, "duration_ms"),
    "excluded_reason": (Rating, "excluded_reason"),
}
# Columns that have a value of the import's own where they are empty.
_OPTIONAL = {"hit_position"}
# Analyses of the file itself use these columns; an imported study has its own values, or none.
_NOT_STORED = ("study_version", "participation")
_OF_TEXTS = ("chars_a", "chars_b", "text_a", "text_b")


def rating_problems(table: RatingTable, problems: Problems) -> None:
    """Add a problem for each row that the models' validators or constraints refuse."""
    for column, (model, name) in _FIELDS.items():
        values = (_plain(value) for value in table[column])
        check_column(
            if_given(complaint(model, name)) if column in _OPTIONAL else complaint(model, name),
            values,
            table.lines,
            file=table.name,
            column=column,
            problems=problems,
        )
    _check_roles(table, problems)
    for i in np.flatnonzero((table["category"] != "") & (table["instance"] == "")):
        reason = "category is stored with the instance, but this row has no instance"
        problems.add(table.name, int(table.lines[i]), "category_without_instance", reason)
    _check_current(table, problems)
    _check_raters(table, problems)


def columns_not_stored(table: RatingTable) -> tuple[str, ...]:
    """Return the non-empty columns that an import does not store."""
    return tuple(name for name in (*_NOT_STORED, *_OF_TEXTS) if is_known(table[name]).any())


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if np.isnan(value) else int(value) if value.is_integer() else float(value)
    return value


def _check_roles(table: RatingTable, problems: Problems) -> None:
    """Check that each unit has one role, and that rows with the role `repeat` have a number."""
    seen: dict[str, str] = {}
    rows = zip(table["unit"], table["role"], table["repeat"], table.lines, strict=True)
    for unit, role, repeat, line in rows:
        if role == "repeat" and not repeat:
            problems.add(
                table.name,
                int(line),
                "repeat_is_zero",
                "the role is repeat, so the column repeat cannot be 0",
            )
        unit_role = "main" if role == "repeat" else role
        if seen.setdefault(unit, unit_role) != unit_role:
            reason = f"unit {unit} has role {unit_role}, but role {seen[unit]} on an earlier line"
            problems.add(table.name, int(line), "contradiction", reason)


def _check_current(table: RatingTable, problems: Problems) -> None:
    """Check that each rater, unit, criterion, run, order and repeat has one current rating."""
    seen: dict[tuple[Any, ...], int] = {}
    names = ("unit", "rater", "criterion", "run", "order", "repeat")
    columns = [table[name] for name in names]
    counted = table.is_counted
    for i in np.flatnonzero(~table["superseded"]):
        first = seen.setdefault(tuple(column[i] for column in columns), int(i))
        # If both count, the reader has already reported the second one.
        if first != i and not (counted[first] and counted[i]):
            reason = (
                f"rater {columns[1][i]} already rates unit {columns[0][i]} on criterion"
                f" {columns[2][i]} on line {table.lines[first]}. Flag one of the two rows as"
                " superseded."
            )
            problems.add(table.name, int(table.lines[i]), "duplicate_rating", reason)


def _check_raters(table: RatingTable, problems: Problems) -> None:
    """Check that no unit has more raters than a HIT can have places."""
    complain = complaint(Place, "number")
    raters: dict[str, set[str]] = {}
    for unit, rater, line in zip(table["unit"], table["rater"], table.lines, strict=True):
        known = raters.setdefault(unit, set())
        if rater not in known:
            known.add(rater)
            if complain(len(known)) is not None:
                reason = (
                    f"unit {unit} has at least {len(known)} raters, but a unit can have at most"
                    f" {len(known) - 1}"
                )
                problems.add(table.name, int(line), "too_many_raters", reason)
                return
