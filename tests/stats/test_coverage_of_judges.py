"""A judge of known accuracy and biases is recovered inside the report's intervals.

200 studies are few: a coverage of 95% is refused in less than 1 of 100 runs, one of 90% or 100% in nearly all.
"""

import pytest

from tests.stats.judge_coverage import Design, coverage, true_biases

STUDIES = 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design(0.75, 0.1, 0.1),
        Design(0.75, 0.1, 0.1, instances=100, units=3, orders=1, better_longer=0.65),
    ],
    ids=str,
)
def test_intervals_hold_the_true_values(design, monkeypatch):
    # Fewer than for the table of the documentation: together they move a coverage by 0.2 points.
    monkeypatch.setattr("tests.stats.judge_coverage.REPLICATES", 400)
    monkeypatch.setattr("tests.stats.judge_coverage.POPULATION", 20_000)
    for name, one in coverage(design, STUDIES).items():
        assert one.intervals == STUDIES
        assert not one.misses, (name, str(one))


@pytest.mark.thorough
@pytest.mark.parametrize("design", [Design(0.75, 0.1, 0.1), Design(0.75, 0.1, 0.1, orders=1)])
def test_the_true_biases_are_those_that_the_judge_was_made_with(design):
    assert true_biases(design) == pytest.approx((0.1, 0.1), abs=0.002)


@pytest.mark.slow
def test_better_texts_that_are_longer_look_like_a_length_bias():
    # P(longer preferred) is what is estimated, whatever the reason for the preference.
    assert true_biases(Design(0.75, better_longer=0.65))[1] == pytest.approx(0.15, abs=0.005)
