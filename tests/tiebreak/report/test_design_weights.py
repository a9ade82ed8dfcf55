"""After a draw of instances, headlines speak of the dataset, and weight what was drawn."""

import numpy as np
import pytest

from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.stats import Estimate, bradley_terry, two_way_mean

RATERS = 5


def rows(*, control=True):
    """Return ratings of 80 instances, in which B wins more often the rarer an instance is drawn."""
    rng = np.random.default_rng(3)
    made = []
    for instance in range(80):
        inclusion = 0.2 if instance % 4 == 0 else 0.8
        in_control = control and instance % 8 < 2
        for rater in rng.choice(RATERS, 3, replace=False):
            b_wins = rng.random() < (0.8 if inclusion < 0.5 else 0.3)
            made.append(
                {
                    "unit": f"u{instance}",
                    "instance": f"i{instance}",
                    "rater": f"r{rater}",
                    "label": 1 if b_wins else -1,
                    "system_a": "old",
                    "system_b": "new",
                    "side_a": "left" if (instance + rater) % 2 else "right",
                    "phase": "control" if in_control else "selected",
                    "inclusion_probability": inclusion,
                }
            )
    return made


def criterion(made):
    return build_report(RatingTable.from_rows(made), replicates=200).criteria["preference"]


def weighted_rate(made):
    """Return the weighted share of ratings in which the new system wins."""
    weights = np.array([1 / row["inclusion_probability"] for row in made])
    wins = np.array([row["label"] > 0 for row in made])
    return float(weights @ wins / weights.sum())


def test_win_rates_are_weighted_and_speak_of_the_dataset():
    made = rows()
    section = criterion(made)
    of_new, of_pair = section.systems.win_rate["new"], section.systems.pairs["new vs old"]
    expected = weighted_rate(made)
    assert of_new.value == of_pair.value == pytest.approx(expected, rel=1e-12)
    assert abs(expected - np.mean([row["label"] > 0 for row in made])) > 0.05
    assert section.selection["old vs new"].win_rate.value == pytest.approx(1 - expected)
    for rate in (of_new, of_pair):
        assert (rate.scope.instances, rate.scope.raters) == ("dataset", "new")
        (inner,) = rate.narrower
        assert (inner.scope.instances, inner.scope.raters) == ("dataset", "these")
        assert rate.low <= inner.low < rate.value < inner.high <= rate.high


def test_bias_and_strengths_are_weighted_and_elo_is_of_the_selected_instances():
    made = rows()
    section = criterion(made)
    weights = np.array([1 / row["inclusion_probability"] for row in made])
    first = np.array([-1 if row["side_a"] == "left" else 1 for row in made])
    signs = np.sign([row["label"] for row in made])
    assert section.bias.position.value == pytest.approx(
        weights @ (signs * first) / weights.sum() / 2
    )
    assert section.bias.position.scope.instances == "dataset"
    value = section.bias.position.value
    codes = [[int(row[name][1:]) for row in made] for name in ("instance", "rater")]
    point = Estimate(value, value, value)
    wide = two_way_mean(
        signs * first / 2, *codes, narrow=point, weights=weights, bounds=(-0.5, 0.5)
    )
    assert section.bias.position.standard_error == pytest.approx(wide.standard_error)
    counts = [[row["label"] < 0, 0, row["label"] > 0] for row in made]
    names = {"system_a": ["old"] * len(made), "system_b": ["new"] * len(made)}
    fit = bradley_terry(np.array(counts, dtype=int), **names, weights=weights)
    strength = section.systems.bradley_terry["new"]
    assert strength.value == pytest.approx(fit.systems["new"].value)
    assert strength.scope.instances == "dataset"
    assert section.systems.bradley_terry_rank["new"].scope.instances == "dataset"
    assert section.systems.elo["new"].scope.instances == "selected"
    assert section.all_units.human_human.krippendorff_alpha.scope.instances == "selected"


def test_without_a_control_sample_only_the_selected_instances_are_spoken_of():
    made = rows(control=False)
    section = criterion(made)
    rate = section.systems.win_rate["new"]
    assert rate.value == pytest.approx(weighted_rate(made))
    assert rate.scope.instances == rate.narrower[0].scope.instances == "selected"
    assert section.bias.position.scope.instances == "selected"
    assert section.systems.bradley_terry["new"].scope.instances == "selected"


def test_without_all_probabilities_nothing_is_weighted_or_said_of_the_dataset():
    table = RatingTable.from_rows(rows())  # a file must have them, but a table could lack them
    table["inclusion_probability"][table["unit"] == "u7"] = np.nan
    rate = build_report(table, replicates=200).criteria["preference"].systems.win_rate["new"]
    assert rate.value == pytest.approx(np.mean(table["label"] > 0))
    assert rate.scope.instances == "selected"


def test_while_only_the_control_sample_is_rated_its_instances_count_alike():
    made = [row for row in rows() if row["phase"] == "control"]
    rate = criterion(made).systems.win_rate["new"]
    assert rate.value == pytest.approx(np.mean([row["label"] > 0 for row in made]))
    assert rate.scope.instances == "dataset"


def test_instances_that_were_not_drawn_have_no_weights():
    made = [row | {"phase": "all", "inclusion_probability": None} for row in rows()]
    rate = criterion(made).systems.win_rate["new"]
    assert rate.value == pytest.approx(np.mean([row["label"] > 0 for row in made]))
    assert rate.scope.instances == "new"
