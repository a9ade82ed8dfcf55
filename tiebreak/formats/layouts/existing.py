"""Ratings that were collected elsewhere: in a sentence, and as a closed study."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tiebreak.digits import counted
from tiebreak.errors import InvalidInput
from tiebreak.formats.bundle import CriterionSpec, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.coded import CodedColumn, combined
from tiebreak.formats.label_cells import LabelRule, rule_for
from tiebreak.formats.layouts.layout import DEFAULT
from tiebreak.formats.layouts.ratings import plain_name
from tiebreak.formats.ratings import (
    RatingTable,
)
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.rows import Row
from tiebreak.nonresponse import is_missing
from tiebreak.scales import Scale, infer_scale

QUESTION, BETTER = "How do you rate this text?", "Which text is better?"
MAX_NAMED = 6
# The reader of plain tables, beside those of platforms and datasets.
TABLE = "table"


@dataclass(frozen=True)
class Existing:
    """Ratings that were collected elsewhere, and how they were read."""

    table: RatingTable
    """The ratings."""
    about: str
    """What kind of file it is, as a sentence, or ""."""
    columns: Mapping[str, str]
    """Column of each role, if the file is a plain table."""
    missing: int
    """Number of labels that are missing where a rater could have given one."""
    notes: tuple[str, ...] = ()
    """Sentences on how cells were read, and on what was left out."""
    reader: str = TABLE
    """Name of the reader: a platform or dataset, or "table"."""
    scales: Mapping[str, str] = field(default_factory=dict)
    """Scales that the file declares."""
    study: Converted | None = None
    """What a platform's reader found, with the texts and questions."""

    @property
    def sentence(self) -> str:
        """What was read, such as "12 items × 4 raters, 41 ratings, 7 missing, ordinal 1 to 5 (inferred)."."""
        table = self.table.select(self.table.is_counted)
        units, raters = (len(table.coded(name).used) for name in ("unit", "rater"))
        parts = [
            f"{counted(units, 'item')} × {counted(raters, 'rater')}",
            counted(len(table) - self.marked, "rating"),
            *([f"{self.missing + self.marked:,} missing"] if self.missing + self.marked else []),
            "; ".join(self._scales()),
        ]
        return " ".join(filter(None, [self.about, ", ".join(filter(None, parts)) + "."]))

    @cached_property
    def marked(self) -> int:
        """Number of labels that are marks of missing values."""
        criteria, labels = self.table.coded("criterion"), self.table.coded("label")
        marked = np.zeros(len(self.table), dtype=bool)
        for criterion, given in _labels_of(self.table).items():
            scale = self._scale(criterion, given)
            known = (scale.labels if scale else None) or ()
            for mark in (label for label in given if is_missing(label, known)):
                marked |= criteria.equals(criterion) & labels.equals(mark)
        return int((marked & self.table.is_counted).sum())

    def _scale(self, criterion: str, labels: list[Any]) -> Scale | None:
        """Return the scale that is declared, or inferred from the labels, or None if it is unclear."""
        if declared := self.scales.get(criterion):
            return Scale.parse(declared)
        try:
            return infer_scale(labels, criterion, compares=_compares(self.table))
        except InvalidInput:
            return None

    def _scales(self) -> Iterator[str]:
        several = len(self.table.coded("criterion").used) > 1
        for criterion, labels in _labels_of(self.table).items():
            name = f"{criterion} " if several or criterion != DEFAULT else ""
            scale = self._scale(criterion, labels)
            said = "" if self.scales.get(criterion) else " (inferred)"
            yield f"{name}{_in_words(scale.spec)}{said}" if scale else f"{name}of an unclear scale"

    def converted(self, title: str) -> Converted:
        """Return the ratings as a closed study, with the texts that the file has of its items."""
        kind = {} if _compares(self.table) else {"unit_kind": "generation"}
        if self.study is not None:
            settings = kind | dict(self.study.spec.settings)
            criteria = tuple(
                replace(one, scale=self.scales[one.name]) for one in self.study.spec.criteria
            )
            spec = replace(self.study.spec, title=title, criteria=criteria, settings=settings)
            return replace(self.study, spec=spec)
        rows = [_row_of(self.table, k) for k in range(len(self.table))]
        sides = ("system_a", "system_b")
        spec = StudySpec(
            title=title,
            criteria=tuple(self._criteria()),
            systems=tuple(sorted({row[side] for row in rows for side in sides if side in row})),
            settings={"comparisons_per_hit": 1} | kind,
        )
        instances = {
            row["instance"]: InstanceRow(row["instance"], category=row.get("category", ""))
            for row in rows
        }
        return Converted(spec, [*instances.values()], _generations(rows), rows, about=self.about)

    def _criteria(self) -> Iterator[CriterionSpec]:
        compares = _compares(self.table)
        for name, labels in _labels_of(self.table).items():
            scale = self.scales.get(name) or infer_scale(labels, name, compares=compares).spec
            yield CriterionSpec(name, scale, BETTER if compares else QUESTION)


def _labels_of(table: RatingTable) -> dict[str, list[Any]]:
    """Return the distinct labels of each criterion."""
    criteria, labels = table.coded("criterion"), table.coded("label")
    both = np.unique(combined((criteria.codes, labels.codes)), return_index=True)[1].tolist()
    found: dict[str, list[Any]] = {name: [] for name in criteria.in_order}
    for k in both:
        found[table.value("criterion", k)].append(table.value("label", k))
    return found


def with_labels(table: RatingTable) -> tuple[RatingTable, list[str]]:
    """Return the table with labels as what their cells mean, and sentences on it."""
    rules = {
        name: rule_for(v for v in values if v is not None)
        for name, values in _labels_of(table).items()
    }
    several = len(rules) > 1
    noted = {name: rule.note for name, rule in rules.items() if rule.note}
    notes = [f"{name}: {note}" if several else note for name, note in noted.items()]
    if not any(rule.labels for rule in rules.values()):
        return table, notes
    plain = LabelRule()
    values = [
        label if label is None else rules.get(criterion, plain)(label)
        for criterion, label in zip(table["criterion"], table["label"], strict=True)
    ]
    columns = {**table.columns, "label": CodedColumn.of(values)}
    return replace(table, columns=columns), notes


def _compares(table: RatingTable) -> bool:
    return bool((~table.coded("system_b").equals("")).any())


def _in_words(scale: str) -> str:
    kind, _, rest = scale.partition(":")
    names = rest.split(",")
    if kind == "nominal":
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return f"nominal: {', '.join(names[:MAX_NAMED])}{more}"
    if kind == "preference":
        return "preference with ties" if rest.startswith("tie") else f"preference {rest}".strip()
    if kind == "ordinal" and len(names) > 1:
        return f"ordinal from {names[0]} to {names[-1]}"
    return f"{kind} {rest.replace('..', ' to ')}".strip()


def _row_of(table: RatingTable, index: int) -> Row:
    """Return the cells of a rating that have a value."""
    cells = {name: _plain(table.value(name, index)) for name in table.columns}
    row = {name: plain_name(value) for name, value in cells.items() if not _is_default(value)}
    return {"instance": row["unit"], **row}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_default(value: Any) -> bool:
    return (
        value is None
        or value is False
        or value == ""
        or (isinstance(value, float) and np.isnan(value))
    )


def _generations(rows: Iterable[Row]) -> list[GenerationRow]:
    """Return the texts of the items, each once."""
    texts: dict[tuple[str, str, int], str] = {}
    for row in rows:
        for side in ("a", "b"):
            if (text := row.get(f"text_{side}")) and (system := row.get(f"system_{side}")):
                texts.setdefault((row["instance"], system, int(row.get(f"sample_{side}", 0))), text)
    return [GenerationRow(*key, text) for key, text in texts.items()]
