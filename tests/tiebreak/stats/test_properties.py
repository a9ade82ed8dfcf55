"""Properties that every statistic must have."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.refusals import refused
from tests.tiebreak.stats.rounding import equal_but_for_rounding
from tiebreak.stats import (
    Comparison,
    agreement,
    binned_js,
    bradley_terry,
    classification,
    dawid_skene,
    elo,
    fleiss_kappa,
    generator_for,
    human_machine,
    krippendorff_alpha,
    leave_one_out,
    pairwise_agreement,
    percentage_agreement,
    prediction_powered_win_rate,
    randolph_kappa,
    single_human_machine,
    win_rate,
    win_rates,
)
from tiebreak.stats.raters.additive import CERTAIN, NO_PAIR, ONE_LABEL

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


def _win_rates(counts, a, b):
    return win_rates(counts, system_a=a, system_b=b).systems


def _bradley_terry(counts, a, b, *, ties="half"):
    return bradley_terry(counts, system_a=a, system_b=b, ties=ties).systems


def _elo(counts, a, b):
    rng = generator_for(0)
    return elo(counts, system_a=a, system_b=b, rng=rng, orders=50).systems


OF_SYSTEMS = {
    "win_rates": _win_rates,
    "bradley_terry": _bradley_terry,
    "davidson": partial(_bradley_terry, ties="davidson"),
    "elo": _elo,
}

FEW = settings(max_examples=min(40, settings.default.max_examples))
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
@FEW
@given(counts=matrices)
def test_the_order_of_units_does_not_matter(statistic, counts):
    same(statistic(counts), statistic(counts[::-1]))


@pytest.mark.parametrize("statistic", NOMINAL.values(), ids=NOMINAL)
@FEW
@given(counts=matrices, order=st.permutations(range(3)))
def test_nominal_labels_may_be_renamed(statistic, counts, order):
    same(statistic(counts), statistic(np.array(counts)[:, order]))


@pytest.mark.parametrize(
    "name", sorted(set(EVERY) - {"alpha", "alpha_ordinal", "alpha_interval", "alpha_ratio"})
)
@FEW
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
    # In α = 1 − (n − 1) · Do / De, De is multiplied by 4 and Do by 2; n − 1 becomes 2n − 1.
    assert 1 - twice.value == pytest.approx((1 - once.value) * (2 * n - 1) / (2 * (n - 1)))


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"win_rate"}))
@FEW
@given(counts=matrices)
def test_units_with_one_rating_and_none_leave(name, counts):
    alone = [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    same(EVERY[name](counts), EVERY[name](counts + alone))


@every
@FEW
@given(counts=matrices)
def test_undefined_has_a_reason_and_no_value_ever_is_infinite(statistic, counts):
    estimate = statistic(counts, rng=generator_for(0), replicates=20)
    assert estimate.is_defined or estimate.reason
    assert not np.isinf([estimate.value, estimate.low, estimate.high]).any()
    if not np.isnan(estimate.low):
        assert estimate.low <= estimate.high


@every
def test_no_units(statistic):
    estimate = statistic(np.zeros((0, 3), dtype=int), rng=generator_for(0))
    assert np.isnan(estimate.value)
    assert (estimate.n, bool(estimate.reason)) == (0, True)


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"win_rate"}))
def test_one_rater(name):
    estimate = EVERY[name]([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert np.isnan(estimate.value)
    assert estimate.reason == NO_PAIR


@pytest.mark.parametrize(
    "name", ["alpha", "alpha_ordinal", "alpha_interval", "alpha_ratio", "fleiss"]
)
def test_one_label(name):
    estimate = EVERY[name]([[0, 3, 0], [0, 2, 0]])
    assert np.isnan(estimate.value)
    assert (estimate.n, estimate.reason) == (2, ONE_LABEL)


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
    estimate = randolph_kappa([[3], [2]])
    assert np.isnan(estimate.value)
    assert (estimate.n, estimate.reason) == (2, CERTAIN)
    assert np.isnan(randolph_kappa([[3, 0], [2, 0]], k="observed").value)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@FEW
@given(humans=matrices, machine=matrices)
def test_human_machine_is_defined_or_says_why(level, humans, machine):
    size = min(len(humans), len(machine))
    pair = Comparison.of(humans[:size], machine[:size])
    for group in (human_machine(pair, level=level), single_human_machine(pair, level=level)):
        for name, estimate in group.estimates().items():
            assert estimate.is_defined or estimate.reason, name
    for estimate in classification(pair, level=level).estimates().values():
        assert estimate.is_defined or estimate.reason


@FEW
@given(humans=matrices, machine=matrices)
def test_js_lies_between_zero_and_one_and_is_zero_for_equal_labels(humans, machine):
    size = min(len(humans), len(machine))
    for form in ("distance", "divergence", "distance_base_2"):
        estimate = binned_js(Comparison.of(humans[:size], machine[:size]), form=form)
        assert np.isnan(estimate.value) or 0 <= estimate.value <= 1 + 1e-12
        same_labels = binned_js(Comparison.of(humans, humans), form=form)
        assert np.isnan(same_labels.value) or same_labels.value == 0


def test_all_statistics_together_equal_each_alone():
    counts = np.random.default_rng(0).multinomial(4, [0.5, 0.3, 0.2], size=60)
    rng_for = partial(generator_for, 3)
    together = agreement(counts, rng=rng_for())
    alone = krippendorff_alpha(counts, rng=rng_for())
    assert equal_but_for_rounding(together.krippendorff_alpha, alone)
    assert equal_but_for_rounding(together.leave_one_out, leave_one_out(counts, rng=rng_for()))


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ([[0.5, 1]], "not_counts"),
        ([[-1, 2]], "not_counts"),
        ([[float("nan"), 1]], "not_finite"),
        ([[float("inf"), 1]], "not_finite"),
        ([1, 2, 3], "wrong_shape"),
        ([["a", "b"]], "not_numbers"),
        (np.zeros((3, 0)), "wrong_shape"),
    ],
)
@every
def test_bad_counts_are_refused_by_name(statistic, counts, code):
    with refused(code, naming="counts"):
        statistic(counts)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"replicates": -1}, "out_of_range"),
        ({"replicates": 2.5}, "out_of_range"),
        ({"confidence_level": 95}, "out_of_range"),
        ({"batch": 0}, "out_of_range"),
        ({"clusters": [1]}, "wrong_length"),
        ({"clusters": [1.0, float("nan")]}, "not_finite"),
    ],
)
@pytest.mark.parametrize("name", sorted(set(EVERY)))
def test_bad_options_are_refused_by_name(name, options, code):
    with refused(code, naming=next(iter(options))):
        EVERY[name]([[2, 0, 1], [0, 2, 1]], **options)


@pytest.mark.parametrize(
    ("options", "code", "name"),
    [
        ({"level": "cardinal"}, "unknown_choice", "level"),
        ({"level": "interval", "values": [1, 2]}, "wrong_length", "values"),
        ({"level": "interval", "values": [1, 3, 2]}, "not_rising", "values"),
        ({"level": "ratio", "values": [-1, 0, 1]}, "out_of_range", "values"),
        ({"level": "interval", "values": [1, 2, float("inf")]}, "not_finite", "values"),
    ],
)
def test_bad_values_of_alpha_are_refused_by_name(options, code, name):
    with refused(code, naming=name):
        krippendorff_alpha([[2, 0, 1], [0, 2, 1]], **options)


@st.composite
def comparisons(draw):
    """Draw counts for comparisons in which every two systems were compared."""
    a, b = (list("ppq") * 2, list("qrr") * 2)
    row = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
    return np.array(draw(st.lists(row, min_size=6, max_size=6))), a, b


def same_systems(first, second, *, names=None, abs_=1e-6):
    assert len(first) == len(second)
    for name, estimate in first.items():
        other = second[(names or {}).get(name, name)]
        assert other.value == pytest.approx(estimate.value, abs=abs_, nan_ok=True)
        assert other.n == estimate.n


of_systems = pytest.mark.parametrize("statistic", OF_SYSTEMS.values(), ids=OF_SYSTEMS)


@of_systems
@FEW
@given(data=comparisons(), order=st.permutations(range(6)))
def test_the_order_of_comparisons_does_not_matter(statistic, data, order):
    counts, a, b = data
    shuffled = counts[order], [a[k] for k in order], [b[k] for k in order]
    same_systems(statistic(counts, a, b), statistic(*shuffled))


@pytest.mark.parametrize("name", sorted(set(OF_SYSTEMS) - {"elo"}))
@FEW
@given(data=comparisons())
def test_renamed_systems_keep_their_numbers(name, data):
    counts, a, b = data
    names = {"p": "z", "q": "a", "r": "m"}
    renamed = OF_SYSTEMS[name](counts, [names[x] for x in a], [names[x] for x in b])
    same_systems(OF_SYSTEMS[name](counts, a, b), renamed, names=names)


@of_systems
@FEW
@given(data=comparisons())
def test_it_does_not_matter_who_is_named_first(statistic, data):
    counts, a, b = data
    same_systems(statistic(counts, a, b), statistic(counts[:, ::-1], b, a))


@pytest.mark.parametrize("name", sorted(set(OF_SYSTEMS) - {"elo"}))
@FEW
@given(data=comparisons())
def test_duplicated_comparisons_leave_the_value(name, data):
    counts, a, b = data
    once, twice = (
        OF_SYSTEMS[name](counts, a, b),
        OF_SYSTEMS[name](np.tile(counts, (2, 1)), a * 2, b * 2),
    )
    for system, estimate in once.items():
        assert twice[system].value == pytest.approx(estimate.value, abs=1e-6, nan_ok=True)
        assert twice[system].n == 2 * estimate.n


@of_systems
@FEW
@given(data=comparisons())
def test_comparisons_without_a_rating_leave(statistic, data):
    counts, a, b = data
    more = np.vstack([counts, np.zeros((2, 3), int)])
    same_systems(statistic(counts, a, b), statistic(more, [*a, "p", "q"], [*b, "r", "r"]))


@of_systems
def test_systems_that_only_tie_are_alike_or_undefined(statistic):
    systems = statistic(np.tile([0, 2, 0], (3, 1)), list("ppq"), list("qrr"))
    values = [estimate.value for estimate in systems.values()]
    assert np.isnan(values).all() or np.ptp(values) < 1e-9
    assert all(estimate.is_defined or estimate.reason for estimate in systems.values())


@FEW
@given(data=comparisons())
def test_elo_and_bradley_terry_order_two_systems_as_wins_do(data):
    counts = data[0].sum(axis=0, keepdims=True)
    wins, losses = counts[0, 0], counts[0, 2]
    estimate = _bradley_terry(counts, ["p"], ["q"])["p"]
    if estimate.is_defined:
        assert np.sign(round(estimate.value, 9)) == np.sign(wins - losses)


@FEW
@given(humans=matrices, machine=matrices, seed=st.integers(0, 9))
def test_prediction_powered_win_rates_do_not_depend_on_order(humans, machine, seed):
    size = min(len(humans), len(machine))
    order = np.random.default_rng(seed).permutation(size)
    first = prediction_powered_win_rate(humans[:size], machine[:size])
    again = prediction_powered_win_rate(
        np.array(humans[:size])[order], np.array(machine[:size])[order]
    )
    for name in ("estimate", "classical"):
        one, other = getattr(first, name), getattr(again, name)
        assert other.value == pytest.approx(one.value, abs=1e-9, nan_ok=True)
        assert other.low == pytest.approx(one.low, abs=1e-9, nan_ok=True)
        assert one.is_defined or one.reason


@st.composite
def long_ratings(draw):
    table = draw(
        st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=1, max_size=8)
    )
    array = np.array(table)
    unit, rater = (grid.ravel() for grid in np.indices(array.shape))
    return unit, rater, array.ravel(), {"n_units": len(array), "n_raters": 3, "n_labels": 3}


@pytest.mark.thorough
@FEW
@given(data=long_ratings(), raters=st.permutations(range(3)))
def test_names_of_raters_do_not_matter(data, raters):
    unit, rater, label, shape = data
    renamed = np.array(raters)[rater]
    pairs, again = (pairwise_agreement(unit, r, label, **shape) for r in (rater, renamed))
    for name in ("shared", "agreement", "kappa"):
        expected = getattr(pairs, name)
        actual = getattr(again, name)[np.ix_(raters, raters)]
        assert actual == pytest.approx(expected, nan_ok=True)
    model, other = (dawid_skene(unit, r, label, **shape) for r in (rater, renamed))
    assert other.posterior == pytest.approx(model.posterior, abs=1e-6, nan_ok=True)
    assert other.accuracy[raters] == pytest.approx(model.accuracy, abs=1e-6, nan_ok=True)
    assert np.nansum(model.posterior) == pytest.approx(model.n_units)
