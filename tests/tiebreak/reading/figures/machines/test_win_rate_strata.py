"""Win rates by annotators and machine raters, by kind of item, as figures."""

from dataclasses import replace

import pytest

from metrics.results.sections import offered_on, section_named
from tests.tiebreak.reading.figures.machines.test_crossed_strata import shown
from tests.tiebreak.report.sections.machines.test_win_rate_strata import (
    drawn_and_judged,
    judged,
    section_of,
)
from tests.tiebreak.report.sections.systems.test_leaderboard import rows as categories
from tests.tiebreak.report.test_sections import of, with_judge
from tiebreak.reading.figures.machines.crossed_strata import MAX_DRAWN
from tiebreak.reading.figures.machines.win_rate_strata import win_rate_strata_figures
from tiebreak.reading.figures.raters.agreement import STRATIFIERS
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.model.systems import WinRateStrata


@pytest.fixture(scope="module")
def section() -> WinRateStrata:
    return section_of(judged())


def test_two_systems_have_one_figure_and_three_have_three(section):
    assert [figure.name for figure in win_rate_strata_figures(section)] == [
        "win-rates-by-stratum-1"
    ]
    assert len(win_rate_strata_figures(section_of(with_judge(categories())))) == 3


def test_each_stratum_has_a_row_for_each_rater_with_its_items(section):
    (figure,) = win_rate_strata_figures(section)
    cells = shown(figure, "kind", "stratum", "rater")
    mixed = [cells[STRATIFIERS["category"], "mixed", rater] for rater in ("annotators", "judge")]
    assert [(row["value"], row["items"]) for row in mixed] == [(0.5, 20), (0.0, 20)]
    assert cells[STRATIFIERS["all"], "all items", "judge"]["low"] is not None
    assert mixed[0]["share_of_items"] == 0.5


def test_an_undefined_rate_is_empty_and_has_its_reason():
    rows = [row for row in judged() if row["rater"] != "judge" or row["category"] == "clear"]
    (figure,) = win_rate_strata_figures(section_of(rows))
    row = shown(figure, "stratum", "rater")["mixed", "judge"]
    assert row["value"] is None
    assert row["reason"]


def test_it_states_no_finding_and_says_what_must_not_be_concluded(section):
    (figure,) = win_rate_strata_figures(section)
    assert figure.sentence == ""
    assert "nothing can be concluded" in figure.reading


@pytest.mark.parametrize(("control", "scope"), [(True, "dataset"), (False, "selected")])
def test_after_a_draw_it_says_which_instances_it_describes(control, scope):
    (figure,) = win_rate_strata_figures(section_of(drawn_and_judged(control=control)))
    assert figure.reading.endswith(READING_IF_DRAWN[scope])


def test_what_is_left_out_is_said(section):
    (figure,) = win_rate_strata_figures(replace(section, left_out={"category": 3}))
    assert "3" in figure.sentence
    (cut,) = win_rate_strata_figures(replace(section, strata=section.strata * MAX_DRAWN))
    assert cut.sentence
    assert len(cut.rows) == 2 * len(section.strata) * MAX_DRAWN


def test_it_is_offered_where_systems_and_machine_raters_are():
    more = section_named("win_rates_by_stratum")
    assert more in offered_on("machines", of(judged()))
    assert more not in offered_on("machines", of(categories()))
    assert more.shows_outcome
