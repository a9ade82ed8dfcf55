"""The picture of what a study can see, and what more ratings would change."""

import re
from dataclasses import replace
from math import sqrt

import pytest

from tests.metrics.studies import preferences
from tests.tiebreak.reading.figures.test_differences import THIRD, TWO, of
from tests.tiebreak.reading.findings.situations import watched
from tiebreak.digits import in_digits
from tiebreak.reading.charts.intervals import LEAST_SPAN, IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.figures.planning.smallest_difference import (
    MOST_TIMES,
    PRECISION,
    TOLD,
    smallest_difference_figure,
)
from tiebreak.reading.figures.planning.stopping import USUAL_WIDTH
from tiebreak.reading.leading_numbers import leading_numbers, pair_rates
from tiebreak.reading.messages import NO_FINDING_YET
from tiebreak.reading.shown import section_of
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate, smallest_difference


@pytest.mark.parametrize("rows", [TWO, [*TWO, *THIRD]])
def test_it_falls_with_the_root_of_the_number_of_ratings(rows):
    section = of(rows)
    rates = section.systems.simultaneous.pairs.values()
    now = max(smallest_difference(rate).value for rate in rates)
    figure = smallest_difference_figure(section)
    points, drawing = {n: least for n, _, least in figure.rows}, figure.chart.file()
    # Only the size of this study is marked as it, with its numbers in the picture.
    assert drawing.count("<title>this study: ") == 1
    # Lines go across only, as on a phone not every number below would have its own.
    (grid,) = re.findall(r'<path d="([^"]*)" class="grid"/>', figure.chart.page())
    assert set(re.findall("[HV]", grid)) == {"H"}
    n = len(rows)
    told = {n: half for n, half, _ in figure.rows}
    assert f">{n:,} ratings: ±{in_digits(told[n])}<" in drawing
    assert told[n] == pytest.approx(max(one.high - one.low for one in rates) / 2)
    assert told[4 * n] == pytest.approx(told[n] / 2)
    assert points[n] == pytest.approx(now)
    assert points[4 * n] == pytest.approx(now / 2)
    assert points[n // 4] == pytest.approx(now * 2)


def with_interval(half: float) -> CriterionSection:
    """Return a section of one pair whose rate is known so precisely."""
    section = of(TWO)
    ((name, rate),) = pair_rates(section).items()
    rate = replace(rate, value=0.5, low=0.5 - half, high=0.5 + half, standard_error=half / 1.96)
    systems = replace(section.systems, simultaneous=None, pairs={name: rate})
    return replace(section, systems=systems)


@pytest.mark.parametrize("times", [2.25, 9])
def test_the_answer_is_marked_where_the_forecast_reaches_the_usual_precision(times):
    """The mark is in the picture however many times the ratings it needs, up to a limit."""
    section = with_interval(sqrt(times) * USUAL_WIDTH / 2)
    figure, reached = smallest_difference_figure(section), round(times * section.n_ratings)
    told = {n: half for n, half, _ in figure.rows}
    assert told[reached] == pytest.approx(USUAL_WIDTH / 2)
    assert f">{reached:,} ratings: {PRECISION}<" in figure.chart.file()
    assert f"{reached:,}" in figure.sentence
    # The forecast and the axis end there, and the table goes on.
    assert f"{reached:,}" in figure.chart.words
    assert f" {max(told):,}" not in figure.chart.words or max(told) == reached


@pytest.mark.parametrize("times", [1.2, 2.25, 9])
def test_a_phone_has_the_name_of_the_target_unless_other_words_stand_there(times):
    page = str(smallest_difference_figure(with_interval(sqrt(times) * USUAL_WIDTH / 2)).chart)
    (name,) = re.findall("<text[^>]*>usual precision: ", page)
    # With few ratings more, those that there are stand beside it.
    assert ("data-n" in name) == (times == 1.2)
    # The numbers at the left take no more room than they need.
    assert 'class="chart with-y y-' in page
    assert "y-70" not in page


@pytest.mark.parametrize(("times", "marks"), [(0.1, 2), (0.5, 3), (1.5 * MOST_TIMES, 2)])
def test_a_precision_that_was_reached_or_is_out_of_sight_moves_no_answer(times, marks):
    section = with_interval(sqrt(times) * USUAL_WIDTH / 2)
    figure = smallest_difference_figure(section)
    told = {n: half for n, half, _ in figure.rows}
    page, now = figure.chart.page(), told[section.n_ratings]
    assert len(re.findall('<line[^>]*class="reference"', page)) == 1
    assert page.count("<title>") == marks
    assert f">{section.n_ratings:,} ratings: ±{in_digits(now)}<" in page
    assert max(told) == 4 * section.n_ratings
    assert TOLD not in figure.sentence


def test_a_running_study_has_intervals_in_picture_and_table_or_in_neither():
    """Points without intervals do not fill the picture, however near they lie."""
    for section, is_reached in ((of(TWO), True), (watched(of(TWO)), False)):
        table = section_of("c", section).ranking
        assert any(n.interval for row in table.rows for n in row.numbers) == is_reached
        assert any(row.name.startswith("Rank set") for row in table.rows) == is_reached
    near = [IntervalRow(str(one), (Mark("human", Estimate(one, n=9)),)) for one in (0.49, 0.51)]
    chart = interval_chart(near, finding="", label="win rate", reference=0.5, bounds=(0, 1))
    ticks = [float(one) for one in re.findall(r">(0\.\d+)</text>", chart.file()) if one[-2] == "."]
    assert max(ticks) - min(ticks) >= LEAST_SPAN / 2


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
