"""The interval of the rank correlation of a board's hidden part holds, however close the systems are.

Boards are drawn by code of their own, and pass through the report as rows of a file. The true orders are
those of the strengths from which the labels are drawn.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest, spearmanr

from tiebreak.formats import RatingTable
from tiebreak.report.build import build_section
from tiebreak.report.sections.systems.hidden_part import HiddenDraw

BOARDS, PEOPLE, DRAW = 200, 3, HiddenDraw(0.5, 1)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("systems", "instances", "spread", "differ"),
    [
        (3, 60, 0.5, 0.5),
        (5, 40, 0.15, 0.0),  # the same order, of systems that hardly differ
        (5, 60, 0.8, 2.0),
    ],
)
def test_the_true_correlation_lies_in_the_interval(systems, instances, spread, differ):
    rng, held = np.random.default_rng(systems), 0
    for _ in range(BOARDS):
        people = rng.normal(0, spread, systems)
        strengths = {"people": people, "judge": people + rng.normal(0, differ, systems)}
        table = RatingTable.from_rows(rows(strengths, instances, rng))
        options = {"replicates": 0, "scales": {"preference": "preference"}, "hidden": DRAW}
        [part] = build_section(table, "leaderboard", **options).criteria.values()
        one = part.hidden.machines["judge"].of_hidden
        truth = spearmanr(people, strengths["judge"]).statistic
        held += one.low - 1e-9 <= truth <= one.high + 1e-9
    assert binomtest(held, BOARDS, 0.95, alternative="less").pvalue > 0.01, held
