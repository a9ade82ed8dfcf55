"""The ratings of one criterion as arrays, with counts for humans and for each machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.formats import FormatError, RatingTable
from tiebreak.formats.coded import CodedColumn
from tiebreak.formats.errors import Problems
from tiebreak.formats.rating_cells import label_probabilities
from tiebreak.formats.ratings import is_known
from tiebreak.nonresponse import is_missing
from tiebreak.scales import BAD, MAX_INFERRED_POINTS, MAX_POINTS, Label, Scale, infer_scale
from tiebreak.stats.core.counts import count_matrix
from tiebreak.stats.core.groups import n_distinct, numbered

INFERRED = " The scale was inferred from the labels that were given; declare it if it has others."

ALL_MISSING = "All of its labels mark missing values."
NO_LABELS = (
    "None of its answers has a label: its raters could not say or reported the items as broken."
)

Codes = NDArray[np.int64]
Resampling = Literal["unit", "instance"]


@dataclass(frozen=True)
class Machine:
    """A machine's label counts over all runs and presentation orders, and its unparsed answers.

    `counts` has the shape (units, labels), and `unparsed` the shape (units,).
    """

    counts: NDArray[np.int64]
    unparsed: NDArray[np.int64]

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        """Whether the machine answered each unit, parsed or not."""
        return np.asarray(self.counts.sum(axis=1) + self.unparsed > 0)


@dataclass(frozen=True)
class Criterion:
    """The ratings of one criterion, with rows (ratings) and units sorted by their ids.

    `labels` are the columns of the counts, unless the scale has many values: then a column is the rank
    of a label among the labels of its unit. `column` has the column of each row. `unit` and `label`
    are codes for each row; a label's code is −1 if it is unparsed or has no column. `clusters` has the
    instance of each unit, because intervals resample instances. `repeats` has the planned repeats,
    which no other statistic uses, `set_aside` the annotators' first answers that a flag takes out, and
    `nonresponses` the first answers without a label.
    `missing` counts the rows that were left out by the mark that they
    had for a label, such as NA. `separability_ends` are the smallest and the largest δ of the study of
    which these ratings are a part, so that its ranges are those of the whole.
    """

    name: str
    scale: Scale
    scale_inferred: bool
    labels: tuple[Label, ...]
    rows: RatingTable
    repeats: RatingTable
    set_aside: RatingTable
    nonresponses: RatingTable
    unit: Codes
    label: Codes
    column: Codes
    parsed: NDArray[Any]
    humans: NDArray[np.int64]
    machines: dict[str, Machine]
    clusters: Codes
    resampling: Resampling
    first_row: Codes
    missing: Mapping[str, int] = field(default_factory=dict)
    separability_ends: tuple[float, ...] = ()

    @property
    def n_units(self) -> int:
        return len(self.humans)

    @property
    def has_many_values(self) -> bool:
        """Whether the scale is open, and more different values occur than a scale may have points."""
        return _has_many_values(self.scale, self.labels)

    @property
    def is_slider(self) -> bool:
        """Whether labels are numbers, of so many values that hardly two answers are exactly the same."""
        is_number = self.scale.level in {"interval", "ratio"}
        return is_number and len(self.labels) > MAX_INFERRED_POINTS

    @cached_property
    def is_human(self) -> NDArray[np.bool_]:
        return self.rows.coded("kind").equals("human")

    @property
    def votes(self) -> dict[str, int]:
        """Number of times that humans gave each label, including "both bad"."""
        labels = self.scale.labels if self.scale.labels is not None else self.labels
        counted = self.label[self.is_human & (self.label >= 0)]
        numbers = np.bincount(counted, minlength=len(self.labels)).tolist()
        counts = dict(zip(self.labels, numbers, strict=True))
        counts[BAD] = counts.get(BAD, int((self.is_human & (self.parsed == BAD)).sum()))
        return {str(label): counts.get(label, 0) for label in labels}

    @cached_property
    def is_unparsed(self) -> NDArray[np.bool_]:
        return np.asarray(self.parsed == None, dtype=np.bool_)  # noqa: E711

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

    def mean_scores(self, rows: NDArray[np.bool_], groups: Codes) -> NDArray[np.float64]:
        """Return the mean label of these rows in each group; NaN for a group without one.

        ``groups`` has the group of each unit, from 0, or −1 for none. Labels must have numbers.
        """
        assert self.numbers is not None
        scored = rows & (self.label >= 0) & (groups[self.unit] >= 0)
        group, size = groups[self.unit[scored]], int(groups.max(initial=-1)) + 1
        n = np.bincount(group, minlength=size)
        total = np.bincount(group, self.numbers[self.label[scored]], minlength=size)
        means = np.full(size, np.nan)
        np.divide(total, n, out=means, where=n > 0)
        return means

    def runs_of(self, machine: str) -> tuple[NDArray[np.int64], Codes] | None:
        """Return a machine's label counts by unit and presentation order, and the unit of each row.

        The two orders of a unit are no repeated runs of one question. None if no unit has both.
        """
        rows = ~self.is_human & self.rows.coded("rater").equals(machine) & (self.column >= 0)
        asked = np.column_stack([self.unit, self.rows.ranked("order")[1]])[rows]
        questions, row = np.unique(asked, axis=0, return_inverse=True)
        if n_distinct(questions[:, 0]) == len(questions):
            return None
        shape = {"n_units": len(questions), "n_labels": self.humans.shape[1]}
        return count_matrix(row.ravel(), self.column[rows], **shape), questions[:, 0]

    def of_units(self, column: str) -> NDArray[Any]:
        """Return the first known value of each unit in a column that describes units."""
        # Some rows of a unit may lack the value.
        chosen = rows_of_units(self.rows, column, self.unit, self.first_row)
        values = self.rows.columns[column][chosen]
        return values.values if isinstance(values, CodedColumn) else values

    @property
    def systems(self) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
        """The first and the second system of each unit, or "" for one that is unknown."""
        a, b = (self.of_units(side).astype(str) for side in ("system_a", "system_b"))
        return a, b

    @property
    def compares(self) -> NDArray[np.bool_]:
        """Whether each unit compares two different systems."""
        a, b = self.systems
        compared: NDArray[np.bool_] = (a != "") & (b != "") & (a != b)
        return compared

    @cached_property
    def pairs(self) -> NDArray[np.str_]:
        """Pair of systems of each unit as "A vs B", or "" if a system is unknown."""
        names, codes = self.coded_pairs
        return names[codes]

    @cached_property
    def coded_pairs(self) -> tuple[NDArray[np.str_], Codes]:
        """Pairs of systems in alphabetical order, and the index of each unit's pair."""
        sides = (self.coded_units(side).ranked() for side in ("system_a", "system_b"))
        (a, first), (b, second) = sides
        key = first * len(b) + second
        used = np.unique(key)
        all_names = [f"{x} vs {y}" if x and y else "" for x in a for y in b]
        names, rank = np.unique([all_names[k] for k in used], return_inverse=True)
        return names, rank[numbered(key)]

    def coded_units(self, column: str) -> CodedColumn:
        """Return `of_units` with its distinct values."""
        rows = rows_of_units(self.rows, column, self.unit, self.first_row)
        return self.rows.coded(column)[rows]


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
    criteria: list[Criterion] = []
    counted, repeats = table.select(table.is_counted), table.select(table.is_planned_repeat)
    of_kind = {
        "repeats": repeats,
        "set_aside": table.select(table.is_set_aside),
        "nonresponses": table.select(table.is_nonresponse),
    }
    names = counted.coded("criterion").in_order
    unlabelled = of_kind["nonresponses"].coded("criterion").in_order
    unknown = {name: NO_LABELS for name in unlabelled if name not in names}
    for name in [*(n for n in order if n in names), *(n for n in names if n not in order)]:
        rows = counted.select(counted.coded("criterion").equals(name))
        declared = scales.get(name)
        try:
            scale = Scale.parse(declared) if declared else _inferred(table, name)
        except InvalidInput as error:
            if declared or error.code != "scale_undeclared":
                raise
            unknown[name] = error.message
            continue
        rows, missing = _without_missing(rows, scale)
        if not len(rows):
            unknown[name] = ALL_MISSING
            continue
        labels = _labels(rows, scale, unparsed, problems)
        _check_probabilities(rows, scale, problems, is_inferred=declared is None)
        problems.check()
        others = {
            kind: _without_missing(some.select(some.coded("criterion").equals(name)), scale)[0]
            for kind, some in of_kind.items()
        }
        made = _criterion(name, scale, declared is None, rows, labels, **others)
        criteria.append(replace(made, missing=missing))
    return criteria, unknown


def _inferred(table: RatingTable, name: str) -> Scale:
    rows = np.flatnonzero(
        table.coded("criterion").equals(name) & table.coded("nonresponse").equals("")
    )
    labels, a, b = (table.coded(column)[rows] for column in ("label", "system_a", "system_b"))
    compares = any(a.in_order) and (any(b.in_order) or name == "preference")
    return infer_scale(labels.in_order, name, compares=compares)


def _without_missing(rows: RatingTable, scale: Scale) -> tuple[RatingTable, dict[str, int]]:
    """Return the rows whose label is no mark of a missing value, and how often each mark occurs."""
    labels, known = rows.coded("label"), scale.labels or ()
    codes = [code for code in labels.used.tolist() if is_missing(labels.distinct[code], known)]
    if not codes:
        return rows, {}
    counts = {labels.distinct[code]: int((labels.codes == code).sum()) for code in codes}
    return rows.select(~np.isin(labels.codes, codes)), counts


def _labels(
    rows: RatingTable, scale: Scale, unparsed: str | None, problems: Problems
) -> CodedColumn:
    """Return the label of each row, or None if it is unparsed."""
    substitute, labels = _substitute(scale, unparsed), rows.coded("label")
    parsed: list[Label | None] = [None] * len(labels.distinct)
    refused = np.zeros(len(parsed), dtype=bool)
    for code in labels.used.tolist():
        label = labels.distinct[code]
        try:
            parsed[code] = substitute if label is None else scale.parse_label(label)
        except InvalidInput:
            refused[code] = True
    for row in np.flatnonzero(refused[labels.codes]).tolist():
        with problems.at(rows.name, int(rows.lines[row])):
            scale.parse_label(labels.distinct[labels.codes[row]])
    return CodedColumn.from_codes(labels.codes, parsed)


def _check_probabilities(
    rows: RatingTable, scale: Scale, problems: Problems, *, is_inferred: bool
) -> None:
    """Note the lines of probabilities of something that is no label of the scale."""
    cells = rows.coded("probabilities")
    reasons: dict[int, InvalidInput] = {}
    for code in cells.used.tolist():
        try:
            if cells.distinct[code]:
                label_probabilities(cells.distinct[code], scale)
        except InvalidInput as error:
            reason = f"{error.message}{INFERRED if is_inferred else ''}"
            reasons[code] = InvalidInput(error.code, reason)
    for row in np.flatnonzero(np.isin(cells.codes, [*reasons])).tolist():
        with problems.at(rows.name, int(rows.lines[row])):
            raise reasons[int(cells.codes[row])]


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
    labels: CodedColumn,
    *,
    repeats: RatingTable,
    set_aside: RatingTable,
    nonresponses: RatingTable,
) -> Criterion:
    order = np.lexsort([rows.ranked(c)[1] for c in ("order", "run", "rater", "unit")])
    rows, labels = rows.select(order), labels[order]
    columns = _columns(scale, [labels.distinct[code] for code in labels.used])
    code_of = {label: code for code, label in enumerate(columns)}
    of_value = [-1 if x is None else code_of.get(x, -1) for x in labels.distinct]
    label = labels.mapped(np.array(of_value, dtype=np.int64))
    unit = rows.ranked("unit")[1]
    first_row = np.flatnonzero(np.diff(unit, prepend=-1))  # rows are sorted by unit
    column = _ranks(unit, label) if _has_many_values(scale, columns) else label
    shape = (len(first_row), max(len(columns) if column is label else column.max() + 1, 0))
    human = rows.coded("kind").equals("human")
    clusters = _clusters(rows, unit, first_row)
    has_shared = n_distinct(clusters) < len(clusters)
    return Criterion(
        name=name,
        scale=scale,
        scale_inferred=inferred,
        labels=columns,
        rows=rows,
        repeats=repeats,
        set_aside=set_aside,
        nonresponses=nonresponses,
        unit=unit,
        label=label,
        column=column,
        parsed=labels.values,
        humans=_counts(unit, column, human, shape),
        machines=_machines(rows, unit, column, human, shape),
        clusters=clusters,
        resampling="instance" if has_shared else "unit",
        first_row=first_row,
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


def _counts(unit: Codes, label: Codes, mask: Any, shape: tuple[int, int]) -> NDArray[np.int64]:
    labelled = mask & (label >= 0)
    return count_matrix(unit[labelled], label[labelled], n_units=shape[0], n_labels=shape[1])


def _machines(
    rows: RatingTable, unit: Codes, label: Codes, human: Any, shape: tuple[int, int]
) -> dict[str, Machine]:
    machines = {}
    is_unparsed = rows.coded("label").equals(None) & (label < 0)
    raters = rows.coded("rater")
    for name in sorted(raters[~human].in_order):
        mask = ~human & raters.equals(name)
        unparsed = np.bincount(unit[mask & is_unparsed], minlength=shape[0]).astype(np.int64)
        machines[str(name)] = Machine(_counts(unit, label, mask, shape), unparsed)
    return machines


def rows_of_units(rows: RatingTable, column: str, unit: Codes, first_row: Codes) -> Codes:
    """Return the first row of each unit in which a column has a value, or else the first row."""
    rows.looked_at.add(column)
    known = np.flatnonzero(is_known(rows.columns[column]))
    chosen = first_row.copy()
    chosen[unit[known[::-1]]] = known[::-1]
    return chosen


def _clusters(rows: RatingTable, unit: Codes, first_row: Codes) -> Codes:
    """Return the instance of each unit. A unit without an instance counts as its own instance."""
    names, instance = rows.ranked("instance", rows_of_units(rows, "instance", unit, first_row))
    if "" not in names[:1].tolist():
        return instance
    alone = np.flatnonzero(instance == 0)
    code = instance + len(alone) - 1
    code[alone] = np.arange(len(alone))
    return code
