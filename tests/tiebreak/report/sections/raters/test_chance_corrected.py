"""Further coefficients of agreement in the report: those of the published tables, and their edges."""

import json

import numpy as np
import pytest

from tests.metrics.studies import report_of
from tests.paths import GOLDEN
from tiebreak.report.sections.raters.chance_corrected import (
    NO_FIXED_LABELS,
    NO_NUMBERS,
    NOT_TWO,
    TOO_MANY_RATERS,
)
from tiebreak.stats.raters.intraclass import NOT_CROSSED

TABLES = json.loads((GOLDEN / "chance-corrected.json").read_text(encoding="utf-8"))
NAMES = {
    "gwet": "gwet_ac",
    "bp": "brennan_prediger",
    "fleiss": "fleiss_kappa",
    "conger": "conger_kappa",
}


def rows_of(table):
    return [
        {"unit": f"u{unit}", "rater": f"r{rater}", "label": label, "criterion": "c"}
        for unit, labels in enumerate(table)
        for rater, label in enumerate(labels)
        if label is not None
    ]


def section_of(table, scale, **options):
    options = {"replicates": 0, **options}
    report = report_of(rows_of(table), scales={"c": scale}, **options)
    return report.criteria["c"].chance_corrected


@pytest.mark.parametrize("number", [0, 1, 4, 29, 58])
def test_the_report_has_the_golden_coefficients(number):
    golden = TABLES[number]
    section = section_of(golden["table"], f"interval:1..{golden['labels']}")
    for name, field in NAMES.items():
        for weights, estimate in getattr(section, field).items():
            expected = golden["values"][f"{name}/{weights}"]["value"]
            assert estimate.value == pytest.approx(expected, abs=5.1e-6), (name, weights)
    for form, name in (("1", "icc1"), ("A", "icc2"), ("C", "icc3")):
        estimate = section.intraclass_correlation[form]
        if name in golden["values"]:
            assert estimate.value == pytest.approx(golden["values"][name]["value"], abs=1e-9)
        elif form != "1":
            assert estimate.reason == NOT_CROSSED


def test_intervals_speak_of_these_raters():
    section = section_of(TABLES[0]["table"], "interval:1..4", replicates=200)
    for estimates in vars(section).values():
        for estimate in estimates.values():
            if estimate.is_defined:
                assert estimate.low < estimate.value < estimate.high
                assert (estimate.scope.instances, estimate.scope.raters) == ("new", "these")


def test_two_annotators_have_cohens_kappa_and_more_have_not():
    assert section_of([[1, 1], [2, 2], [1, 2]], "nominal:1,2").cohen_kappa["identity"].is_defined
    three = section_of([[1, 1, 2], [2, 2, 2]], "nominal:1,2")
    assert three.cohen_kappa["identity"].reason == NOT_TWO.format(number=3)


def test_ordered_labels_have_weights_and_no_correlations():
    section = section_of([[1, 2], [2, 3], [1, 1]], "ordinal:1..3")
    assert list(section.gwet_ac) == ["identity", "linear", "quadratic"]
    assert {e.reason for e in section.intraclass_correlation.values()} == {NO_NUMBERS}


def test_an_open_scale_has_correlations_and_no_coefficients_of_labels():
    section = section_of([[1, 2], [2, 3.5], [1, 1]], "ratio")
    assert section.gwet_ac["quadratic"].reason == NO_FIXED_LABELS
    assert section.intraclass_correlation["1"].is_defined


def test_many_annotators_have_no_table_of_them_all():
    rng = np.random.default_rng(0)
    table = np.full((150, 120), None)
    for unit in range(150):
        table[unit, rng.choice(120, size=2, replace=False)] = rng.integers(1, 3, size=2)
    section = section_of(table.tolist(), "nominal:1,2")
    assert section.conger_kappa["identity"].reason == TOO_MANY_RATERS
    assert section.gwet_ac["identity"].is_defined
