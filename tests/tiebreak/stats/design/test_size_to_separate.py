"""Systems that follow each other in a ranking, and the size of a study that would part them."""

from math import isnan, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import t as student_t

from tests.tiebreak.stats.core.test_simultaneous import rated
from tiebreak.errors import InvalidInput
from tiebreak.stats import (
    Estimate,
    RatedMean,
    neighbours,
    rank_sets,
    smallest_difference,
    two_way_mean,
)
from tiebreak.stats.design.size_to_separate import ALL_ALIKE, EQUAL, NO_VARIATION, TOO_SMALL

N = 100


def alone(wins: int, n: int = N) -> RatedMean:
    """Return a system with so many wins, in instances of its own order without known raters."""
    return RatedMean([1] * wins + [0] * (n - wins), list(range(n)), [-1] * n)


def mirrored(wins: int, n: int = N) -> dict[str, RatedMean]:
    first = alone(wins, n)
    return {
        "b": RatedMean([1 - v for v in first.values], first.instances, first.raters),
        "a": first,
    }


def test_sizes_come_from_the_half_width_and_the_difference():
    (pair,) = neighbours(mirrored(55))
    assert (pair.ahead, pair.behind) == ("a", "b")
    # The difference is 2·0.55 − 1, and its standard error twice that of a share.
    error = 2 * sqrt(0.55 * 0.45 / (N - 1))
    half_width = student_t.ppf(0.975, N - 1) * error
    assert pair.difference.value == pytest.approx(0.1)
    assert pair.difference.low == pytest.approx(0.1 - half_width)
    assert pair.size == pytest.approx((half_width / 0.1) ** 2)
    assert pair.likely_size == pytest.approx(
        ((half_width + NormalDist().inv_cdf(0.8) * error) / 0.1) ** 2
    )
    assert pair.least_size == pytest.approx((half_width / (0.1 + half_width)) ** 2)


def test_at_the_size_about_half_of_the_studies_part_the_systems_and_four_of_five_at_the_likely_one():
    (pilot,) = neighbours(mirrored(57))
    for size, share in ((pilot.size, 0.5), (pilot.likely_size, 0.8)):
        n, rng = round(size * N), np.random.default_rng(3)
        studies = [neighbours(mirrored(int(rng.binomial(n, 0.57)), n))[0] for _ in range(200)]
        parted = [one.difference.low > 0 and one.ahead == "a" for one in studies]
        assert np.mean(parted) == pytest.approx(share, abs=0.1)


def test_a_size_of_one_or_less_is_that_of_systems_which_rank_sets_part():
    means = rated([0.8, 0.55, 0.5, 0.2])
    sets, pairs = rank_sets(means), neighbours(means)
    assert [pair.ahead for pair in pairs] == ["s0", "s1", "s2"]
    assert [pair.size <= 1 for pair in pairs] == [True, False, True]
    assert (sets["s1"].best, sets["s1"].worst) == (2, 3)
    assert {pair.difference.scope.raters for pair in pairs} == {"new"}


@pytest.mark.parametrize(
    ("means", "reason"),
    [
        (mirrored(50), EQUAL),
        (mirrored(100), NO_VARIATION),
        (
            mirrored(5, 9),
            "There is no interval because it needs at least 10 independent instances;",
        ),
    ],
)
def test_without_a_size_there_is_a_reason(means, reason):
    (pair,) = neighbours(means)
    assert pair.reason is not None
    assert pair.reason.startswith(reason)
    assert isnan(pair.size)
    assert isnan(pair.likely_size)
    assert isnan(pair.least_size)


def test_one_system_has_no_neighbour():
    assert neighbours({"a": alone(3)}) == ()


def share_shown(difference: float, studies: int = 1_500) -> tuple[float, float]:
    """Return how many studies show a difference, and the mean of what they say that they show."""
    rng, shown, said = np.random.default_rng(1), 0, []
    instances, raters = np.repeat(np.arange(80), 3), np.tile(np.arange(8), 30)
    for _ in range(studies):
        leaning = rng.normal(0, 0.08, 8)
        values = (rng.random(240) < 0.5 + difference / 2 + leaning[raters]).astype(float)
        rate = float(values.mean())
        rate = two_way_mean(values, instances, raters, narrow=Estimate(rate, rate, rate))
        shown += rate.low > 0.5
        said.append(smallest_difference(rate).value)
    return shown / studies, float(np.nanmean(said))


def test_four_of_five_studies_show_the_smallest_difference():
    _, said = share_shown(0.0, 400)
    share, of_these = share_shown(said)
    assert 0.74 < share < 0.86
    assert of_these == pytest.approx(said, rel=0.08)  # it does not depend on what is found


def test_the_smallest_difference_by_hand():
    rate = Estimate(0.5, 0.4, 0.6, 0.05, 90)  # on the logit scale, the half-width is log(1.5)
    half = np.log(1.5) / 4
    assert smallest_difference(rate).value == pytest.approx(2 * (half + 0.84162 * 0.05), abs=1e-5)
    better = Estimate(0.9, 0.8, 0.9529412, 0.03, 90)  # √(¼ / 0.09) = 5 / 3; odds 4, 9 and 20.25
    value = 2 * (np.log(20.25 / 4) / 2 * 0.09 + 0.84162 * 0.03) * 5 / 3
    assert smallest_difference(better).value == pytest.approx(value, abs=1e-5)
    stronger = smallest_difference(rate, power=0.95).value
    assert stronger == pytest.approx(2 * (half + 1.64485 * 0.05), abs=1e-5)


@pytest.mark.parametrize(
    ("rate", "reason"),
    [
        (Estimate(0.6, n=4, reason="Few."), "Few."),
        (Estimate(1.0, 0.9, 1.0, n=40), ALL_ALIKE),
        (Estimate(0.5, 0.05, 0.95, 0.2, 10), TOO_SMALL),
        (Estimate(0.6), NO_VARIATION),
    ],
)
def test_the_smallest_difference_is_undefined_with_a_reason(rate, reason):
    assert smallest_difference(rate).reason == reason
    with pytest.raises(InvalidInput):
        smallest_difference(rate, power=1.5)
