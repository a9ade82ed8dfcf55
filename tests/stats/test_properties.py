"""One table of statistics, and what must hold for each of them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.stats import (
    Comparison,
    agreement,
    binned_js,
    classification,
    fleiss_kappa,
    generator_for,
    human_machine,
    krippendorff_alpha,
    leave_one_out,
    percentage_agreement,
    randolph_kappa,
    single_human_machine,
    win_rate,
)

NOMINAL = {
    "alpha": krippendorff_alpha,
    "percentage": percentage_agreement,
    "randolph": randolph_kappa,
    "fleiss": fleiss_kappa,
    "leave_one_out": leave_one_out,
}
ORDERED = {
    **{
        f"alpha_{level}": partial(krippendorff_alpha, level=level)
        for level in ("ordinal", "interval", "ratio")
    },
    "percentage_ordinal": partial(percentage_agreement, level="ordinal"),
    "win_rate": win_rate,
}
EVERY = {**NOMINAL, **ORDERED}

matrices = st.integers(1, 12).flatmap(
    lambda units: st.lists(
        st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=units, max_size=units
    )
)
every = pytest.mark.parametrize("statistic", EVERY.values(), ids=EVERY)


def same(first, second):
    assert first.value == pytest.approx(second.value, abs=1e-12, nan_ok=True)
    assert (first.n, first.reason) == (second.n, second.reason)


@every
@settings(max_examples=40, deadline=None)
@given(counts=matrices)
def test_the_order_of_units_does_not_matter(statistic, counts):
    same(statistic(counts), statistic(counts[::-1]))


@pytest.mark.parametrize("statistic", NOMINAL.values(), ids=NOMINAL)
@settings(max_examples=40, deadline=None)
@given(counts=matrices, order=st.permutations(range(3)))
def test_nominal_labels_may_be_renamed(statistic, counts, order):
    same(statistic(counts), statistic(np.array(counts)[:, order]))


@pytest.mark.parametrize(
    "name", sorted(set(EVERY) - {"alpha", "alpha_ordinal", "alpha_interval", "alpha_ratio"})
)
@settings(max_examples=40, deadline=None)
@given(counts=matrices)
def test_duplicated_units_leave_the_value(name, counts):
    once, twice = EVERY[name](counts), EVERY[name](counts + counts)
    assert twice.value == pytest.approx(once.value, abs=1e-12, nan_ok=True)
    assert twice.n == 2 * once.n


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_duplicated_units_move_alpha_by_its_small_sample_correction(level):
    counts = [[2, 1, 0], [0, 2, 1], [3, 0, 0], [0, 0, 2]]
    once, twice = (krippendorff_alpha(c, level=level) for c in (counts, counts * 2))
    n = 11
    # α = 1 − (n − 1) · Do / De: De grows fourfold, Do twofold, n − 1 to 2n − 1.
    assert 1 - twice.value == pytest.approx((1 - once.value) * (2 * n - 1) / (2 * (n - 1)))


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"win_rate"}))
@settings(max_examples=40, deadline=None)
@given(counts=matrices)
def test_units_with_one_rating_and_none_leave(name, counts):
    alone = [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    same(EVERY[name](counts), EVERY[name](counts + alone))


@every
@settings(max_examples=40, deadline=None)
@given(counts=matrices)
def test_undefined_has_a_reason_and_no_value_ever_is_infinite(statistic, counts):
    found = statistic(counts, rng=generator_for(0), replicates=20)
    assert found.is_defined or found.reason
    assert not np.isinf([found.value, found.low, found.high]).any()
    if not np.isnan(found.low):
        assert found.low <= found.high


@every
def test_no_units(statistic):
    found = statistic(np.zeros((0, 3), dtype=int), rng=generator_for(0))
    assert np.isnan(found.value)
    assert (found.n, bool(found.reason)) == (0, True)


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"win_rate"}))
def test_one_rater(name):
    found = EVERY[name]([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert np.isnan(found.value)
    assert found.reason == "No unit has two ratings."


@pytest.mark.parametrize(
    "name", ["alpha", "alpha_ordinal", "alpha_interval", "alpha_ratio", "fleiss"]
)
def test_one_label(name):
    found = EVERY[name]([[0, 3, 0], [0, 2, 0]])
    assert np.isnan(found.value)
    assert (found.n, found.reason[:14]) == (2, "Only one label")


@pytest.mark.parametrize(
    ("name", "expected"), [("percentage", 1), ("randolph", 1), ("leave_one_out", 1)]
)
def test_one_label_where_chance_is_not_estimated(name, expected):
    assert EVERY[name]([[0, 3, 0], [0, 2, 0]]).value == expected


def test_one_unit_gives_the_value_of_the_formula():
    assert krippendorff_alpha([[1, 1, 1]]).value == 0
    assert krippendorff_alpha([[1, 1, 1]]).n == 1
    assert percentage_agreement([[1, 1, 1]]).value == pytest.approx(1 / 3)
    assert leave_one_out([[1, 1, 1]]).value == 0


def test_one_label_in_the_scale_has_no_randolph():
    found = randolph_kappa([[3], [2]])
    assert np.isnan(found.value)
    assert (found.n, found.reason) == (2, "One label only: agreement by chance is certain.")
    assert np.isnan(randolph_kappa([[3, 0], [2, 0]], k="observed").value)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@settings(max_examples=30, deadline=None)
@given(humans=matrices, machine=matrices)
def test_human_machine_is_defined_or_says_why(level, humans, machine):
    size = min(len(humans), len(machine))
    pair = Comparison.of(humans[:size], machine[:size])
    for group in (human_machine(pair, level=level), single_human_machine(pair, level=level)):
        for name, found in group.estimates().items():
            assert found.is_defined or found.reason, name
    for found in classification(pair, level=level).estimates().values():
        assert found.is_defined or found.reason


@settings(max_examples=30, deadline=None)
@given(humans=matrices, machine=matrices)
def test_js_lies_between_zero_and_one_and_is_zero_for_equal_labels(humans, machine):
    size = min(len(humans), len(machine))
    for form in ("distance", "divergence", "distance_base_2"):
        found = binned_js(Comparison.of(humans[:size], machine[:size]), form=form)
        assert np.isnan(found.value) or 0 <= found.value <= 1 + 1e-12
        same_labels = binned_js(Comparison.of(humans, humans), form=form)
        assert np.isnan(same_labels.value) or same_labels.value == 0


def test_all_statistics_together_equal_each_alone():
    counts = np.random.default_rng(0).multinomial(4, [0.5, 0.3, 0.2], size=60)
    rng_for = partial(generator_for, 3)
    together = agreement(counts, rng=rng_for())
    alone = krippendorff_alpha(counts, rng=rng_for())
    assert together.krippendorff_alpha == alone
    assert together.leave_one_out == leave_one_out(counts, rng=rng_for())


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([[0.5, 1]], "whole numbers"),
        ([[-1, 2]], "0 or more"),
        ([[float("nan"), 1]], "finite"),
        ([[float("inf"), 1]], "finite"),
        ([1, 2, 3], "units × labels"),
        ([["a", "b"]], "whole numbers"),
        (np.zeros((3, 0)), "units × labels"),
    ],
)
@every
def test_bad_counts_are_refused_by_name(statistic, counts, words):
    with pytest.raises(ValueError, match=f"counts .*{words}"):
        statistic(counts)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replicates": -1}, "replicates"),
        ({"replicates": 2.5}, "replicates"),
        ({"confidence_level": 95}, "confidence_level"),
        ({"batch": 0}, "batch"),
        ({"clusters": [1]}, "clusters"),
        ({"clusters": [1.0, float("nan")]}, "clusters"),
    ],
)
@pytest.mark.parametrize("name", sorted(set(EVERY)))
def test_bad_options_are_refused_by_name(name, options, words):
    with pytest.raises(ValueError, match=words):
        EVERY[name]([[2, 0, 1], [0, 2, 1]], **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": "cardinal"}, "level must be one of nominal"),
        ({"level": "interval", "values": [1, 2]}, "values must give one number"),
        ({"level": "interval", "values": [1, 3, 2]}, "values must rise"),
        ({"level": "ratio", "values": [-1, 0, 1]}, "0 or more on a ratio scale"),
        ({"level": "interval", "values": [1, 2, float("inf")]}, "values must be finite"),
    ],
)
def test_bad_values_of_alpha_are_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        krippendorff_alpha([[2, 0, 1], [0, 2, 1]], **options)
