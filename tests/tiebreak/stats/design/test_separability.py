"""Alignments and separability δ against manual values and a simulation."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import normalised_separability, range_edges, range_of, separability
from tiebreak.stats.design.separability import SCENARIOS, TOO_FEW, scenario_shares

NAN = float("nan")


def test_alignments_by_hand():
    a = [[9, 0.8, 0.6], [0.8, 9, 0.7], [0.6, 0.7, 9]]
    b = [[9, 0.4], [0.4, 9]]
    cross = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    score = separability(a, b, cross)
    assert score.self_alignment_a == pytest.approx(0.7)
    assert score.self_alignment_b == pytest.approx(0.4)
    assert score.cross_alignment == pytest.approx(0.35)
    assert score.delta == pytest.approx(0.35)
    assert score.reason is None


def test_ordered_pairs_are_all_used_where_a_similarity_is_not_symmetric():
    assert separability([[1, 0.2], [0.6, 1]], [[1, 0], [0, 1]], np.zeros((2, 2))).delta == 0.4


def test_missing_generations_leave_the_means():
    a = np.full((4, 4), 0.9)
    a[3, :] = a[:, 3] = NAN
    cross = np.full((4, 3), 0.2)
    cross[3, :] = NAN
    b = np.full((3, 3), 0.5)
    score = separability(a, b, cross)
    whole = separability(a[:3, :3], b, cross[:3])
    assert score == whole
    assert score.delta == pytest.approx(0.7)


@pytest.mark.parametrize("k", [0, 1])
def test_a_self_alignment_needs_two_generations(k):
    score = separability(np.ones((k, k)), np.full((2, 2), 0.5), np.full((k, 2), 0.1))
    assert np.isnan([score.self_alignment_a, score.delta, score.standard_error]).all()
    assert score.reason == TOO_FEW.format(systems="A")
    other = separability(np.full((2, 2), 0.5), np.ones((k, k)), np.full((2, k), 0.1))
    assert np.isnan(other.delta)
    assert other.reason == TOO_FEW.format(systems="B")


def test_a_standard_error_needs_three():
    score = separability(np.ones((2, 2)), np.ones((2, 2)), np.zeros((2, 2)))
    assert score.delta == 1
    assert np.isnan(score.standard_error)


def test_equal_similarities_have_no_error():
    score = separability(np.full((5, 5), 0.9), np.full((5, 5), 0.4), np.full((5, 5), 0.1))
    assert score.standard_error == pytest.approx(0, abs=1e-12)


def test_the_jackknife_error_is_the_spread_over_new_generations():
    def draw(rng):
        a, b = rng.normal(0, 1, 8), rng.normal(1, 2, 8)

        def kernel(x, y):
            return np.exp(-np.abs(np.subtract.outer(x, y)))

        return separability(kernel(a, a), kernel(b, b), kernel(a, b))

    scores = [draw(np.random.default_rng(seed)) for seed in range(600)]
    spread = np.std([score.delta for score in scores])
    errors = np.sqrt(np.mean([score.standard_error**2 for score in scores]))
    assert errors == pytest.approx(spread, rel=0.2)


@pytest.mark.parametrize("missing", [0, 0.15])
def test_the_jackknife_error_is_that_of_leaving_each_generation_out(missing):
    rng = np.random.default_rng(3)
    a, b, cross = rng.random((5, 5)), rng.random((4, 4)), rng.random((5, 4))
    for matrix in (a, b, cross):
        matrix[rng.random(matrix.shape) < missing] = NAN

    def without(k=None, of_b=None):
        i, j = np.delete(np.arange(5), k or []), np.delete(np.arange(4), of_b or [])
        return separability(a[np.ix_(i, i)], b[np.ix_(j, j)], cross[np.ix_(i, j)]).delta

    of_a = [without(k=[k]) for k in range(5)]
    of_b = [without(of_b=[k]) for k in range(4)]
    expected = np.sqrt(4 * np.var(of_a) + 3 * np.var(of_b))
    assert separability(a, b, cross).standard_error == pytest.approx(expected)


def test_the_normalised_view_spans_all_three_columns_and_names_its_scope():
    normalised = normalised_separability([0.9, 0.5], [0.6, 0.8], [0.1, 0.3], scope="A–B on notes")
    assert (normalised.minimum, normalised.maximum, normalised.scope) == (0.1, 0.9, "A–B on notes")
    assert normalised.delta == pytest.approx([1.0, 0.625])


@pytest.mark.parametrize("columns", [([NAN], [NAN], [NAN]), ([0.5], [0.5], [0.5]), ([], [], [])])
def test_a_view_without_a_width_is_undefined(columns):
    assert np.isnan(normalised_separability(*columns, scope="none").delta).all()


def test_an_instance_is_one_of_four_scenarios():
    """An alignment is high in the upper half of the scale, which is from 0.1 to 0.9 here."""
    self_a, self_b, cross = [0.9, 0.4, 0.2, 0.2], [0.2, 0.8, 0.3, 0.1], [0.1, 0.6, 0.1, 0.7]
    columns = [np.array([*of, NAN]) for of in (self_a, self_b, cross)]
    normalised = normalised_separability(*columns, scope="A–B on notes")
    high_low, high_high, low_low, low_high = SCENARIOS.values()
    assert normalised.scenarios == [high_low, high_high, low_low, low_high, None]
    assert "high self-alignment, low" in high_low
    assert scenario_shares(normalised.scenarios) == dict.fromkeys(SCENARIOS.values(), 0.25)
    assert scenario_shares([None]) == {}
    some = normalised_separability(*(of[1:3] for of in columns), scope="", ends=(0.1, 0.9))
    assert (some.delta == normalised.delta[1:3]).all()


def test_ranges_are_of_equal_width_and_the_last_is_closed():
    delta = [0.1, 0.5, 0.3, NAN, 0.2]
    edges = range_edges(delta)
    assert edges == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert range_of(delta, [0.1, 0.2, 0.3, 0.4, 0.5]).tolist() == [0, 3, 2, -1, 1]
    assert range_of([0.0, 0.6], edges).tolist() == [-1, -1]
    assert range_of([0.2], range_edges([NAN])).tolist() == [-1]
    assert range_of([0.2, 0.2], range_edges([0.2, 0.2])).tolist() == [0, 0]


@pytest.mark.parametrize(
    "shapes", [((2, 2), (2, 2), (2, 3)), ((2, 3), (2, 2), (2, 2)), ((2, 2), (3, 3), (2, 2))]
)
def test_shapes_must_fit(shapes):
    with refused("wrong_shape", naming="cross"):
        separability(*(np.zeros(shape) for shape in shapes))


class TestSomeCrossPairs:
    A, B = np.full((5, 5), 0.8), np.full((5, 5), 0.6)
    CROSS = np.random.default_rng(0).random((5, 5))

    def test_all_of_them_are_eq_2(self):
        rng = np.random.default_rng(1)
        score = separability(self.A, self.B, self.CROSS, cross_pairs=25, rng=rng)
        assert score == separability(self.A, self.B, self.CROSS)

    def test_the_mean_is_of_as_many_as_asked_and_has_no_bias(self):
        rng = np.random.default_rng(2)
        means = [
            separability(self.A, self.B, self.CROSS, cross_pairs=3, rng=rng).cross_alignment
            for _ in range(1500)
        ]
        assert np.mean(means) == pytest.approx(self.CROSS.mean(), abs=0.015)
        expected = self.CROSS.std() / np.sqrt(3) * np.sqrt((25 - 3) / (25 - 1))
        assert np.std(means) == pytest.approx(expected, rel=0.1)

    def test_missing_pairs_are_not_drawn(self):
        cross = self.CROSS.copy()
        cross[1:, 1:] = NAN
        rng = np.random.default_rng(3)
        score = separability(self.A, self.B, cross, cross_pairs=9, rng=rng)
        assert score.cross_alignment == pytest.approx(np.nanmean(cross))

    @pytest.mark.parametrize(
        ("pairs", "rng", "code"),
        [
            (26, np.random.default_rng(0), "pairs_cannot_be_drawn"),
            (3, None, "pairs_cannot_be_drawn"),
            (0, np.random.default_rng(0), "out_of_range"),
        ],
    )
    def test_more_than_there_are_none_or_no_generator_are_refused(self, pairs, rng, code):
        with refused(code, naming="cross_pairs"):
            separability(self.A, self.B, self.CROSS, cross_pairs=pairs, rng=rng)
