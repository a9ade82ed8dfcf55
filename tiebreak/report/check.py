"""Krippendorff's α of a report compared with the one that the package `krippendorff` computes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.optional import load
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.report import CriterionSection, Report
from tiebreak.report.sections.raters.strata import strata_of
from tiebreak.stats import agreement

PACKAGE = "krippendorff"
HUMANS, UNWEIGHTED = "among humans", "among humans, unweighted"
TOLERANCE = 1e-9
MAX_BYTES = 2**31

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class CheckedAlpha:
    """One α of a report, and what the package computes; NaN where it is undefined.

    ``bytes_needed`` is set where the package would need too much memory.
    """

    criterion: str
    stratum: str
    raters: str
    value: float
    by_package: float
    bytes_needed: int = 0

    @property
    def difference(self) -> float:
        """Absolute difference; infinite if only one of the two is defined."""
        if self.bytes_needed or (math.isnan(self.value) and math.isnan(self.by_package)):
            return 0.0
        gap = abs(self.value - self.by_package)
        return math.inf if math.isnan(gap) else gap

    def as_json(self) -> dict[str, str | float | None]:
        """Return the fields by name, with None in place of NaN."""
        numbers = {"value": self.value, "by_package": self.by_package}
        names = {"criterion": self.criterion, "stratum": self.stratum, "raters": self.raters}
        return names | {name: None if math.isnan(x) else x for name, x in numbers.items()}

    def __str__(self) -> str:
        where = f"{self.criterion}, {self.stratum}, {self.raters}"
        needed = f"not checked, because it would need {self.bytes_needed / 2**30:.0f} GiB of memory"
        again = needed if self.bytes_needed else _shown(self.by_package)
        return f"α of {where}: {_shown(self.value)}; by the package: {again}"


def check_alphas(
    report: Report,
    table: RatingTable,
    *,
    scales: Mapping[str, str],
    unparsed: str | None,
    order: Sequence[str] = (),
) -> list[CheckedAlpha]:
    """Compute each α among humans, and among a machine's runs, again with the package.

    Raises `MissingPackageError` if the package is not installed.
    """
    package = load(PACKAGE)
    criteria, _ = read_criteria(table, scales, unparsed, order)
    return [
        checked
        for criterion in criteria
        if criterion.labels
        for checked in _of_criterion(criterion, report.criteria[criterion.name], package)
    ]


def _of_criterion(
    criterion: Criterion, section: CriterionSection, package: Any
) -> Iterator[CheckedAlpha]:
    members = {(stratum.stratifier, stratum.name): stratum for stratum in strata_of(criterion)}
    rater = criterion.rows["rater"]
    # The package knows no weights, so after a draw the same function is checked without them.
    is_weighted = not criterion.has_many_values and DesignWeights.of(criterion) is not None
    for stratum in section.strata:
        units = members[stratum.stratifier, stratum.stratum].members
        name = f"{stratum.stratifier} {stratum.stratum}"
        among, alpha = HUMANS, stratum.human_human.krippendorff_alpha.value
        if is_weighted:
            among, alpha = UNWEIGHTED, _unweighted(criterion, criterion.humans[units])
        again = _alpha(criterion, criterion.is_human & units[criterion.unit], package)
        yield CheckedAlpha(criterion.name, name, among, alpha, *again)
        for machine, groups in stratum.machines.items():
            rows = (rater == machine) & ~criterion.is_human & units[criterion.unit]
            among, alpha = f"runs of {machine}", groups.machine_machine.krippendorff_alpha.value
            if is_weighted:
                every = (criterion.machines[machine].counts, np.arange(criterion.n_units))
                counts, unit = criterion.runs_of(machine) or every
                among, alpha = f"{among}, unweighted", _unweighted(criterion, counts[units[unit]])
            again = _alpha(criterion, rows, package)
            yield CheckedAlpha(criterion.name, name, among, alpha, *again)


def _unweighted(criterion: Criterion, counts: NDArray[np.int64]) -> float:
    level, values = criterion.scale.level, criterion.values
    return agreement(counts, level=level, values=values).krippendorff_alpha.value


def _alpha(criterion: Criterion, mask: Mask, package: Any) -> tuple[float, int]:
    """Return the package's α of some ratings, which it takes as a table, and the bytes that it needs."""
    rows = np.flatnonzero(mask & (criterion.label >= 0))
    # A machine's two presentation orders of a unit are two questions.
    order = criterion.rows.ranked("order", rows)[1] * ~criterion.is_human[rows]
    key = criterion.unit[rows] * (order.max(initial=0) + 1) + order
    rows, key = rows[by_key := np.argsort(key, kind="stable")], key[by_key]
    _, unit, size = np.unique(key, return_inverse=True, return_counts=True)
    label = criterion.label[rows]
    numbers = np.arange(len(criterion.labels)) if criterion.numbers is None else criterion.numbers
    if len(np.unique(label[size[unit] > 1])) < 2:
        return math.nan, 0  # the package refuses what does not vary
    needed = 4 * 8 * len(size) * len(np.unique(label)) ** 2
    if needed > MAX_BYTES:
        return math.nan, needed
    data = np.full((size.max(), len(size)), np.nan)
    position = np.arange(len(rows)) - (np.cumsum(size) - size)[unit]
    data[position, unit] = numbers[label]
    level = criterion.scale.level
    return float(package.alpha(reliability_data=data, level_of_measurement=level)), 0


def _shown(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.12f}"
