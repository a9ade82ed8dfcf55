"""Every value of rating sets by separability and pair of systems, and ρ where there are several pairs."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.metrics.studies import checked, report_of
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.stats import consistency

K, INSTANCES = 5, 24
PAIRS = (("a", "b"), ("c", "d"))


def rated(pairs=PAIRS, *, alike: bool = False) -> list[dict]:
    """Return sets of five ratings by two people and a machine, less mixed where δ is higher.

    The labels of pairs that are `alike` are equal.
    """
    rng = {pair: random.Random(1 if alike else str(pair)) for pair in pairs}
    return [
        {
            "unit": f"i{number}{a}{b}{k}",
            "instance": f"i{number}",
            "system_a": a,
            "system_b": b,
            "separability_raw": number / INSTANCES,
            "rater": rater,
            "kind": "machine" if rater == "judge" else "human",
            "label": rng[a, b].choice([-1, 0, 1] if rng[a, b].random() > number / 24 else [1]),
        }
        for number in range(INSTANCES)
        for a, b in pairs
        for rater in ("r0", "r1", "judge")
        for k in range(K)
    ]


def of(rows: list[dict], **options):
    report = checked(report_of(rows, sections=["set_values"], **options))
    return report.criteria["preference"]


def sets_of(rows: list[dict], pair: tuple[str, str], raters: str) -> dict[tuple, list[int]]:
    sets: dict[tuple, list[int]] = {}
    for row in rows:
        if (row["system_a"], row["system_b"]) == pair and row["rater"] in raters.split():
            key = row["instance"], row["rater"], row["separability_raw"]
            sets.setdefault(key, []).append(row["label"])
    return sets


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("raters", ["r0 r1", "judge"])
def test_each_value_has_its_share_in_each_range_of_a_pair(pair, raters):
    rows = rated()
    found = of(rows).set_values[" vs ".join(pair)]
    assert found.systems == pair
    found = found.machines["judge"] if raters == "judge" else found
    sets = sets_of(rows, pair, raters)
    assert found.n == len(sets) == sum(row.n for row in found.ranges)
    for row in found.ranges:
        last = row is found.ranges[-1]
        inside = [of for (_, _, d), of in sets.items() if row.low <= d and (d < row.high or last)]
        for measured, expected in (
            (row.consistency, Counter(f"{consistency(one):g}" for one in inside)),
            (row.preference_strength, Counter(f"{np.mean(one):g}" for one in inside)),
        ):
            shares = {value: share for value, share in measured.items() if share}
            assert shares == pytest.approx({v: n / row.n for v, n in expected.items()})


def test_rho_of_a_pair_is_that_of_its_instances():
    rows = rated()
    sets = sets_of(rows, ("c", "d"), "r0 r1")
    by_instance: dict[float, list[float]] = {}
    for (_, _, delta), one in sets.items():
        by_instance.setdefault(delta, []).append(consistency(one))
    expected = spearmanr(list(by_instance), [np.mean(one) for one in by_instance.values()])
    rho = of(rows).set_values["c vs d"].spearman_separability
    assert rho.value == pytest.approx(expected.statistic)
    assert rho.n == INSTANCES
    assert rho.has_interval


def test_a_pair_that_repeats_another_makes_no_interval_narrower():
    """Instances are resampled with all their pairs."""
    alone, twice = (
        of(rated(pairs, alike=True), replicates=400).rating_sets.spearman_separability
        for pairs in (PAIRS[:1], PAIRS)
    )
    assert (twice.n, alone.n) == (2 * INSTANCES, INSTANCES)
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high))


def test_without_separability_or_names_of_systems_there_is_a_reason():
    unscored = [row | {"separability_raw": None} for row in rated()]
    unnamed = [row | {"system_a": "", "system_b": ""} for row in rated(PAIRS[:1])]
    for rows in (unscored, unnamed):
        about = of(rows)
        assert about.set_values is None
        assert about.problems["set_values"]


def test_the_figures_have_every_value_in_ascending_order_whatever_the_store_does():
    found = of(rated()).set_values
    for pair in found.values():  # as PostgreSQL returns objects
        for row in pair.ranges:
            values = sorted(row.preference_strength.items(), key=lambda item: (len(item[0]), item))
            object.__setattr__(row, "preference_strength", dict(values))
    figures = {one.name: one for one in figures_of_section("set_values", found)}
    assert set(figures) == {"set-trends"} | {
        f"set-{name}{end}" for name in ("consistency", "strength") for end in ("", "-1")
    }
    drawn = figures["set-strength"]
    first = [row[4] for row in drawn.rows if row[:3] == ("a vs b", "annotators", 0.0)]
    assert first == sorted(first)
    assert {row[0] for row in drawn.rows} == {"a vs b", "c vs d"}
    assert [strip.name for strip in drawn.chart.strips if strip.css == "group"] == list(found)
    empty = {name: replace(one, n=0) for name, one in found.items()}
    assert not figures_of_section("set_values", empty)[1].chart
