"""The ratings in the rows of a table, by its layout."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.label_cells import side_of
from tiebreak.formats.layouts.layout import Cell, Layout
from tiebreak.formats.layouts.unnamed import tells_clicks_apart
from tiebreak.formats.rating_names import UNNAMED, is_machine, kind_of
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.profiles import is_blank, is_empty


@dataclass
class Tally:
    """What the rows of a table contain beside ratings."""

    missing: int = 0
    empty: int = 0
    unrated: int = 0
    repeated: list[int] = field(default_factory=list)
    machines: set[str] = field(default_factory=set)


def ratings_in_rows(
    rows: Iterable[tuple[int, Row]], layout: Layout, tally: Tally
) -> Iterator[tuple[int, Row]]:
    """Yield a rating for each label, with the number of its row."""
    seen: set[int] = set()
    machines = _machines_of(layout)
    is_long = layout.keys and "rater" in layout.facts
    has_many = layout.cells[0].item or (layout.keys and layout.cells[0].rater)  # labels in a row
    for index, (number, row) in enumerate(rows, start=1):
        if has_many or is_long:
            own = (c for c in row if not (is_long and tells_clicks_apart(c)) or c in layout.keys)
            cells = hash(tuple(str(row[c]) for c in own))
            if cells in seen:
                tally.repeated.append(number)
                continue
            seen.add(cells)
        facts = {
            role: plain_name(row.get(c))
            for role, c in layout.facts.items()
            if not is_empty(row.get(c))
        }
        facts["unit"] = _unit(row, layout, index)
        labels = [(cell, row.get(cell.column)) for cell in layout.cells]
        given = [(cell, label) for cell, label in labels if not is_blank(label)]
        if not given and (
            facts["unit"] is None or not (layout.cells[0].rater or facts.get("rater"))
        ):
            tally.empty += 1
            continue
        if not given and len(layout.cells) > 1 and not facts.get("rater"):
            tally.unrated += 1
            continue
        tally.missing += len(labels) - len(given)
        for cell, label in given:
            unit = f"{facts['unit']}/{cell.item}" if layout.keys else cell.item
            its = facts | {"unit": unit} if cell.item else facts
            rating = _rating(its, cell.named_in(row), label, machines, tally)
            yield number, _in_order(rating) if layout.has_winners else rating


def _rating(facts: Row, cell: Cell, label: Any, machines: set[str], tally: Tally) -> Row:
    rating = {**facts, "label": str(label).lower() if isinstance(label, bool) else label}
    if cell.rater:
        rating["rater"] = cell.rater
    if cell.criterion:
        rating["criterion"] = cell.criterion
    rater = str(rating.get("rater", ""))
    if "kind" in facts:
        rating["kind"] = kind_of(facts["kind"])
    elif is_machine(rater) or rater in machines:
        rating["kind"] = "machine"
    if rating.get("kind") == "machine":
        rating.setdefault("raw", str(label))
        tally.machines.add(rater)
    return rating


def _machines_of(layout: Layout) -> set[str]:
    """Return the raters that are machines because other fields of their object are: `judges.new-1` beside `judges.gpt-5`."""
    raters = {cell.rater for cell in layout.cells}
    objects = {rater.partition(".")[0] for rater in raters if "." in rater and is_machine(rater)}
    beside = {rater for rater in raters if rater.partition(".")[0] in objects}
    return {r for r in beside if kind_of(r.partition(".")[2]) != "human"} | {UNNAMED[1]}


def _in_order(rating: Row) -> Row:
    """Return the rating of a pair with its systems in one order, and the label as a preference."""
    first, second = str(rating["system_a"]), str(rating["system_b"])
    label = side_of(rating["label"], first, second)
    if label is None:
        raise InvalidInput(
            "not_a_side", f"the label {rating['label']!r} names neither side of the pair"
        )
    if first <= second:
        return {**rating, "label": label}
    swapped = {
        "system_a": second,
        "system_b": first,
        "label": -label if label in (-1, 1) else label,
    }
    for name in ("sample", "text", "chars"):
        both = {f"{name}_a": rating.get(f"{name}_b"), f"{name}_b": rating.get(f"{name}_a")}
        swapped |= {key: value for key, value in both.items() if value is not None}
    return {**rating, **swapped}


def _unit(row: Row, layout: Layout, index: int) -> str | None:
    if not layout.keys:
        return str(index)
    parts = [plain_name(row.get(column)) for column in layout.keys]
    if any(is_empty(part) for part in parts):
        return None
    pair = {layout.facts.get("system_a"), layout.facts.get("system_b")}
    if layout.has_winners and pair <= {*layout.keys}:
        systems = sorted(str(plain_name(row.get(c))) for c in layout.keys if c in pair)
        parts = [p for c, p in zip(layout.keys, parts, strict=True) if c not in pair] + systems
    text = " ".join("/".join(map(str, parts)).split())
    return text if len(text) <= 150 else f"{text[:130]} {sha256(text.encode()).hexdigest()[:12]}"


def plain_name(value: Any) -> Any:
    """Return a cell that names something without the spaces around it, and 3.0 as 3."""
    if isinstance(value, str):
        return value.strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value
