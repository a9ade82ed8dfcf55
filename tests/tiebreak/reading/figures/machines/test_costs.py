"""Cost against agreement in one picture, on an axis of powers of ten."""

import re
from itertools import combinations

import numpy as np
import pytest

from tests.metrics.studies import report_of
from tests.tiebreak.reading.figures.machines.test_stand_in import RULE, rows
from tiebreak.reading.charts.axes import Axis
from tiebreak.reading.charts.chart import LINE_HEIGHT
from tiebreak.reading.charts.costs import NARROW, Box, Decades, names_at_marks
from tiebreak.reading.charts.curves import Series
from tiebreak.reading.charts.svg import width_of
from tiebreak.reading.figures.machines.costs import DEARER, TITLE, cost_figure
from tiebreak.reading.figures.machines.stand_in import BEST_POSSIBLE
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

JUDGE = "a judge"


@pytest.fixture(scope="module")
def section() -> CriterionSection:
    made = rows()
    judge = [row | {"rater": JUDGE} for row in made if row["rater"] == RULE]
    (found,) = report_of([*made, *judge], replicates=200, simple_raters=[RULE]).criteria.values()
    return found


def test_each_rater_is_a_point_at_its_cost_and_a_simple_rule_is_free(section):
    figure = cost_figure(section, {"annotators": 0.5, JUDGE: 0.01}, "EUR")
    assert [row[:2] for row in figure.rows] == [
        ("annotators", "50.00"),
        *sorted([(JUDGE, "1.00"), (RULE, "0.00")]),
    ]
    assert figure.finding == DEARER.format(times=50, machine=JUDGE)
    drawing = figure.chart.file()
    assert drawing.count("<title>") == 1 + len(figure.rows)  # and what the picture shows
    assert re.findall(r">(free|[0-9.]+)</text>", drawing)[-4:] == ["free", "1", "10", "100"]
    assert drawing.count("fill-opacity") == 1
    # Names stand at the marks, and nothing else names them; where there is room, to their right.
    page = figure.chart.page()
    assert 'class="key"' not in page
    assert page.count(f">{BEST_POSSIBLE}</text>") == 1
    for name in ("annotators", JUDGE, RULE):
        shown = re.findall(rf'data-n="(.)"[^>]*>{name}</text>', page)
        assert shown == ["0", "2"]
        assert drawing.count(f">{name}</text>") == 1
    assert page.count('class="start" dx="10" dy="5" font-weight="600" data-n="2"') == 3
    # Lines go across only.
    (grid,) = re.findall(r'<path d="([^"]*)" class="grid"/>', page)
    assert set(re.findall("[HV]", grid)) == {"H"}


def test_names_at_marks_do_not_stand_on_each_other(section):
    """Two raters with nearly one cost and one share have their names beside or below each other."""
    figure = cost_figure(section, {"annotators": 0.011, JUDGE: 0.01}, "EUR")
    texts = re.findall(
        r'x="([0-9.]+)" y="([0-9.]+)"([^>]*)dx="([-0-9]+)"[^>]*font-weight="600"[^>]*>([^<]*)<',
        figure.chart.file(),
    )
    assert len(texts) == 3
    boxes = []
    for x, y, style, dx, words in texts:
        start = float(x) + int(dx) - width_of(words) * ("end" in style)
        boxes.append((start, start + width_of(words), float(y)))
    for (left, right, y), (start, end, height) in combinations(boxes, 2):
        assert right < start or end < left or abs(y - height) >= LINE_HEIGHT - 1


@pytest.mark.parametrize("seed", range(40))
def test_on_a_phone_no_name_stands_on_another_rater_where_there_is_room_elsewhere(seed):
    rng = np.random.default_rng(seed)
    raters = []
    for n in range(rng.integers(2, 5)):
        value, half = rng.uniform(0.5, 0.7), rng.uniform(0.02, 0.08)
        one = Estimate(value, value - half, value + half, n=60)
        raters.append(Series("machine", f"judge {n}", ((10.0 ** rng.uniform(-2, 2), one),)))
    x = Decades.of([cost for one in raters for cost, _ in one.points])
    y = Axis(0.3, 0.9)
    labels = {one.words: one for one in names_at_marks(raters, x, y, (), NARROW)}
    assert len(labels) == len(raters)
    crossed = 0
    for one in raters:
        ((cost, found),) = one.points
        line = Box(x.at(cost), x.at(cost), 1 - y.at(found.high), 1 - y.at(found.low))
        crossed += sum(line.meets(label.box) for name, label in labels.items() if name != one.name)
        label = labels[one.name]
        assert label.at == x.at(cost)
        assert label.box.is_inside or label.dx > 0
    crossed += sum(a.box.meets(b.box) for a, b in combinations(labels.values(), 2))
    assert crossed == 0 or len(raters) == 4


def test_a_name_that_has_no_room_beside_its_mark_is_in_the_middle_below_it():
    """Of a dear rater between its mark and the end, so that its name reaches below no cheaper one."""
    cheap = Series("machine", "judge-70b", ((0.35, Estimate(0.71, 0.65, 0.75, n=60)),))
    dear = Series("human", "annotators", ((12.5, Estimate(0.67, 0.61, 0.72, n=60)),))
    x, y = Decades.of([0, 0.35, 12.5]), Axis(0.4, 0.9)
    box = {one.words: one.box for one in names_at_marks([cheap, dear], x, y, (), NARROW)}[
        "annotators"
    ]
    assert (box.left + box.right) / 2 == pytest.approx(x.at(12.5))
    assert box.left > x.at(0.35)
    assert box.top == pytest.approx(1 - y.at(0.61))


@pytest.mark.parametrize("costs", [{}, {"annotators": 0.5}, {"annotators": 0.5, "gone": 0.1}])
def test_without_a_price_of_a_machine_rater_there_is_no_picture(section, costs):
    assert cost_figure(section, costs, "EUR") is None


@pytest.mark.parametrize("costs", [{JUDGE: 0.01}, {JUDGE: 0.01, "annotators": 0.012}])
def test_the_heading_compares_only_prices_that_differ_by_much(section, costs):
    assert cost_figure(section, costs, "EUR").finding == TITLE


@pytest.mark.parametrize(
    ("values", "ticks", "at"),
    [
        ([0.05, 12.5], [0.01, 0.1, 1, 10, 100], {0.01: 0, 1: 0.5, 100: 1}),
        ([0, 0.05, 12.5], [0, 0.01, 0.1, 1, 10, 100], {0: 0.07, 0.01: 0.2, 100: 1}),
        ([1], [1, 10], {1: 0, 10: 1}),
    ],
)
def test_each_step_is_ten_times_as_much(values, ticks, at):
    axis = Decades.of(values)
    assert axis.ticks() == pytest.approx(ticks)
    assert {value: axis.at(value) for value in at} == pytest.approx(at)
