"""The most that any machine can agree with one annotator."""

import numpy as np
import pytest

from tiebreak.errors import InvalidInput
from tiebreak.stats import Estimate, noise_ceiling, undefined
from tiebreak.stats.core.results import NarrowerInterval, Scope


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("best", [0.5, 0.6, 0.8, 1.0])
def test_it_is_reached_where_all_items_are_equally_noisy(labels, best):
    probabilities = np.array([best, *[(1 - best) / (labels - 1)] * (labels - 1)])
    equal = Estimate(float((probabilities**2).sum()))
    assert noise_ceiling(equal, labels=labels).value == pytest.approx(best)


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_no_machine_is_better_whatever_the_items(labels):
    rng = np.random.default_rng(labels)
    for concentration in (0.1, 0.5, 1, 5):
        items = rng.dirichlet(np.full(labels, concentration), 500)
        equal = Estimate(float((items**2).sum(axis=1).mean()))
        assert noise_ceiling(equal, labels=labels).value >= items.max(axis=1).mean() - 1e-12


def test_the_interval_is_that_of_the_bound():
    inner = NarrowerInterval(0.6, 0.7, Scope("new"), "m")
    equal = Estimate(0.65, 0.52, 0.8, 0.03, 40, "m", narrower=(inner,))
    found = noise_ceiling(equal, labels=2)
    ends = [(1 + np.sqrt(2 * share - 1)) / 2 for share in (0.65, 0.52, 0.8, 0.6, 0.7)]
    (narrow,) = found.narrower
    assert [found.value, found.low, found.high, narrow.low, narrow.high] == pytest.approx(ends)
    assert (found.n, found.method) == (40, "m")


def test_fewer_equal_labels_than_by_chance_give_that_of_chance():
    assert noise_ceiling(Estimate(0.2), labels=4).value == 0.25
    assert noise_ceiling(undefined("Why."), labels=2).reason == "Why."
    with pytest.raises(InvalidInput):
        noise_ceiling(Estimate(1.0), labels=1)
