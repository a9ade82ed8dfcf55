"""The benchmark of the statistics: `make bench-stats`."""

import sys
from collections.abc import Callable
from functools import partial

import krippendorff
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Row, measured, publish, seconds_of
from benchmarks.strengths import closed_form_row
from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion, Machine
from tiebreak.report.generators import Seeds
from tiebreak.report.sections.raters.strata import strata_section
from tiebreak.scales import Scale
from tiebreak.stats import Patterns, agreement, bradley_terry, generator_for, krippendorff_alpha

Counts = NDArray[np.int64]
REPLICATES = 10_000
EXTRAPOLATED_FROM = 20


def ratings(units: int, *, raters: int, per_instance: int = 1, labels: int = 3) -> Counts:
    """Return counts in shape (units, labels); an instance's units have one label distribution."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(labels), size=units // per_instance)
    return np.asarray(rng.multinomial(raters, np.repeat(shares, per_instance, axis=0)))


def prepare_agreement(units: int) -> Callable[[], object]:
    counts = ratings(units, raters=5)
    return lambda: agreement(counts, rng=generator_for(0), replicates=REPLICATES)


def agreement_rows() -> list[Row]:
    units = 1_000_000
    large, small = (measured(partial(prepare_agreement, n), runs=5) for n in (units, 1_000))
    counts, rng = ratings(units, raters=5), np.random.default_rng(1)

    def peer() -> None:
        drawn = counts[rng.integers(0, units, size=units)]
        krippendorff.alpha(value_counts=drawn, level_of_measurement="nominal")

    ratio = seconds_of(peer, runs=EXTRAPOLATED_FROM) * REPLICATES / large.seconds
    growth = large.seconds / small.seconds
    return [
        Row(
            f"agreement, {units:,} units × 5 raters × 3 labels",
            large.seconds,
            large.megabytes,
            f"the krippendorff package, best of {EXTRAPOLATED_FROM} replicates times {REPLICATES:,}",
            ratio,
            "under 0.2 s, 10,000 times",
            large.seconds < 0.2 and ratio >= 10_000,
        ),
        Row(
            "the same, 1,000 units",
            small.seconds,
            small.megabytes,
            "a thousand times as many units",
            growth,
            "ratio under 3",
            growth < 3,
        ),
    ]


def prepare_report(per_instance: int) -> Callable[[], object]:
    """Prepare all statistics of humans and three machines in every stratum."""
    criterion = _criterion(100_000, per_instance)
    return lambda: strata_section(criterion, Seeds(0), REPLICATES)


def _criterion(units: int, per_instance: int) -> Criterion:
    """Return five human ratings per unit and one rating by each of three machines."""
    rng, unit = np.random.default_rng(0), np.arange(units)
    instance, scale = unit // per_instance, Scale.parse("preference:tie")
    machines = {
        name: Machine(rng.multinomial(1, [0.4, 0.2, 0.4], size=units), np.zeros(units, dtype=int))
        for name in ("m1", "m2", "m3")
    }
    delta = rng.random(units // per_instance)[instance]
    columns = {
        "category": np.char.add("c", (instance % 4).astype(str)).astype(object),
        "separability": delta,
        "separability_raw": delta,
        "system_a": np.full(units, "x", dtype=object),
        "system_b": np.full(units, "y", dtype=object),
    }
    return Criterion(
        name="preference",
        scale=scale,
        scale_inferred=False,
        labels=scale.labels or (),
        rows=RatingTable(columns, unit, "generated"),
        repeats=(none := RatingTable({name: v[:0] for name, v in columns.items()}, unit[:0], "")),
        set_aside=none,
        nonresponses=none,
        unit=unit,
        label=unit,
        column=unit,
        parsed=unit,
        humans=ratings(units, raters=5, per_instance=per_instance),
        machines=machines,
        clusters=instance,
        resampling="unit" if per_instance == 1 else "instance",
        first_row=unit,
    )


def report_rows() -> list[Row]:
    rows = []
    for per_instance, limit, name in (
        (1, 2, "1 unit per instance"),
        (5, 20, "5 units per instance"),
    ):
        measurement = measured(partial(prepare_report, per_instance), runs=3)
        reached = measurement.seconds < limit and measurement.megabytes < 500
        rows.append(
            Row(
                f"stratified report, 100,000 units, 3 machines, {name}",
                measurement.seconds,
                measurement.megabytes,
                "",
                None,
                f"under {limit} s, 500 MB",
                reached,
            )
        )
    return rows


def clustered_row() -> Row:
    measurement = measured(prepare_clustered, runs=3)
    counts, clusters = _clustered()
    members, rng = counts.reshape(len(counts) // 5, 5, 3), np.random.default_rng(1)

    def naive() -> None:
        drawn = members[rng.integers(0, len(members), size=len(members))]
        plain_alpha(drawn.reshape(len(clusters), 3))

    ratio = seconds_of(naive, runs=EXTRAPOLATED_FROM) * REPLICATES / measurement.seconds
    return Row(
        "bootstrap of α over 50,000 instances × 5 units",
        measurement.seconds,
        measurement.megabytes,
        f"an index loop in numpy, best of {EXTRAPOLATED_FROM} replicates times {REPLICATES:,}",
        ratio,
        "3 times",
        ratio >= 3,
    )


def plain_alpha(counts: Counts) -> float:
    """Compute nominal Krippendorff's α directly from its definition."""
    size = counts.sum(axis=1)
    apart = ((counts * (size[:, None] - counts)).sum(axis=1) / (size - 1)).sum()
    totals = counts.sum(axis=0)
    number = totals.sum()
    return float(1 - (number - 1) * apart / (number**2 - (totals**2).sum()))


def _clustered() -> tuple[Counts, Counts]:
    return ratings(250_000, raters=3, per_instance=5), np.arange(250_000) // 5


def prepare_clustered() -> Callable[[], object]:
    counts, clusters = _clustered()
    patterns = Patterns.of(counts, clusters=clusters)
    return lambda: krippendorff_alpha(patterns, rng=generator_for(0), replicates=REPLICATES)


def prepare_strengths() -> Callable[[], object]:
    """Prepare one comparison per unit between 200 systems of different strength."""
    systems, units = 200, 1_000_000
    rng = np.random.default_rng(0)
    first = rng.integers(0, systems, size=units)
    second = (first + rng.integers(1, systems, size=units)) % systems
    better = 1 / (1 + np.exp((second - first) / 50))
    shares = np.column_stack([0.8 * better, np.full(units, 0.2), 0.8 * (1 - better)])
    outcome = (rng.random(units)[:, None] > shares.cumsum(axis=1)[:, :2]).sum(axis=1)
    counts = np.eye(3, dtype=np.int64)[outcome]
    names = np.array([f"s{k}" for k in range(systems)])
    a, b = names[first].tolist(), names[second].tolist()
    return lambda: bradley_terry(
        counts, system_a=a, system_b=b, rng=generator_for(0), replicates=1_000
    )


def strengths_row() -> Row:
    measurement = measured(prepare_strengths, runs=1)
    return Row(
        "Bradley–Terry, 200 systems, 1,000,000 comparisons, 1,000 fits",
        measurement.seconds,
        measurement.megabytes,
        "",
        None,
        "under 30 s",
        measurement.seconds < 30,
    )


def main() -> int:
    rows = [*agreement_rows(), *report_rows(), clustered_row(), strengths_row(), closed_form_row()]
    return publish("stats", rows)


if __name__ == "__main__":
    sys.exit(main())
