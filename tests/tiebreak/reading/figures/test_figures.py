"""Every figure states its finding, draws the report's numbers, and offers them as data."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import product
from typing import Any

import pytest

from metrics.results.rater_rows import TaskSpeed
from metrics.results.raters_figure import fatigue_figure
from tests.metrics.studies import drawn_study, preferences, report_of
from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.curves import time_chart
from tiebreak.reading.charts.intervals import (
    BARE_KEY,
    LINE_KEY,
    THICK_KEY,
    IntervalRow,
    Mark,
    interval_chart,
    interval_glyph,
)
from tiebreak.reading.charts.lines import Line, line_chart
from tiebreak.reading.charts.matrices import matrix_chart
from tiebreak.reading.figures.figure import ESTIMATE_COLUMNS, Figure, empty_figure
from tiebreak.reading.figures.machines.stand_in import machines_figure, stand_in_figure
from tiebreak.reading.figures.of_part import of_part
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.figures.raters.agreement import (
    STRATIFIERS,
    agreement_figure,
    machine_figures,
)
from tiebreak.reading.figures.raters.bias import bias_figure
from tiebreak.reading.figures.systems.systems import (
    RESTS_ON_THICK,
    strengths_figure,
    win_rates_figure,
)
from tiebreak.reading.findings import SAID_ABOVE
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.reading.messages import OTHERS_OPEN, THICK, TOO_FEW
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import NarrowerInterval, Scope

SIDES = ("left", "right")


def of(rows: list[dict]) -> CriterionSection:
    (section,) = report_of(rows, replicates=200).criteria.values()
    return section


@pytest.fixture(scope="module")
def section() -> CriterionSection:
    """Return 24 instances with separability, three raters, and a machine in two runs.

    The last instance has two units, so that there are rating sets of more than one rating.
    """
    labels = [[1, 1, (-1) ** n if n % 5 else 1] for n in range(24)]
    rows = preferences(labels, side_a=SIDES)
    rows += [row | {"unit": "u23b"} for row in rows[-3:]]
    machine = [
        row | {"rater": "judge", "kind": "machine", "run": run}
        for row, run in product(rows[2::3], (0, 1))
    ]
    return of([row | {"separability": int(row["instance"][1:]) / 24} for row in [*rows, *machine]])


def alternative(figure: Figure) -> str:
    return unescape(re.search(r'aria-label="([^"]*)"', figure.chart.file())[1])


def test_every_figure_is_drawn_with_finding_data_and_reading(section):
    names = [figure.name for figure in list(figures_of(section))]
    assert len(names) == len(set(names)) == 15
    for figure in list(figures_of(section)):
        assert figure.chart.file().startswith("<svg"), figure.name
        assert figure.finding
        assert figure.reading
        assert figure.rows
        assert {len(row) for row in figure.rows} == {len(figure.columns)}
        assert " style=" not in figure.chart.page() + figure.chart.file()


def test_a_column_is_the_scope_of_an_estimate_only_after_it():
    columns = ("instances", "raters", *ESTIMATE_COLUMNS)
    heads = replace(empty_figure("f", "", ""), columns=columns).headings
    assert heads[:2] == ["instances", "raters"]
    assert len(set(heads)) == len(heads)


def test_the_text_alternative_has_the_finding_and_the_numbers(section):
    figure, rate = win_rates_figure(section), section.systems.win_rate["b"]
    assert alternative(figure).startswith(figure.finding)
    assert f"b: annotators {rate.value:.2f}, interval {rate.low:.2f} to {rate.high:.2f}" in (
        alternative(figure)
    )


def test_the_data_have_all_digits_of_the_report(section):
    figure, rate = win_rates_figure(section), section.systems.win_rate["b"]
    assert figure.columns == ("system", "series", *ESTIMATE_COLUMNS)
    (row,) = [row for row in figure.rows if row[0] == "b" and row[1] == "annotators"]
    assert row[2:6] == (rate.value, rate.low, rate.high, rate.n)


def test_agreement_is_never_drawn_for_all_units_alone(section):
    names = [row[0] for row in agreement_figure(section).rows]
    assert names[0] == "All items"
    assert len(names) > 3


def test_a_machine_is_drawn_beside_annotators_in_every_stratum(section):
    machine, delta = machine_figures(section)
    assert {name for _, name in machine.legend} >= {"among annotators", "majority and machine"}
    assert {row[0] for row in machine.rows} == {row[0] for row in delta.rows}


def test_all_machines_stand_beside_each_other_those_that_agree_most_first():
    people = preferences([[1, 1], [1, -1], [-1, -1], [1, 1]] * 5)

    def judge(name: str, of_people: Callable[[int], int]) -> list[dict[str, Any]]:
        return [
            row | {"rater": name, "kind": "machine", "label": of_people(row["label"])}
            for row in people[::2]
        ]

    contrary = {1: -1, -1: 1}
    about = of(
        [
            *people,
            *judge("a-worse", lambda label: contrary[label]),
            *judge("z-better", lambda label: label),
        ]
    )
    figure = machines_figure(about)
    assert list(dict.fromkeys(row[0] for row in figure.rows)) == [
        *("annotators", "z-better", "a-worse"),
    ]
    shown = {row[:2]: row[2] for row in figure.rows}
    alpha = about.all_units.machines["z-better"].single_human_machine.krippendorff_alpha
    assert shown["z-better", "z-better"] == alpha.value
    assert shown["annotators", "annotators"] == (
        about.all_units.human_human.krippendorff_alpha.value
    )
    picture, found = stand_in_figure(about), about.noise_ceiling["z-better"]
    drawn = {row[0]: row[2] for row in picture.rows}
    assert drawn["annotators"] == found.annotators.value
    assert drawn["z-better"] == found.agreement.value
    assert f"best possible machine {in_digits(found.ceiling.value)}" in picture.chart.words
    assert stand_in_figure(replace(about, noise_ceiling=None)).rows == figure.rows
    assert {one.machine for one in machine_figures(about)} == {"a-worse", "z-better"}
    assert "z-better" in leading_numbers(about)[3].sentence
    of_few = of([*people, *judge("a-more", contrary.get), *judge("z-better", int)[5:]])
    assert of_few.machines_main_first == ["a-more", "z-better"]
    assert not figure.machine


def test_the_lines_of_a_picture_go_on_behind_headings_that_rows_do_not_repeat(section):
    figure = agreement_figure(section)
    headings = [strip for strip in figure.chart.strips if strip.css == "group"]
    assert STRATIFIERS["separability"] in {strip.name for strip in headings}
    assert all(strip.draw for strip in headings)
    assert figure.chart.page().count('class="reference"') == sum(
        strip.draw is not None and strip.size == "row" for strip in figure.chart.strips
    )
    assert not [strip.name for strip in figure.chart.strips if SAID_ABOVE in strip.name]
    assert [row[0] for row in figure.rows if SAID_ABOVE in row[0]]


def test_what_thick_lines_are_stands_in_the_picture(section):
    thick = agreement_figure(section).chart.caption
    inner = [one for one in section.strata if one.human_human.krippendorff_alpha.narrower]
    assert (THICK_KEY in thick) == bool(inner)
    plain = Mark("human", Estimate(0.5, low=0.4, high=0.6, n=9))
    wide = replace(
        plain, estimate=replace(plain.estimate, narrower=(Estimate(0.5, low=0.45, high=0.55, n=9),))
    )
    for mark in (plain, wide):
        chart = interval_chart([IntervalRow("a", (mark,))], finding="", label="bias", reference=0)
        assert chart.caption == (THICK_KEY if mark is wide else LINE_KEY)
        assert chart.strips[-1].words == "bias"
        assert chart.caption in chart.page()
        assert chart.caption not in chart.file()
    for reason, key in ((None, ""), ("There are too few items.", BARE_KEY)):
        bare = Mark("human", Estimate(0.5, n=9, reason=reason))
        chart = interval_chart([IntervalRow("a", (bare,))], finding="", label="bias", reference=0)
        assert (chart.strips[-1].words, chart.caption) == ("bias", key)


def test_a_number_without_an_interval_has_no_picture_beside_it():
    assert not interval_glyph(Estimate(0.5, n=9))
    drawn = interval_glyph(Estimate(0.5, low=0.4, high=0.6, n=9))
    both = (NarrowerInterval(0.45, 0.55, Scope("new", "these"), "bootstrap"),)
    assert interval_glyph(Estimate(0.5, low=0.4, high=0.6, n=9, narrower=both)) == drawn
    assert 'x1="70%"' in drawn  # of the width that the page gives it
    assert "viewBox" not in drawn


@pytest.mark.parametrize(("columns", "shown"), [(6, "50%"), (9, "50"), (12, "50")])
def test_every_cell_of_a_table_of_shares_has_its_number(columns, shown):
    names = [f"column {n}" for n in range(columns)]
    chart = matrix_chart(
        ["a"], [[0.5] * columns], finding="", labels=("row", "column"), columns=names
    )
    page = chart.page()
    assert page.count(f">{shown}</text>") == columns
    assert ("%" in chart.strips[0].words) == (shown == "50")
    # A narrow page leaves out numbers of many columns, and names that it has no room for.
    assert page.count('data-n="1"') == (columns if columns > 9 else 0)
    assert ('data-n="2"' in page) == (columns <= 9)


def test_a_kind_of_item_that_all_items_are_is_not_drawn_again():
    people = preferences([[1, 1], [1, -1]] * 5)
    names = [row[0] for row in agreement_figure(of(people)).rows]
    assert not [name for name in names if "separability" in name]
    few_kinds = of([row | {"separability": int(row["unit"][1:]) / 24} for row in people])
    assert [row for row in agreement_figure(few_kinds).rows if "separability" in row[0]]


def test_nothing_is_drawn_of_what_is_undefined():
    section = of([{"unit": "u", "rater": "r", "label": "a", "criterion": "c"}])
    for figure in (win_rates_figure, strengths_figure, agreement_figure):
        assert not figure(section).chart
        assert figure(section).sentence


def test_after_a_draw_weighted_rates_are_drawn():
    section = of(drawn_study("proportional", seed=0))
    (pair,) = section.selection.values()
    by_name = {name: value for name, _, value, *_ in win_rates_figure(section).rows}
    assert by_name[pair.systems[0]] == pytest.approx(pair.win_rate.value)
    assert by_name[pair.systems[1]] == pytest.approx(1 - pair.win_rate.value)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-0.3, 0.3, ["−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3"]),
        (0, 72, ["0", "20", "40", "60"]),
        (0, 12.6, ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]),
        (1380, 1620, ["1400", "1450", "1500", "1550", "1600"]),
        (0.41, 0.59, ["0.45", "0.50", "0.55"]),
    ],
)
def test_an_axis_has_round_ticks_that_differ(low, high, ticks):
    axis = Axis(low, high)
    assert [axis.tick_name(tick) for tick in axis.ticks()] == ticks


@pytest.mark.parametrize(
    ("values", "least", "ticks"),
    [
        ([0.21, 0.83], 0, ["0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([-0.03, 0.45, math.nan], 0, ["−0.1", "0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ([0.01, 12.6], 0, ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5", "15.0"]),
        ([0.4, 0.6], 0.5, ["0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]),
        ([0.4], 0, ["0.34", "0.36", "0.38", "0.40", "0.42", "0.44", "0.46"]),
        ([], 0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
    ],
)
def test_values_lie_between_the_first_and_the_last_tick(values, least, ticks):
    axis = Axis(*padded(values, least=least))
    assert [axis.tick_name(tick) for tick in axis.ticks()] == ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 2, ["0", "1", "2"]), (0.5, 3.5, ["1", "2", "3"]), (0, 14, ["0", "3", "6", "9", "12"])],
)
def test_an_axis_of_counts_has_whole_ticks(low, high, ticks):
    axis = Axis(low, high, is_of_counts=True)
    assert [axis.tick_name(tick) for tick in axis.ticks()] == ticks


def test_charts_of_counts_have_whole_ticks():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    drawn = [
        time_chart([(start, 0), (start + timedelta(hours=1), 2)], goal=2, finding="", unit="done"),
        fatigue_figure([TaskSpeed(1, 30.0, 2), TaskSpeed(2, 20.0, 2)]).chart,
        line_chart(
            [Line("human", "a", [(1.0, 0.5), (2.0, 0.4)])], finding="", x_label="R", y_label="w"
        ),
    ]
    for chart, ticks in zip(drawn, ({"0", "1", "2"}, {"1", "2"}, {"0", "1", "2"}), strict=True):
        assert ticks <= set(re.findall(r">(\d+)</text>", chart.file())), chart


def test_values_outside_an_axis_are_drawn_at_its_ends():
    axis = Axis(0, 2)
    assert (axis.at(-3), axis.at(0.5), axis.at(9)) == (0, 0.25, 1)


def test_leading_numbers_say_why_they_are_undefined():
    section = of(preferences([[1, -1]] * 2))
    assert len(leading_numbers(section)) == 5
    for number in leading_numbers(section):
        assert number.number.text != "–" or number.number.reason.endswith(".")
    assert win_rates_figure(section).finding == TOO_FEW.format(n="2 items", verb="are")


def test_rates_stand_beside_plain_counts():
    section = of(preferences([[-1, 0]] * 3 + [[-1, 1]]))
    counts = "a preferred 4, tied 3, b preferred 1 (of 8 ratings by 2 annotators on 4 items)"
    figure = win_rates_figure(section)
    assert figure.counts == (counts,)
    assert counts in alternative(figure)


def test_a_minus_is_no_hyphen():
    assert [in_digits(number) for number in (-0.5, -0.001, 0.25)] == ["−0.50", "0.00", "0.25"]
    section = of(preferences([[-1, -1, 1]] * 12, side_a="left"))
    assert not re.search(r"-\d", alternative(strengths_figure(section)))


def test_what_holds_for_these_annotators_alone_is_not_said_of_others(section):
    """Two of three prefer B, always, and the third is divided."""
    (_, better) = sorted(section.systems.win_rate)
    rate = section.systems.win_rate[better]
    assert rate.low < 0.5 < rate.narrower[0].low
    figure = win_rates_figure(section)
    ends = " to ".join(in_digits(end) for end in (rate.narrower[0].low, rate.narrower[0].high))
    heading = f"With these annotators, {better} wins more often than it loses"
    assert figure.finding == f"{heading}: win rate {in_digits(rate.value)} ({ends})"
    assert figure.chart.rests == RESTS_ON_THICK
    assert RESTS_ON_THICK in figure.chart.page()
    assert RESTS_ON_THICK not in of_part(figure, "news").chart.page() + figure.caption
    assert OTHERS_OPEN in figure.sentence
    assert figure.sentence.endswith(THICK)
    shown = dict(zip(figure.columns, figure.rows[0], strict=True))
    ends = (shown["low_these_raters"], shown["high_these_raters"])
    assert ends == (rate.narrower[0].low, rate.narrower[0].high)
    assert figure.chart.file().count('stroke-width="5"') == len(figure.rows)
    bias = bias_figure(section)
    assert bias.finding.startswith("These annotators prefer the text shown second; whether others")


def test_a_bias_that_new_annotators_share_is_said_of_annotators():
    labels = [[(-1) ** n * (1 if n % 7 else -1)] * 6 for n in range(24)]
    figure = bias_figure(of(preferences(labels, side_a=SIDES)))
    assert figure.finding == "Annotators prefer the text shown second"
