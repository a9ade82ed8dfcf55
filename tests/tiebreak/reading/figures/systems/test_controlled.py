"""The figures of strengths with ties, and of effects of covariates."""

import re

import pytest

from tiebreak.reading.figures.figure import THICK
from tiebreak.reading.figures.systems.controlled import controlled_figures, davidson_figures
from tiebreak.report.model.rankings import DavidsonSection
from tiebreak.report.model.systems import ControlledWinRateSection
from tiebreak.stats import Estimate, undefined
from tiebreak.stats.core.results import NarrowerInterval, Scope

X = Estimate(0.5, 0.2, 0.8, n=90)
TIE = Estimate(0.25, 0.2, 0.3, n=90)
REASON = "Nobody compared this system."


def of_ties(tie=TIE, **systems):
    (figure,) = davidson_figures(DavidsonSection({"x": X, **systems}, tie))
    return figure


def test_strengths_are_beside_0_and_ties_in_a_sentence():
    figure = of_ties(y=Estimate(-0.5, -0.8, -0.2, n=90))
    assert re.findall(r"\d+%", figure.sentence) == ["25%", "95%", "20%", "30%"]
    assert figure.columns[0] == "system"
    (reference,) = set(re.findall(r'x1="([\d.]+)"[^>]*class="reference"', figure.chart.file()))
    assert re.findall(r'<text x="([\d.]+)"[^>]*>0\.0</text>', figure.chart.file()) == [reference]


@pytest.mark.parametrize(
    ("tie", "sentence"),
    [
        (undefined("Nobody tied."), "Nobody tied. " + REASON),
        (
            Estimate(0.25, n=9),
            "Two equally strong systems would tie in 25% of comparisons. " + REASON,
        ),
    ],
)
def test_reasons_stand_once_after_the_ties(tie, sentence):
    figure = of_ties(tie, y=undefined(REASON), z=undefined(REASON))
    assert figure.sentence == sentence


def test_a_chart_with_thick_lines_explains_them():
    thick = NarrowerInterval(0.4, 0.6, Scope("new", "these"), "")
    wide = Estimate(0.5, 0.2, 0.8, n=90, narrower=(thick,))
    assert of_ties(y=wide).sentence.endswith(THICK)
    assert not of_ties().sentence.endswith(THICK)


def test_without_a_defined_strength_there_is_a_reason_and_no_chart():
    (figure,) = davidson_figures(DavidsonSection({"x": undefined(REASON)}, TIE))
    assert not figure.chart
    assert figure.sentence == REASON


def test_effects_are_of_covariates():
    section = ControlledWinRateSection({"x": X}, {"x": X}, {"x": X}, {"length": X})
    assert controlled_figures(section)[1].columns[0] == "covariate"
