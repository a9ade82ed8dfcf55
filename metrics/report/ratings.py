"""The counted ratings of one criterion as arrays, in an order that the rows' order cannot touch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from metrics.stats import Scale, count_matrix, infer_scale
from metrics.stats.scales import Label
from metrics.stats.validation import FloatArray, IntArray
from studies.formats.problems import FormatError, Problem
from studies.formats.table import Coded, RatingTable

Mask = npt.NDArray[np.bool_]

READ_COLUMNS = (
    *("unit", "rater", "label", "kind", "criterion", "role", "run", "repeat", "order"),
    *("instance", "system_a", "system_b", "category", "separability", "separability_raw"),
    *("similarity", "side_a", "duration_ms", "study_version", "chars_a", "chars_b", "raw"),
    *("surplus", "superseded", "partial", "late", "excluded", "simulated"),
)
MOST_LABELS = 101
KEPT = "kept"
MISSING = "missing"
TIE = "tie"


@dataclass(frozen=True, eq=False)
class Named:
    """Codes (n,) into sorted names; −1 where there is none."""

    codes: IntArray
    names: tuple[str, ...]

    @classmethod
    def of(cls, column: Coded[str], rows: IntArray) -> "Named":
        codes = column.codes[rows]
        occurring = [int(code) for code in np.unique(codes) if code >= 0]
        occurring.sort(key=column.values.__getitem__)
        place = np.full(len(column.values) + 1, -1, dtype=np.int64)
        place[occurring] = np.arange(len(occurring))
        return cls(place[codes], tuple(column.values[code] for code in occurring))

    @property
    def any(self) -> bool:
        return bool(self.names)

    def per_unit(self, unit: IntArray, n_units: int) -> "Named":
        """What each unit has: the same in all of its rows, or left empty there."""
        found = np.full(n_units, -1, dtype=np.int64)
        np.maximum.at(found, unit, self.codes)
        return Named(found, self.names)

    def decoded(self) -> list[str | None]:
        lookup: tuple[str | None, ...] = (*self.names, None)
        return [lookup[code] for code in self.codes.tolist()]


@dataclass(frozen=True, eq=False)
class Units:
    """What is rated, one entry a unit (U,), by the unit's name."""

    names: tuple[str, ...]
    instance: Named
    system_a: Named
    system_b: Named
    category: Named
    similarity: Named
    separability: FloatArray
    separability_is_raw: bool

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def clusters(self) -> IntArray:
        """What is resampled: the unit's instance, or the unit where it names none."""
        alone = len(self.instance.names) + np.arange(len(self))
        return np.where(self.instance.codes >= 0, self.instance.codes, alone)

    @property
    def resampling(self) -> str:
        return "instance" if len(np.unique(self.clusters)) < len(self) else "unit"

    @cached_property
    def pairs(self) -> Named:
        """System pairs, named in the alphabet's order; a unit of one generation has its system."""
        named = [
            " / ".join(sorted(name for name in pair if name is not None))
            for pair in zip(self.system_a.decoded(), self.system_b.decoded(), strict=True)
        ]
        names = tuple(sorted({name for name in named if name}))
        place = {name: code for code, name in enumerate(names)}
        return Named(np.array([place.get(name, -1) for name in named], dtype=np.int64), names)


@dataclass(frozen=True, eq=False)
class CriterionRatings:
    """The counted ratings of one criterion (n,), sorted by unit, rater, run and order.

    ``label`` holds codes into ``labels``, −1 for an answer that could not be read. ``rows`` are
    the ratings' rows in the table. ``n_unparsed`` counts the unread answers as they came in,
    whatever they are taken for since.
    """

    name: str
    scale: Scale
    is_inferred: bool
    labels: tuple[Label, ...]
    units: Units
    rows: IntArray
    unit: IntArray
    label: IntArray
    rater: Named
    turn: IntArray
    is_machine: Mask
    n_unparsed: int

    @property
    def order_labels(self) -> tuple[Label, ...]:
        """The labels that agreement sees: "both bad" has no place on a scale with an order."""
        outside = self.scale.bad and self.scale.level != "nominal"
        return self.labels[:-1] if outside else self.labels

    @property
    def values(self) -> FloatArray | None:
        """The labels' numbers, where distances between them have a meaning."""
        if self.scale.level not in {"interval", "ratio"}:
            return None
        return np.array([float(label) for label in self.labels])

    @cached_property
    def machines(self) -> tuple[str, ...]:
        codes = np.unique(self.rater.codes[self.is_machine])
        return tuple(self.rater.names[code] for code in codes)

    @property
    def humans(self) -> Mask:
        return ~self.is_machine

    def of_machine(self, name: str) -> Mask:
        return np.asarray(self.is_machine & (self.rater.codes == self.rater.names.index(name)))

    def counts(self, mask: Mask) -> IntArray:
        """(units, labels) of the masked ratings, over all labels of the scale."""
        return count_matrix(
            self.unit[mask], self.label[mask], n_units=len(self.units), n_labels=len(self.labels)
        )

    def order_counts(self, mask: Mask) -> IntArray:
        return self.counts(mask)[:, : len(self.order_labels)]

    def unparsed(self, mask: Mask) -> IntArray:
        """Answers (units,) of the masked ratings that could not be read."""
        lost = self.unit[mask & (self.label < 0)]
        return np.bincount(lost, minlength=len(self.units)).astype(np.int64)


def criterion_names(table: RatingTable, declared: Mapping[str, str]) -> list[str]:
    """Criteria of the counted rows and of the declaration, sorted."""
    column = table.text("criterion")
    codes = np.unique(column.codes[np.asarray(table.counted)])
    return sorted({*declared, *(column.values[code] for code in codes if code >= 0)})


def criterion_ratings(table: RatingTable, name: str, *, spec: str | None) -> CriterionRatings:
    """The counted ratings of `name`; raise FormatError where a label is not on the scale."""
    scale = Scale.parse(spec) if spec else _inferred(table, name)
    rows = np.flatnonzero(table.counted & table.text("criterion").equals(name))
    rows = _canonical(table, rows)
    labels, label = _labels(table, rows, scale)
    unit = Named.of(table.text("unit"), rows)
    return CriterionRatings(
        name=name,
        scale=scale,
        is_inferred=spec is None,
        labels=labels,
        units=_units(table, rows, unit),
        rows=rows,
        unit=unit.codes,
        label=label,
        rater=Named.of(table.text("rater"), rows),
        turn=_turns(table, rows),
        is_machine=table.text("kind").equals("machine")[rows],
        n_unparsed=int((label < 0).sum()),
    )


def with_unparsed(ratings: CriterionRatings, unparsed: str) -> CriterionRatings:
    """The unread answers as they are (*kept*), left out (*missing*), or taken for a label."""
    lost = ratings.label < 0
    if unparsed == KEPT or not lost.any():
        return ratings
    if unparsed == MISSING:
        return _without(ratings, lost)
    stand_in: object = 0 if unparsed == TIE else unparsed
    try:
        place = ratings.labels.index(ratings.scale.parse_label(stand_in))
    except ValueError as error:
        raise ValueError(f"Unparsed answers cannot become {unparsed!r}: {error}") from None
    return replace(ratings, label=np.where(lost, place, ratings.label))


def _without(ratings: CriterionRatings, left_out: Mask) -> CriterionRatings:
    kept = ~left_out
    return replace(
        ratings,
        rater=Named(ratings.rater.codes[kept], ratings.rater.names),
        **{
            name: getattr(ratings, name)[kept]
            for name in ("rows", "unit", "label", "turn", "is_machine")
        },
    )


def _inferred(table: RatingTable, name: str) -> Scale:
    """From all rows of the criterion, those that do not count too: from the whole file."""
    codes = np.unique(table.label.codes[table.text("criterion").equals(name)])
    try:
        return infer_scale((table.label.values[code] for code in codes if code >= 0), name)
    except ValueError as error:
        raise FormatError([Problem(table.source, None, f"criterion {name!r}: {error}")]) from None


def _canonical(table: RatingTable, rows: npt.NDArray[np.intp]) -> IntArray:
    keys = [Named.of(table.text(name), rows).codes for name in ("order", "run", "rater", "unit")]
    return np.asarray(rows[np.lexsort(keys)], dtype=np.int64)


def _labels(table: RatingTable, rows: IntArray, scale: Scale) -> tuple[tuple[Label, ...], IntArray]:
    """The columns of all counts, and each row's among them."""
    codes = table.label.codes[rows]
    parsed: dict[int, Label] = {}
    for code in np.unique(codes[codes >= 0]).tolist():
        try:
            parsed[code] = scale.parse_label(table.label.values[code])
        except ValueError as error:
            line = int(table.lines[rows[codes == code]].min())
            raise FormatError([Problem(table.source, line, str(error))]) from None
    labels = scale.labels or tuple(sorted(set(parsed.values()), key=float))
    if len(labels) > MOST_LABELS:
        reason = f"{len(labels):,} distinct labels; at most {MOST_LABELS:,}: round them."
        raise FormatError([Problem(table.source, None, reason)])
    place = np.full(len(table.label.values) + 1, -1, dtype=np.int64)
    for code, label in parsed.items():
        place[code] = labels.index(label)
    # A scale without fixed labels and without ratings still needs a column.
    return labels or (0.0,), place[codes]


def _units(table: RatingTable, rows: IntArray, unit: Named) -> Units:
    def named(column: str) -> Named:
        return Named.of(table.text(column), rows).per_unit(unit.codes, len(unit.names))

    def number(column: str) -> FloatArray:
        found = np.full(len(unit.names), np.nan)
        np.fmax.at(found, unit.codes, table.number(column)[rows])
        return found

    columns = ("instance", "system_a", "system_b", "category", "similarity")
    separability = number("separability")
    is_raw = bool(np.isnan(separability).all())
    if is_raw:
        separability = number("separability_raw")
    return Units(
        names=unit.names,
        **{column: named(column) for column in columns},
        separability=separability,
        separability_is_raw=is_raw,
    )


def _turns(table: RatingTable, rows: IntArray) -> IntArray:
    """Which pass a rating belongs to: a rater's run and presentation order, 0 for humans."""
    run, order = (Named.of(table.text(name), rows) for name in ("run", "order"))
    return (run.codes + 1) * (len(order.names) + 1) + order.codes + 1
