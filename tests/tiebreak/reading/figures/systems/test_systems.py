"""Figures of the systems."""

from dataclasses import replace
from types import SimpleNamespace

from tests.tiebreak.report.sections.systems.test_simultaneous import rows
from tests.tiebreak.report.test_sections import of, preferences
from tiebreak.digits import in_digits
from tiebreak.reading.figures.systems.systems import (
    machine_win_rates_figure,
    win_rates_figure,
)


def test_win_rates_by_machines_stand_beside_those_by_annotators():
    people = preferences([[1, 1], [1, -1], [1, 1]] * 5)
    judge = [{**row, "rater": "judge", "kind": "machine"} for row in people[::2]]
    about = of([*people, *judge])
    figure = machine_win_rates_figure(about)
    shown = {row[:2]: row[2] for row in figure.rows}
    assert shown["a", "annotators"] == about.systems.win_rate["a"].value
    assert shown["a", "judge"] == about.systems.machine_win_rates["judge"]["a"].value
    assert not machine_win_rates_figure(of(people)).chart
    unreached = replace(about, stopping=SimpleNamespace(is_reached=False))
    alone = machine_win_rates_figure(unreached)
    assert {row[1] for row in alone.rows} == {"judge"}
    assert alone.sentence.startswith(figure.sentence)
    assert alone.sentence != figure.sentence


def test_the_picture_draws_the_interval_that_the_heading_states():
    """Of several systems that is the one that holds for all at once; the table has both."""
    figure = win_rates_figure(of(rows([f"s{n}" for n in range(4)], lead=0.4)))
    _, interval = figure.sentence.partition(". ")[0].split("The win rate of s0 is ")
    strip = next(strip for strip in figure.chart.strips if strip.name == "s0")
    assert strip.value == interval
    row = dict(zip(figure.columns, figure.rows[0], strict=True))
    value, low, high = (
        in_digits(row[name]) for name in ("value", "low_all_at_once", "high_all_at_once")
    )
    assert f"{value} ({low} to {high})" == interval
    assert row["low_all_at_once"] < row["low"]
