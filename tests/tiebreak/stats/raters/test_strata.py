"""Strata include every possible stratum, and their shares sum to 1."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import (
    AGREEMENT_STRATA,
    agreement_strata,
    all_units,
    key_strata,
    range_edges,
    separability_strata,
    unique_label_strata,
)


def sizes(strata):
    return {stratum.name: stratum.n_units for stratum in strata}


def assert_partition(strata, units):
    assert sum(stratum.members.astype(int) for stratum in strata).tolist() == [1] * units
    assert sum(stratum.share for stratum in strata) == pytest.approx(1)


def test_agreement_edges_are_half_open_and_one_is_on_its_own():
    counts = [
        [5, 0, 0],
        [4, 1, 0],
        [3, 2, 0],
        [2, 2, 1],
        [9, 1, 0],
        [1, 0, 0],
        [0, 0, 0],
        [3, 1, 1],
    ]
    strata = agreement_strata(counts, level="nominal")
    assert sizes(strata) == {
        "PA=1": 1, "0.8<=PA<1": 2, "0.6<=PA<0.8": 2, "PA<0.6": 1, "undefined": 2,
    }  # fmt: skip
    assert_partition(strata, 8)


def test_ordinal_agreement_is_at_the_lower_median():
    # Of the labels 1, 1, 2, 3, 3, a fifth equal the median 2, and two fifths equal a mode.
    assert sizes(agreement_strata([[2, 1, 2]], level="ordinal"))["PA<0.6"] == 1
    # Half of the labels 1, 1, 3, 3 equal the lower median 1.
    assert sizes(agreement_strata([[2, 0, 2]], level="ordinal"))["PA<0.6"] == 1
    assert sizes(agreement_strata([[0, 3, 1]], level="ordinal"))["0.6<=PA<0.8"] == 1


def test_empty_strata_are_present():
    strata = agreement_strata([[3, 0]], level="nominal")
    assert tuple(stratum.name for stratum in strata) == AGREEMENT_STRATA
    none = agreement_strata(np.zeros((0, 2), dtype=int), level="nominal")
    assert [stratum.share for stratum in none] == [0, 0, 0, 0, 0]


def test_unique_labels_go_up_to_what_could_occur():
    strata = unique_label_strata([[3, 0, 0, 0], [2, 1, 0, 0]])
    assert sizes(strata) == {"1": 1, "2": 1, "3": 0}
    assert_partition(strata, 2)
    few = unique_label_strata([[9, 0], [5, 4]])
    assert sizes(few) == {"1": 1, "2": 1}


def test_units_with_fewer_than_two_ratings_have_no_number_of_labels():
    strata = unique_label_strata([[0, 0], [2, 1], [2, 0], [1, 0]])
    assert sizes(strata) == {"1": 1, "2": 1, "undefined": 2}
    assert_partition(strata, 4)


def test_any_key():
    strata = key_strata("category", ["b", "a", None, "b", ""])
    assert sizes(strata) == {"a": 1, "b": 2, "undefined": 2}
    assert_partition(strata, 5)
    named = key_strata("category", ["b"], names=["a", "b", "c"])
    assert sizes(named) == {"a": 0, "b": 1, "c": 0}
    with refused("names_missing", naming="b"):
        key_strata("category", ["b"], names=["a"])


def test_ranges_of_separability():
    delta = [0.0, 0.25, 0.5, 1.0, float("nan")]
    strata = separability_strata(delta, range_edges(delta))
    assert [stratum.n_units for stratum in strata] == [1, 1, 1, 1, 1]
    assert strata[0].name == "0.0000<=separability<0.2500"
    assert strata[3].name == "0.7500<=separability<=1.0000"
    assert strata[4].name == "undefined"
    assert_partition(strata, 5)
    one = separability_strata([0.3, 0.3], range_edges([0.3, 0.3]))
    assert [stratum.name for stratum in one] == ["0.3000<=separability<=0.3000"]
    unknown = separability_strata([float("nan")], range_edges([float("nan")]))
    assert sizes(unknown) == {"undefined": 1}


def test_all_units():
    assert (all_units(4).n_units, all_units(4).share) == (4, 1.0)
