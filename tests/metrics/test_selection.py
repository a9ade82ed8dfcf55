"""The part of the report on selected instances."""

import re
from dataclasses import replace

import numpy as np
import pytest

from metrics.planning.generate_select import _marked
from tests.pages import numbers_in
from tiebreak.formats import RatingTable
from tiebreak.reading.findings import selection_finding
from tiebreak.reading.messages import COST, SAVED, SAVING_UNKNOWN
from tiebreak.report import build_report
from tiebreak.stats import Estimate
from tiebreak.stats.design.hajek import NO_CONTROL


def rows(n: int = 400, *, seed: int = 0, drawn: bool = True):
    """Return one rating per instance, drawn with two probabilities; A wins more if δ is high."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        high = i % 2 == 0
        in_control = rng.random() < 0.3
        probability = 0.5 if in_control else (0.8 if high else 0.2)
        if not in_control and rng.random() > probability:
            continue
        yield {
            "unit": f"u{i}",
            "instance": f"i{i}",
            "rater": "ann",
            "label": -1 if rng.random() < (0.9 if high else 0.5) else 1,
            "system_a": "one",
            "system_b": "two",
            "phase": ("control" if in_control else "design") if drawn else "all",
            "inclusion_probability": (0.3 + 0.7 * (0.8 if high else 0.2)) if drawn else 1.0,
        }


def section(**changes):
    table = RatingTable.from_rows(list(rows(**changes)))
    return build_report(table, replicates=50).criteria["preference"]


def test_the_win_rate_is_weighted_to_the_dataset():
    """A wins 0.9 of the separable half and 0.5 of the other half, which is 0.7 of the dataset."""
    report = section(n=4000)
    pair = report.selection["one vs two"]
    assert report.systems.win_rate["one"].value == pytest.approx(pair.win_rate.value)
    assert pair.win_rate.low < 0.7 < pair.win_rate.high
    assert pair.win_rate_control.low < 0.7 < pair.win_rate_control.high
    assert pair.win_rate_control.n == pair.control < pair.instances


def test_the_saving_is_that_of_the_studys_own_control_share():
    pair = section(n=4000).selection["one vs two"]
    weighted, control = (rate.high - rate.low for rate in (pair.win_rate, pair.win_rate_control))
    needed = pair.control * (control / weighted) ** 2
    assert pair.instances_saved.value == pytest.approx(needed - pair.instances, rel=1e-6)
    assert pair.ratings_saved.value == pytest.approx(pair.instances_saved.value)
    _, sentence = selection_finding("one vs two", pair)
    assert str(pair.control) in numbers_in(sentence)


def saving(value, low, high):
    pair = section().selection["one vs two"]
    saved = Estimate(value, low, high)
    pair = replace(pair, ratings_saved=saved, instances_saved=saved)
    return selection_finding("one vs two", pair)


def test_a_saving_is_a_finding_only_where_its_interval_excludes_zero():
    title, sentence = saving(90, 20, 170)
    assert title == SAVED.format(n=90, pair="one vs two")
    assert {"20", "170"} <= numbers_in(sentence)
    title, sentence = saving(-90, -170, -20)
    assert title == COST.format(n=90, pair="one vs two")
    assert re.search("−170.*−20", sentence)
    for ends in [(-20, 170), (0, 170), (-170, 0), (np.nan, np.nan)]:
        title, _ = saving(90, *ends)
        assert title == SAVING_UNKNOWN.format(pair="one vs two")


def test_the_saving_has_an_interval_around_it():
    saved = section(n=4000).selection["one vs two"].ratings_saved
    assert saved.low < saved.value < saved.high
    assert "jackknife" in saved.method


def test_without_a_draw_there_is_no_section():
    assert section(drawn=False).selection == {}


def test_without_a_control_sample_the_saving_is_undefined_with_a_reason():
    uncontrolled = [row | {"phase": "design"} for row in rows()]
    report = build_report(RatingTable.from_rows(uncontrolled), replicates=50)
    pair = report.criteria["preference"].selection["one vs two"]
    assert not pair.ratings_saved.is_defined
    assert pair.ratings_saved.reason == NO_CONTROL
    assert NO_CONTROL in selection_finding("one vs two", pair)[1]


def test_marking_differences_escapes_the_texts():
    first = _marked("<b>one</b> two three", "<b>one</b> 2 three")
    assert first == ("<span>&lt;b&gt;one&lt;/b&gt; </span><mark>two</mark><span> three</span>")
    assert _marked("", "x") == ""
