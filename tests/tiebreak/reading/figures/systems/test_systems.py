"""Figures of the systems."""

from dataclasses import replace
from types import SimpleNamespace

from tests.tiebreak.report.test_sections import of, preferences
from tiebreak.reading.figures.systems.systems import machine_win_rates_figure


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
