"""How often machine raters give annotators' labels, beside random labels."""

from dataclasses import replace

import pytest

from tests.tiebreak.report.sections.machines.test_crossed_strata import SCALE, rows
from tests.tiebreak.report.test_sections import of
from tiebreak.reading.figures.machines.crossed_strata import (
    MAX_DRAWN,
    crossed_figures,
    share_figures,
)
from tiebreak.report.model.report import CriterionSection


@pytest.fixture(scope="module")
def about() -> CriterionSection:
    return of(rows(), sections=["pairs_by_agreement"], scales=SCALE)


def shown(figure, *columns: str) -> dict[tuple, dict]:
    every = [dict(zip(figure.columns, row, strict=True)) for row in figure.rows]
    return {tuple(row[column] for column in columns): row for row in every}


def test_random_labels_stand_beside_a_machine_in_each_stratum(about):
    (figure,) = share_figures(about)
    cells = shown(figure, "stratum", "series")
    every = about.all_units.machines["judge"]
    share = cells["All items", "majority label"]
    assert share["value"] == every.human_machine.percentage_agreement.value
    assert share["low"] is not None
    chance = cells["a vs c (50%)", "random labels"]
    assert chance["value"] == pytest.approx(0.5)
    assert chance["low"] is None  # chance is no finding
    assert cells["a vs b (50%)", "majority label"]["value"] == pytest.approx(2 / 3)
    assert cells["a vs c (50%)", "majority label"]["value"] == 0


def test_pairs_are_crossed_with_agreement_in_words(about):
    (figure,) = crossed_figures(about.pairs_by_agreement)
    cells = shown(figure, "pair", "agreement_among_annotators", "series")
    classes = list(dict.fromkeys(key[:2] for key in cells))
    assert [pair for pair, _ in classes] == ["a vs b", "a vs b", "a vs c", "a vs c"]
    assert not any("PA" in agreement for _, agreement in classes)
    clear = cells[(*classes[0], "majority label")]
    assert (clear["value"], clear["items"], clear["raters"]) == (1, 20, "these")
    assert cells[(*classes[2], "majority label")]["value"] == 0
    assert cells[(*classes[0], "α with the majority label")]["reason"]
    assert "may not conclude" in figure.reading
    assert "not a finding" in figure.reading


def test_what_is_left_out_is_said(about):
    many = replace(about.pairs_by_agreement, pairs_left_out=3)
    (figure,) = crossed_figures(many)
    assert "3" in figure.sentence
    strata = about.pairs_by_agreement.strata * (MAX_DRAWN // 4 + 1)
    (cut,) = crossed_figures(replace(about.pairs_by_agreement, strata=strata))
    assert cut.sentence
    assert len(cut.rows) == 6 * len(strata)
