"""What the ratings of a bundle must agree with: its design, its instances, its generations."""

from collections.abc import Callable, Collection, Set

import numpy as np

from metrics.stats.scales import Scale
from studies.formats.problems import Problems
from studies.formats.study_spec import StudySpec
from studies.formats.table import MISSING, Coded, Mask, RatingTable


def check_bundle_ratings(
    table: RatingTable,
    *,
    study: StudySpec,
    systems: tuple[str, ...],
    instances: Collection[str],
    generations: Set[tuple[str, str, int]],
    problems: Problems,
) -> None:
    """Add a problem for each row that names what the bundle does not have."""
    check = _Checker(table, problems)
    check.known("instance", instances, "is not among the instances")
    for name in ("system_a", "system_b"):
        check.known(name, systems, "is not among the systems")
    check.known("criterion", [c.name for c in study.criteria], "is not among the criteria")
    check.canonical_order(systems)
    for criterion in study.criteria:
        check.labels(criterion.name, Scale.parse(criterion.scale))
    if generations:
        for side in "ab":
            check.generations(side, generations)


class _Checker:
    def __init__(self, table: RatingTable, problems: Problems) -> None:
        self.table = table
        self.problems = problems

    def _report(self, mask: Mask, reason: Callable[[int], str]) -> None:
        rows = np.flatnonzero(mask)
        lines = [int(line) for line in self.table.lines[rows]]
        self.problems.add_all(self.table.source, lines, lambda k: reason(int(rows[k])))

    def _cell(self, name: str, row: int) -> str:
        column = self.table.text(name)
        return column.values[int(column.codes[row])]

    def known(self, name: str, allowed: Collection[str], sentence: str) -> None:
        column = self.table.text(name)
        good = np.array([*(value in allowed for value in column.values), True])
        self._report(
            ~good[column.codes], lambda row: f"{name}: {self._cell(name, row)!r} {sentence}."
        )

    def canonical_order(self, systems: tuple[str, ...]) -> None:
        place = {name: k for k, name in enumerate(systems)}
        first, second = (
            _looked_up(self.table.text(name), lambda value: place.get(value, -1))
            for name in ("system_a", "system_b")
        )
        self._report(
            (first >= 0) & (second >= 0) & (first >= second),
            lambda row: (
                f"system_a {self._cell('system_a', row)!r} must stand before system_b"
                f" {self._cell('system_b', row)!r} in the study's order; turn the label too."
            ),
        )

    def labels(self, criterion: str, scale: Scale) -> None:
        label = self.table.label
        reasons = [_label_reason(scale, value) for value in label.values]
        bad = np.array([*(reason is not None for reason in reasons), False])[label.codes]
        self._report(
            bad & self.table.text("criterion").equals(criterion),
            lambda row: str(reasons[label.codes[row]]),
        )

    def generations(self, side: str, generations: Set[tuple[str, str, int]]) -> None:
        instance, system = self.table.text("instance"), self.table.text(f"system_{side}")
        sample = self.table.integer(f"sample_{side}")
        given = ~instance.missing & ~system.missing & (sample != MISSING)
        triples = np.stack([instance.codes, system.codes, sample], axis=1)
        distinct, inverse = np.unique(triples[given], axis=0, return_inverse=True)
        absent = np.array(
            [
                (instance.values[i], system.values[s], int(k)) not in generations
                for i, s, k in distinct
            ],
            dtype=bool,
        )
        mask = np.zeros(len(self.table), dtype=bool)
        mask[given] = absent[inverse.reshape(-1)]
        self._report(
            mask,
            lambda row: (
                f"there is no generation {int(sample[row])} of {self._cell(f'system_{side}', row)!r}"
                f" for the instance {self._cell('instance', row)!r}."
            ),
        )


def _looked_up(
    column: Coded[str], lookup: Callable[[str], int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([*map(lookup, column.values), -1], dtype=np.int64)[column.codes]


def _label_reason(scale: Scale, value: object) -> str | None:
    try:
        scale.parse_label(value)
    except ValueError as error:
        return str(error)
    return None
