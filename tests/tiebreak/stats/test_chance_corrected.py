"""Coefficients for sixty simulated tables, some with missing ratings, equal those of irrCAC."""

import json

import numpy as np
import pytest

from tests.paths import GOLDEN
from tests.tiebreak.stats.published import counts_of
from tiebreak.stats import fleiss_kappa, krippendorff_alpha, randolph_kappa

TABLES = json.loads((GOLDEN / "chance-corrected.json").read_text(encoding="utf-8"))


def as_counts(table):
    labels = [[-1 if label is None else label - 1 for label in unit] for unit in table["table"]]
    return counts_of(np.array(labels), table["labels"])


def assert_value(estimate, table, name):
    assert estimate.value == pytest.approx(table["values"][name]["value"], abs=5.1e-6)


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_values_are_those_of_another_package(number):
    table = TABLES[number]
    counts = as_counts(table)
    assert_value(krippendorff_alpha(counts), table, "krippendorff/identity")
    assert_value(krippendorff_alpha(counts, level="interval"), table, "krippendorff/quadratic")
    # Brennan and Prediger's coefficient of unweighted labels is Randolph's κ.
    assert_value(randolph_kappa(counts), table, "bp/identity")


def test_fleiss_agrees_where_no_unit_has_a_single_rating():
    """Our label shares leave out units with one rating; those of the other package include them."""
    whole = [table for table in TABLES if (as_counts(table).sum(axis=1) != 1).all()]
    assert len(whole) == 55
    for table in whole:
        assert_value(fleiss_kappa(as_counts(table)), table, "fleiss/identity")
