"""The interval of the rank correlation of a board's hidden part holds, however close the systems are.

Boards are drawn by code of their own, and pass through the report as rows of a file. The true orders are
those of the strengths from which the labels are drawn.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest, spearmanr

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import read_criteria
from tiebreak.report.model.rankings import LeaderboardSection
from tiebreak.report.sections.systems.hidden_part import HiddenDraw, with_hidden_part
from tiebreak.stats import Estimate

BOARDS, SYSTEMS, PEOPLE, DRAW = 200, 5, 3, HiddenDraw(0.5, 1)


def rows(strengths: dict[str, np.ndarray], instances: int, rng: np.random.Generator) -> list[dict]:
    """Return what three people and a judge say of each pair on each instance, whose texts they share."""
    systems, made = len(strengths["people"]), []
    for i in range(instances):
        text = rng.normal(0, 0.7, systems)
        for a, b in combinations(range(systems), 2):
            about = {"unit": f"{i}-{a}-{b}", "instance": f"i{i}", "system_a": f"s{a}"}
            for rater in (*range(PEOPLE), "judge"):
                of = strengths["judge" if rater == "judge" else "people"] + text
                wins = rng.random() < 1 / (1 + np.exp(of[b] - of[a]))
                kind = "machine" if rater == "judge" else "human"
                row = {"system_b": f"s{b}", "rater": str(rater), "kind": kind}
                made.append(about | row | {"label": -1 if wins else 1})
    return made


NOTHING_ELSE = LeaderboardSection({}, (), {}, 0, ())


def foretold(
    strengths: dict[str, np.ndarray], instances: int, rng: np.random.Generator
) -> Estimate:
    table = RatingTable.from_rows(rows(strengths, instances, rng))
    [criterion], _ = read_criteria(table, {"preference": "preference"}, None)
    board = with_hidden_part(NOTHING_ELSE, criterion, DRAW)
    assert board.hidden is not None
    return board.hidden.machines["judge"].of_hidden


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "differ"),
    [
        (0.15, 0.0),  # the same order, of systems that hardly differ
        (0.8, 2.0),
    ],
)
def test_the_true_correlation_lies_in_both_intervals(spread, differ):
    rng, held = np.random.default_rng(1), np.zeros(2, dtype=int)
    for _ in range(BOARDS):
        people = rng.normal(0, spread, SYSTEMS)
        strengths = {"people": people, "judge": people + rng.normal(0, differ, SYSTEMS)}
        one = foretold(strengths, 40, rng)
        truth = spearmanr(people, strengths["judge"]).statistic
        ends = [(of.low, of.high) for of in (one, *one.narrower)]
        held += [low - 1e-9 <= truth <= high + 1e-9 for low, high in ends]
    for number in held.tolist():
        assert binomtest(number, BOARDS, 0.95, alternative="less").pvalue > 0.01
