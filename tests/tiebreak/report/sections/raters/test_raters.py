"""Single raters in the report: beside the others, in the model of Dawid and Skene, and in repeats."""

import math

import numpy as np
import pytest

from tests.metrics.studies import preferences, report_of
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.raters import dawid_skene, raters

TWO_LABELS = {"preference": "preference"}


def of(rows: list[dict], **options) -> CriterionSection:
    (section,) = report_of(rows, replicates=200, **options).criteria.values()
    return section


def test_a_rater_is_compared_with_the_mode_of_the_others():
    """On i0 the others of r0 say 1 and 1, on i1 they say −1 and 1, which is half of each."""
    section = of(preferences([[1, 1, 1], [-1, -1, 1]]), scales=TWO_LABELS)
    assert section.raters["r0"].confusion == ((0.5, 0.0), (0.5, 1.0))
    assert section.raters["r0"].leave_one_out.value == pytest.approx(0.75)
    # The others of r2 say 1 on i0 and −1 on i1, where r2 says 1.
    assert section.raters["r2"].confusion == ((0.0, 1.0), (0.0, 1.0))
    assert section.raters["r2"].leave_one_out.n == 2


def test_a_machine_is_compared_with_all_annotators():
    rows = preferences([[1, 1], [-1, -1]])
    machine = [row | {"rater": "judge", "kind": "machine", "label": 1} for row in rows[::2]]
    judge = of([*rows, *machine], scales=TWO_LABELS).raters["judge"]
    assert judge.confusion == ((0.0, 1.0), (0.0, 1.0))
    assert judge.leave_one_out is None


def test_nobody_is_compared_with_themselves():
    alone = of(preferences([[1], [-1]])).raters["r0"]
    assert alone.confusion is None
    assert alone.leave_one_out.reason == raters.NOBODY_ELSE


def test_scales_with_many_labels_have_no_table_of_labels():
    labels = range(raters.MAX_LABELS + 1)
    rows = [
        {"unit": f"u{n}", "rater": r, "label": n / 2, "criterion": "c"}
        for n in labels
        for r in "ab"
    ]
    section = of(rows, scales={"c": "ratio"})
    assert section.raters["a"].confusion is None
    assert section.raters["a"].leave_one_out.value == 1
    assert section.dawid_skene.reason


def test_dawid_and_skene_find_the_careless_rater():
    rng = np.random.default_rng(3)
    truth = rng.choice([-1, 1], size=200)
    labels = [[t, t, t, int(rng.choice([-1, 1]))] for t in truth.tolist()] + [[1]]
    fit = of(preferences(labels), scales=TWO_LABELS).dawid_skene
    assert fit.converged
    assert fit.n_units == 200  # without the unit that only one of them rated
    assert fit.raters["r0"].accuracy == pytest.approx(1, abs=0.01)
    assert fit.raters["r3"].accuracy == pytest.approx(0.5, abs=0.1)
    assert 0.35 < fit.raters["r3"].low < 0.5 < fit.raters["r3"].high < 0.65
    assert fit.raters["r0"].confusion[0] == pytest.approx((1, 0), abs=0.01)
    assert fit.prior["-1"] == pytest.approx(np.mean(truth == -1), abs=0.01)


@pytest.mark.parametrize("accuracy", [0.5, 0.8])
def test_raters_who_do_not_differ_have_no_accuracies_of_their_own(accuracy):
    """Without the test, raters who guess get accuracies far from one half."""
    rng = np.random.default_rng(1)
    truth = rng.choice([-1, 1], size=60).tolist()
    labels = [[t if rng.random() < accuracy else -t for _ in range(4)] for t in truth]
    fit = of(preferences(labels), scales=TWO_LABELS).dawid_skene
    assert (fit.reason, fit.raters) == (dawid_skene.NOT_BETTER, {})


@pytest.mark.parametrize("case", ["two raters", "too many ratings"])
def test_dawid_and_skene_say_why_they_estimate_nothing(case, monkeypatch):
    if case == "too many ratings":
        monkeypatch.setattr(dawid_skene, "MAX_RATINGS", 5)
    fit = of(
        preferences([[1, 1], [-1, 1]] if case == "two raters" else [[1, 1, -1]] * 2)
    ).dawid_skene
    assert fit.reason
    assert not fit.raters
    assert all(math.isnan(share) for share in fit.prior.values())


def repeated(rows: list[dict], labels: dict[str, object]) -> list[dict]:
    """Return rows, and a repeat of each unit of r0 that has a label in ``labels``."""
    again = [
        row | {"label": labels[row["unit"]], "repeat": 1, "role": "repeat"}
        for row in rows
        if row["rater"] == "r0" and row["unit"] in labels
    ]
    return [*rows, *again]


def test_repeats_are_compared_with_the_first_answer():
    rows = preferences([[1, 1], [-1, 1], [0, 1], [1, 1]])
    consistency = of(repeated(rows, {"u0": 1, "u1": 1, "u2": 0})).self_consistency
    assert consistency.raters["r0"].value == pytest.approx(2 / 3)
    assert consistency.raters["r0"].n == 3
    assert set(consistency.raters) == {"r0"}
    assert consistency.humans.value == pytest.approx(2 / 3)
    assert consistency.humans.reason  # three instances are too few for an interval


def test_the_share_of_all_annotators_resamples_instances():
    rows = preferences([[1, -1]] * 40)
    answers = {f"u{n}": 1 if n % 4 else -1 for n in range(40)}
    humans = of(repeated(rows, answers)).self_consistency.humans
    assert humans.value == pytest.approx(0.75)
    assert humans.low < 0.75 < humans.high
    assert humans.scope.instances == "new"


def test_a_machines_repeats_are_not_those_of_annotators():
    rows = preferences([[1, 1]] * 3)
    machine = [row | {"rater": "judge", "kind": "machine"} for row in rows[::2]]
    again = machine[0] | {"repeat": 1}
    consistency = of([*rows, *machine, again]).self_consistency
    assert consistency.raters["judge"].value == 1
    assert not consistency.humans.is_defined


@pytest.mark.parametrize("change", [{"excluded": True}, {"late": True}, {"superseded": True}])
def test_repeats_with_a_flag_are_left_out(change):
    rows = repeated(preferences([[1, 1]] * 3), {"u0": -1})
    section = of([row | change if row.get("repeat") else row for row in rows])
    assert section.self_consistency.raters == {}
    assert section.self_consistency.humans.reason


def test_repeats_without_a_first_answer_are_left_out():
    rows = repeated(preferences([[1, 1]] * 3), {"u0": 1})
    first = next(row for row in rows if row["unit"] == "u0" and row["rater"] == "r0")
    section = of([row | {"late": True} if row is first else row for row in rows])
    assert section.self_consistency.raters == {}


def test_both_bad_twice_is_alike():
    scales = {"preference": "preference:5+bad"}
    rows = preferences([["bad", 1], [2, 1]])
    section = of(repeated(rows, {"u0": "bad", "u1": 1}), scales=scales)
    assert section.self_consistency.raters["r0"].value == pytest.approx(0.5)


def test_perception_of_each_pair_of_systems():
    """Pair a–b has the majorities 1 and −1, pair a–c only 1, where a tie is given once."""
    rows = preferences([[1, 1, 1], [-1, -1, 1]])
    other = [row | {"system_b": "c", "unit": f"v{row['unit']}"} for row in preferences([[1, 1, 0]])]
    section = of([*rows, *other])
    by_systems = section.perception_by_systems
    assert list(by_systems) == ["a vs b", "a vs c"]
    assert [row.label for row in by_systems["a vs b"]] == ["-1", "1"]
    (row,) = by_systems["a vs c"]
    assert row.share == 1
    assert row.humans == pytest.approx({"-1": 0, "0": 1 / 3, "1": 2 / 3})


def test_one_pair_of_systems_has_no_parts():
    assert of(preferences([[1, 1]] * 2)).perception_by_systems == {}
