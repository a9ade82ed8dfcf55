"""The ratings of one criterion as arrays, with counts for humans and for each machine."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.formats import FormatError, RatingTable
from tiebreak.formats.errors import Problems
from tiebreak.formats.ratings import is_known
from tiebreak.scales import BAD, MAX_POINTS, Label, Scale, infer_scale
from tiebreak.stats.counts import count_matrix

Codes = NDArray[np.int64]
Resampling = Literal["unit", "instance"]


@dataclass(frozen=True)
class Machine:
    """A machine's label counts over all runs and presentation orders, and its unparsed answers.

    `counts` has the shape (units, labels), and `unparsed` the shape (units,).
    """

    counts: NDArray[np.int64]
    unparsed: NDArray[np.int64]


@dataclass(frozen=True)
class Criterion:
    """The ratings of one criterion, with rows (ratings) and units sorted by their ids.

    `labels` are the columns of the counts, unless the scale has many values: then a column is the rank
    of a label among the labels of its unit. `column` has the column of each row. `unit` and `label`
    are codes for each row; a label's code is −1 if it is unparsed or has no column. `clusters` has the
    instance of each unit, because intervals resample instances. `repeats` has the planned repeats,
    which no other statistic uses.
    """

    name: str
    scale: Scale
    scale_inferred: bool
    labels: tuple[Label, ...]
    rows: RatingTable
    repeats: RatingTable
    unit: Codes
    label: Codes
    column: Codes
    parsed: NDArray[Any]
    humans: NDArray[np.int64]
    machines: dict[str, Machine]
    clusters: Codes
    resampling: Resampling
    first_row: Codes

    @property
    def n_units(self) -> int:
        return len(self.humans)

    @property
    def has_many_values(self) -> bool:
        """Whether the scale is open, and more different values occur than a scale may have points."""
        return _has_many_values(self.scale, self.labels)

    @property
    def is_human(self) -> NDArray[np.bool_]:
        return np.asarray(self.rows["kind"] == "human", dtype=bool)

    @property
    def votes(self) -> dict[str, int]:
        """Number of times that humans gave each label, including "both bad"."""
        labels = self.scale.labels if self.scale.labels is not None else self.labels
        counts = Counter(str(label) for label in self.parsed[self.is_human])
        return {str(label): counts[str(label)] for label in labels}

    @property
    def is_unparsed(self) -> NDArray[np.bool_]:
        return np.array([label is None for label in self.parsed], dtype=bool)

    @property
    def values(self) -> NDArray[np.float64] | None:
        """Labels as numbers, or None for levels of measurement that do not use numbers."""
        return self.numbers if self.scale.level in {"interval", "ratio"} else None

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """Labels as numbers, or None for labels without an order."""
        if self.scale.level == "nominal":
            return None
        return np.array([float(label) for label in self.labels])

    @property
    def strength(self) -> NDArray[np.float64]:
        """Preference of each row, negative for system A; NaN for "both bad" or unparsed labels."""
        numbers = [np.nan if label == BAD else float(label) for label in self.labels]
        return np.array([*numbers, np.nan])[self.label]

    @property
    def max_strength(self) -> int:
        """Strongest preference on the scale."""
        return max(abs(int(label)) for label in self.labels if label != BAD)

    def of_units(self, column: str) -> NDArray[Any]:
        """Return the first known value of each unit in a column that describes units."""
        return _per_unit(self.rows[column], self.unit, self.first_row)

    @property
    def pairs(self) -> NDArray[np.str_]:
        """Pair of systems of each unit as "A vs B", or "" if a system is unknown."""
        a, b = (self.of_units(side).astype(str) for side in ("system_a", "system_b"))
        pairs = np.char.add(np.char.add(a, " vs "), b)
        return np.where((a == "") | (b == ""), "", pairs)


def read_criteria(
    table: RatingTable,
    scales: Mapping[str, str],
    unparsed: str | None,
    order: Sequence[str] = (),
) -> tuple[list[Criterion], dict[str, str]]:
    """Return the criteria of the counted rows, and reasons for criteria whose scale is unknown.

    Criteria come in the order of ``order``, then in the order in which they first appear. A scale
    that is not declared is inferred from all rows, including those that are not counted. Raises
    `FormatError` if labels are not on their scale.
    """
    problems = Problems()
    criteria, unknown = [], {}
    counted, repeats = table.select(table.is_counted), table.select(table.is_planned_repeat)
    for name in _in_order(counted["criterion"], order):
        rows = counted.select(counted["criterion"] == name)
        declared = scales.get(name)
        all_labels = table["label"][table["criterion"] == name]
        try:
            scale = Scale.parse(declared) if declared else infer_scale(all_labels.tolist(), name)
        except InvalidInput as error:
            if declared:
                raise
            unknown[name] = error.message
            continue
        labels = _labels(rows, scale, unparsed, problems)
        problems.check()
        repeated = repeats.select(repeats["criterion"] == name)
        criteria.append(_criterion(name, scale, declared is None, rows, labels, repeats=repeated))
    return criteria, unknown


def _in_order(names: NDArray[Any], order: Sequence[str]) -> list[str]:
    """Return the distinct names: first those in ``order``, then the others by first appearance."""
    distinct = dict.fromkeys(names.tolist())
    return [*(name for name in order if name in distinct), *(n for n in distinct if n not in order)]


def _labels(
    rows: RatingTable, scale: Scale, unparsed: str | None, problems: Problems
) -> list[Label | None]:
    """Return the label of each row, or None if it is unparsed."""
    substitute = _substitute(scale, unparsed)
    parsed: list[Label | None] = []
    for label, line in zip(rows["label"], rows.lines, strict=True):
        parsed_label: Label | None = substitute
        if label is not None:
            with problems.at(rows.name, int(line)):
                parsed_label = scale.parse_label(label)
        parsed.append(parsed_label)
    return parsed


def _substitute(scale: Scale, unparsed: str | None) -> Label | None:
    """Return the label that replaces unparsed answers, if there is one."""
    if unparsed is None:
        return None
    try:
        return scale.parse_label("0" if unparsed == "tie" else unparsed)
    except InvalidInput as error:
        raise FormatError.of("--unparsed", None, error.code, error.message) from error


def _criterion(
    name: str,
    scale: Scale,
    inferred: bool,
    rows: RatingTable,
    labels: list[Label | None],
    *,
    repeats: RatingTable,
) -> Criterion:
    order = np.lexsort([_text(rows[c]) for c in ("order", "run", "rater", "unit")])
    rows = rows.select(order)
    labels = [labels[i] for i in order]
    columns = _columns(scale, labels)
    code_of = {label: code for code, label in enumerate(columns)}
    label = np.array([-1 if x is None else code_of.get(x, -1) for x in labels], dtype=np.int64)
    _, first_row, unit = np.unique(_text(rows["unit"]), return_index=True, return_inverse=True)
    column = _ranks(unit, label) if _has_many_values(scale, columns) else label
    shape = (len(first_row), max(len(columns) if column is label else column.max() + 1, 0))
    human = np.asarray(rows["kind"] == "human", dtype=bool)
    clusters = _clusters(rows, unit, first_row)
    has_shared = len(np.unique(clusters)) < len(clusters)
    return Criterion(
        name=name,
        scale=scale,
        scale_inferred=inferred,
        labels=columns,
        rows=rows,
        repeats=repeats,
        unit=unit.astype(np.int64),
        label=label,
        column=column,
        parsed=_objects(labels),
        humans=_counts(unit, column, human, shape),
        machines=_machines(rows, unit, column, human, shape),
        clusters=clusters,
        resampling="instance" if has_shared else "unit",
        first_row=first_row.astype(np.int64),
    )


def _columns(scale: Scale, labels: list[Label | None]) -> tuple[Label, ...]:
    """Return the labels to count, which leave out "both bad" on ordered scales."""
    if scale.labels is None:
        return tuple(sorted({label for label in labels if label is not None}, key=float))
    return scale.labels if scale.level == "nominal" else scale.order_labels or ()


def _has_many_values(scale: Scale, labels: tuple[Label, ...]) -> bool:
    return scale.labels is None and len(labels) > MAX_POINTS


def _ranks(unit: Codes, label: Codes) -> Codes:
    """Return the rank of each label among the different labels of its unit; −1 if it has none."""
    labels = int(label.max(initial=0)) + 1
    rated = np.flatnonzero(label >= 0)
    keys, key = np.unique(unit[rated] * labels + label[rated], return_inverse=True)
    first = np.searchsorted(keys // labels, keys // labels)
    ranks = np.full(len(label), -1, dtype=np.int64)
    ranks[rated] = (np.arange(len(keys)) - first)[key]
    return ranks


def _objects(labels: list[Label | None]) -> NDArray[Any]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _text(column: NDArray[Any]) -> NDArray[np.str_]:
    return column.astype(str)


def _counts(unit: Codes, label: Codes, mask: Any, shape: tuple[int, int]) -> NDArray[np.int64]:
    labelled = mask & (label >= 0)
    return count_matrix(unit[labelled], label[labelled], n_units=shape[0], n_labels=shape[1])


def _machines(
    rows: RatingTable, unit: Codes, label: Codes, human: Any, shape: tuple[int, int]
) -> dict[str, Machine]:
    machines = {}
    is_unparsed = np.array([raw is None for raw in rows["label"]], dtype=bool) & (label < 0)
    for name in sorted(set(rows["rater"][~human])):
        mask = ~human & (rows["rater"] == name)
        unparsed = np.bincount(unit[mask & is_unparsed], minlength=shape[0]).astype(np.int64)
        machines[str(name)] = Machine(_counts(unit, label, mask, shape), unparsed)
    return machines


def _per_unit(values: NDArray[Any], unit: Codes, first_row: Codes) -> NDArray[Any]:
    """Return the first known value of each unit, because some rows of a unit may lack the value."""
    known = is_known(values)
    result = values[first_row]
    units, first = np.unique(unit[known], return_index=True)
    result[units] = values[known][first]
    return result


def _clusters(rows: RatingTable, unit: Codes, first_row: Codes) -> Codes:
    """Return the instance of each unit. A unit without an instance counts as its own instance."""
    instance = _text(_per_unit(rows["instance"], unit, first_row))
    names = np.where(instance == "", np.char.add("\x1f", _text(rows["unit"][first_row])), instance)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)
