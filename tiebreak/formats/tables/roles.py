"""The roles of a table's columns: those that people chose, and a guess for the others."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.cells import check_field_name
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.column_kinds import per_key
from tiebreak.formats.tables.guess import Guess
from tiebreak.formats.tables.plan import (
    FIELD_OF,
    LAYOUTS,
    LONG,
    PAIR_ROLES,
    PROMPTS,
    ROLES,
    TEXT_OF,
    WIDE,
    Plan,
)
from tiebreak.formats.tables.problems import BadCell
from tiebreak.formats.tables.profiles import Column, Profile, check_columns, profile_of

FILLS_TEXTS = (
    "The column {!r} has texts of systems, and an empty cell is no text of the row above. Fill down other"
    " columns only."
)


def texts_in(rows: Iterable[Row]) -> int:
    """Return 2 if rows have texts of systems that can be told apart, 1 if they have a text, and else 0."""
    try:
        roles = plan_for(profile_of(enumerate(rows))).columns
    except BadCell:
        return 0
    n = sum(role.startswith("text") for role in roles)
    return 2 if n > 1 or (n and "system" in roles) else n


def plan_for(
    profile: Profile,
    *,
    layout: str | None = None,
    columns: Mapping[str, str] | None = None,
    is_complete: bool = False,
    leave_out: Iterable[str] = (),
    fill_down: Iterable[str] = (),
) -> Plan:
    """Return how to read a table, given what its cells look like.

    Someone may have chosen the layout, and columns by role; roles that are missing are guessed,
    unless ``is_complete`` says that ``columns`` has all. No guess uses the columns of ``leave_out``.
    Those of ``fill_down`` have no texts of systems, because no text may be made up.
    Raises `DomainError` if a role, a column or the layout does not exist.
    """
    chosen, left_out, fill_down = dict(columns or {}), set(leave_out), tuple(fill_down)
    _check_choice(profile, layout, chosen, left_out, fill_down)
    free = {name: c for name, c in profile.columns.items() if name not in left_out}
    profile = replace(profile, columns=free)
    guess = Guess(profile, chosen)
    is_guessed = layout is None and not is_complete and not _layout_of(chosen)
    layout = layout or _layout_of(chosen) or guess.layout()
    roles = chosen if is_complete else guess.columns(layout)
    doubtful = {
        role: name
        for role, name in roles.items()
        if role not in chosen and _is_doubtful(role, profile[name])
    }
    roles = {role: name for role, name in roles.items() if role not in doubtful}
    is_source_alone = "source" in roles and not any(r.startswith("text") for r in roles)
    if is_guessed and layout == WIDE and is_source_alone:
        doubtful |= {name: name for name in guess.left_answers(roles.values())}
    unclear = () if is_complete or doubtful else guess.unclear(layout, roles)
    if is_guessed and layout == WIDE and is_source_alone and not doubtful and not unclear:
        layout = PROMPTS
    texts = [name for role, name in roles.items() if role.startswith("text")]
    if made_up := next((name for name in texts if name in fill_down), None):
        raise DomainError("fills_texts", FILLS_TEXTS.format(made_up), status=400)
    encoded = frozenset(name for name in roles.values() if profile[name].is_encoded)
    repeats = _has_repeats(profile, layout, roles)
    varies = layout != PROMPTS and _has_samples(profile, layout, roles)
    return Plan(
        layout,
        roles,
        repeats and varies,
        (repeats or layout == PROMPTS) and not varies,
        encoded,
        frozenset(name for name in roles.values() if profile[name].is_prose),
        tuple(doubtful.values()),
        unclear,
    )


def _is_doubtful(role: str, column: Column) -> bool:
    """Whether people should be asked before they read the cells of a column in this role."""
    if role.startswith("text"):
        return column.is_doubtful
    return role in ("source", "reference") and (column.is_code or column.is_id)


def _check_choice(
    profile: Profile,
    layout: str | None,
    columns: Mapping[str, str],
    left_out: set[str],
    fill_down: tuple[str, ...],
) -> None:
    if layout not in {None, *LAYOUTS}:
        raise DomainError(
            "unknown_layout",
            f"The layout must be wide, long or prompts, not {layout!r}.",
            status=400,
        )
    both = next((name for name in columns.values() if name in left_out), None)
    if both is not None:
        sentence = f"The column {both!r} is to be used and to be left out. Choose one of both."
        raise DomainError("column_left_out", sentence, status=400)
    columns = {**columns, **{f"{TEXT_OF}{name}": name for name in (*left_out, *fill_down)}}
    for role in columns:
        if role.startswith(FIELD_OF):
            _check_field(role.removeprefix(FIELD_OF))
        elif role not in ROLES and not (role.startswith(TEXT_OF) and role != TEXT_OF):
            names = ", ".join([*ROLES, "text:SYSTEM", "field:NAME"])
            sentence = f"{role!r} is not a role of a column. The roles are: {names}."
            raise DomainError("unknown_role", sentence, status=400)
    check_columns(profile, columns.values())


def _check_field(name: str) -> None:
    try:
        check_field_name(name)
    except InvalidInput as error:
        sentence = f"{error.message[0].upper()}{error.message[1:]}."
        raise DomainError(error.code, sentence, status=400) from error


def _layout_of(chosen: Iterable[str]) -> str | None:
    if any(role.startswith(TEXT_OF) or role in PAIR_ROLES for role in chosen):
        return WIDE
    return LONG if {"system", "text", "sample"} & set(chosen) else None


def _has_repeats(profile: Profile, layout: str, columns: Mapping[str, str]) -> bool:
    """Whether rows of the same instance and system are so frequent that they must be samples."""
    key = columns.get("instance") or columns.get("source")
    if key is None or "sample" in columns:
        return "sample" in columns
    rows_per_instance = profile[key].repeats
    if layout == LONG and "system" in columns:
        return rows_per_instance >= 1.5 * profile[columns["system"]].distinct
    return "text_a" not in columns and rows_per_instance >= 1.5


def _has_samples(profile: Profile, layout: str, columns: Mapping[str, str]) -> bool:
    """Whether the texts of an instance and system differ between rows."""
    key = columns.get("instance") or columns.get("source")
    if key is None or "sample" in columns:
        return True
    texts = [name for role, name in columns.items() if role.startswith("text")]
    names = [key, columns["system"]] if layout == LONG and "system" in columns else [key]
    return any(per_key(profile, names, text) > 1.05 for text in texts)
