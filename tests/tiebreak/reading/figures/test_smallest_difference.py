"""The picture of what a study can see, and what more ratings would change."""

from dataclasses import replace

import pytest

from tests.metrics.studies import preferences
from tests.tiebreak.reading.figures.test_differences import THIRD, TWO, of
from tests.tiebreak.reading.findings.situations import watched
from tiebreak.digits import in_digits
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.figures.planning.smallest_difference import smallest_difference_figure
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.reading.messages import NO_FINDING_YET
from tiebreak.stats import smallest_difference


@pytest.mark.parametrize("rows", [TWO, [*TWO, *THIRD]])
def test_it_falls_with_the_root_of_the_number_of_ratings(rows):
    section = of(rows)
    rates = section.systems.simultaneous.pairs.values()
    now = max(smallest_difference(rate).value for rate in rates)
    figure = smallest_difference_figure(section)
    points, drawing = dict(figure.rows), figure.chart.file()
    # Only the size of this study is marked as it, with its numbers in the picture.
    assert drawing.count("<title>this study: ") == 1
    for n in (section.n_ratings, 4 * section.n_ratings):
        assert f">{n:,} ratings: {in_digits(points[n])}<" in drawing
    n = len(rows)
    assert points[n] == pytest.approx(now)
    assert points[4 * n] == pytest.approx(now / 2)
    assert points[n // 4] == pytest.approx(now * 2)


def test_the_number_is_not_shown_again_below_its_picture():
    section = of(TWO)
    (number,) = [one for one in leading_numbers(section) if one.tab == "planning"]
    (running,) = [one for one in leading_numbers(watched(section)) if one.tab == "planning"]
    assert number.is_drawn
    assert not running.is_drawn


def test_a_running_study_has_no_finding():
    (figure,) = [f for f in figures_of(watched(of(TWO))) if f.name == "smallest-difference"]
    assert figure.sentence == NO_FINDING_YET


def test_equal_ratings_have_a_reason():
    section = of(preferences([[1, 1]] * 12))
    figure = smallest_difference_figure(section)
    assert not figure.chart
    assert figure.sentence


def test_scores_have_a_reason():
    section = replace(of(TWO), systems=None)
    assert smallest_difference_figure(section).sentence
