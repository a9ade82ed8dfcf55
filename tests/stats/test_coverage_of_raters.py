"""Intervals for new raters hold what they promise where raters differ, and those beside them do not."""

import numpy as np
import pytest

from tests.stats.coverage import Design, coverage, interval, misses, study, true_rate

STUDIES = 300


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design(3, 0.1, 100, per_unit=1, is_unequal=True),
        Design(6, 0.2, 30, per_unit=5),
        Design(12, 0.1, 100, missing=0.1),
        Design(12, 0.2, 20, units=5, share=0.8),
        Design(40, 0.1, 100, share=0.2, is_unequal=True),
        Design(200, 0.2, 400, per_unit=1),
    ],
    ids=str,
)
def test_the_true_rate_is_inside(design):
    share, n = coverage(design, STUDIES)
    assert n > 0.9 * STUDIES
    assert not misses(share, n, design)


@pytest.mark.slow
def test_the_interval_for_these_raters_does_not_cover_where_six_raters_differ():
    design, held = Design(6, 0.1, 400), []
    truth = true_rate(design)
    for number in range(STUDIES):
        rng = np.random.default_rng(number)
        (inner,) = interval(study(design, rng), rng).narrower
        held.append(inner.low <= truth <= inner.high)
    assert np.mean(held) < 0.8
