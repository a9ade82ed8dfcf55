"""Variance components of each pair of systems in the report."""

import pytest

from tests.metrics.studies import preferences, report_of
from tiebreak.stats import variance_components


def test_components_are_those_of_the_share_of_the_first_system():
    labels = [[-1, -1, 1], [1, 1, 1], [0, -1, -1], [1, -1, 0]]
    (section,) = report_of(preferences(labels)).criteria.values()
    share = [(1 - label) / 2 for of_one in labels for label in of_one]
    expected = variance_components(
        share, units=[n // 3 for n in range(12)], raters=[n % 3 for n in range(12)]
    )
    components = section.planning["a vs b"]
    assert components.mean == pytest.approx(sum(share) / 12)
    assert components.instance == pytest.approx(expected.instance)
    assert components.rating == pytest.approx(expected.rating)
    assert components.ratings == 12


def test_a_pair_in_the_other_order_is_turned():
    rows = preferences([[-1, -1], [1, -1]], system_a="z")
    for row in rows:
        row["system_b"] = "b"
    (section,) = report_of(rows).criteria.values()
    assert section.planning["b vs z"].mean == pytest.approx(0.25)


def test_single_ratings_have_a_reason():
    (section,) = report_of(preferences([[-1], [1], [0]])).criteria.values()
    components = section.planning["a vs b"]
    assert components.reason
    assert components.instance != components.instance
