"""Success rates of single texts: by hand, of mock systems of known rates, and a known order."""

import json
import math

import pytest
from scipy.stats import binomtest

from tests.tiebreak.report.mock_systems import BEST_FIRST, RATES, mock_ratings
from tests.tiebreak.test_cli import run
from tiebreak.formats import RatingTable, write_rows
from tiebreak.report import build_report
from tiebreak.report.criterion import read_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.sections.systems.success_rates import (
    DRAWN,
    score_interval,
    success_label,
    success_rates_section,
)
from tiebreak.scales import Scale
from tiebreak.stats import Estimate, undefined
from tiebreak.stats.machines.prediction_powered import NO_UNLABELLED

SCALES = {"faithfulness": "nominal:yes,no"}


def section_of(rows, *, known_order=(), scales=None, replicates=0):
    table = RatingTable.from_rows(list(rows))
    report = build_report(
        table, replicates=replicates, scales=scales or SCALES, known_order=known_order
    )
    (about,) = report.criteria.values()
    assert "success_rates" not in about.problems
    return about.success_rates


def row(unit, system, rater, label, **more):
    kind = "machine" if rater == "judge" else "human"
    columns = {"unit": f"{unit}:{system}", "instance": str(unit), "system_a": system}
    return (
        columns | {"criterion": "faithfulness", "rater": rater, "kind": kind, "label": label} | more
    )


def test_by_hand():
    """Of 4 items with a human rating the judge is wrong on one; of 6 others it says yes to 3."""
    people = ["yes", "yes", "no", "yes"]
    judge = ["yes", "yes", "yes", "yes", "yes", "yes", "yes", "no", "no", "no"]
    rows = [row(n, "x", "ann", label) for n, label in enumerate(people)]
    rows += [row(n, "x", "judge", label) for n, label in enumerate(judge)]
    section = section_of(rows)
    assert section.success == "yes"
    x = section.systems["x"]
    assert x.human.value == 0.75
    machine = x.machines["judge"]
    assert (machine.n_labelled, machine.n_unlabelled) == (4, 6)
    assert machine.alone.value == pytest.approx(0.7)
    # 3/6 of the others, and the judge says 1/4 too much.
    assert machine.powered_lambda_1.value == pytest.approx(0.5 - 0.25)
    # All of the judge's answers on labelled items are equal, so that they tell nothing.
    assert machine.powered.value == pytest.approx(0.75)


def test_a_machine_that_rated_nothing_else_corrects_nothing():
    rows = [row(n, "x", rater, "yes") for n in range(12) for rater in ("ann", "judge")]
    machine = section_of(rows).systems["x"].machines["judge"]
    assert not machine.powered.is_defined
    assert machine.powered.reason == NO_UNLABELLED
    assert machine.alone.value == 1


def test_an_unreadable_answer_of_the_machine_is_missing():
    rows = [row(n, "x", "ann", "yes") for n in range(3)]
    rows += [row(n, "x", "judge", "yes") for n in range(6)]
    rows += [row(6, "x", "judge", None, raw="Perhaps.")]
    machine = section_of(rows).systems["x"].machines["judge"]
    assert (machine.alone.value, machine.n_unlabelled) == (1, 3)


def test_after_a_draw_machine_ratings_of_other_items_correct_nothing():
    rows = [row(n, "x", "ann", "yes", phase="design", inclusion_probability=0.5) for n in range(12)]
    rows += [
        row(n, "x", "judge", "yes", phase="design", inclusion_probability=0.5) for n in range(24)
    ]
    machine = section_of(rows).systems["x"].machines["judge"]
    assert not machine.powered.is_defined
    assert machine.powered.reason == DRAWN


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("nominal:yes,no", "yes"),
        ("nominal:no,yes", "yes"),
        ("nominal:False,True", "True"),
        ("nominal:faithful,unfaithful", "faithful"),
        ("ordinal:0..1", 1),
    ],
)
def test_which_label_is_a_success(spec, label):
    assert success_label(Scale.parse(spec)) == label


@pytest.mark.parametrize("spec", ["nominal:yes,no,unclear", "ordinal:1..5", "interval"])
def test_other_scales_have_no_success_rates(spec):
    label = "yes" if spec.startswith("nominal") else 1
    rows = [row(n, "x", "ann", label) for n in range(4)]
    assert section_of(rows, scales={"faithfulness": spec}) is None


def test_pairs_of_texts_have_no_success_rates():
    rows = [row(n, "x", "ann", "yes", system_b="y") for n in range(4)]
    assert section_of(rows) is None


def test_a_known_order_is_compared_with_every_kind_of_rate():
    order = (*BEST_FIRST, "other")
    known = section_of(mock_ratings(3, instances=600, labelled=300), known_order=order).known_order
    assert (known.order, known.missing) == (order, ("other",))
    for tau in (known.human, *(k["judge"] for k in (known.machines, known.powered))):
        assert tau.value >= 0.8
        assert (tau.n, tau.has_interval) == (5, False)
    assert section_of(mock_ratings(3)).known_order is None


def test_the_command_takes_a_known_order(tmp_path):
    path, out = tmp_path / "ratings.jsonl", tmp_path / "report.json"
    rows = list(mock_ratings(1, instances=40, labelled=20))
    write_rows(path, rows, tuple(rows[0]))
    options = ["--scale", "faithfulness=nominal:yes,no", "--replicates", "0"]
    run("analyze", path, "--out", out, *options, "--known-order", "; ".join(BEST_FIRST))
    section = json.loads(out.read_text())["criteria"]["faithfulness"]["success_rates"]
    assert section["known_order"]["order"] == list(BEST_FIRST)
    assert set(section["systems"]) == set(RATES)


def test_the_score_interval_is_wilsons_for_the_effective_size():
    """With the standard error of 40 ratings of which 30 are a success, and no matter of t."""
    rate = Estimate(0.75, 0.6, 0.9, standard_error=math.sqrt(0.75 * 0.25 / 40), n=9, method="z, x")
    interval = score_interval(rate, 10**9)
    wilson = binomtest(30, 40).proportion_ci(0.95, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((wilson.low, wilson.high), abs=1e-6)
    few = score_interval(rate, 11)
    assert few.low < interval.low < interval.high < few.high < 1
    for unchanged in (undefined("None."), Estimate(1.02, 0.9, 1.1, 0.05), Estimate(0.5)):
        assert score_interval(unchanged, 20) is unchanged


@pytest.mark.slow
@pytest.mark.parametrize(("studies", "shared"), [(200, 0.0), (200, 0.5)])
def test_intervals_of_mock_systems_cover_their_rates(studies, shared):
    """A judge that believes too much, and people on a third of the items."""
    kinds = ("powered", "powered_lambda_1", "alone", "human")
    covered, errors, taus = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0.0), 0.0
    for seed in range(studies):
        table = RatingTable.from_rows(list(mock_ratings(seed, shared=shared)))
        (criterion,), _ = read_criteria(table, SCALES, None)
        section = success_rates_section(
            criterion, Seeds(seed, ("mock",)), 200, known_order=BEST_FIRST
        )
        taus += section.known_order.powered["judge"].value / studies
        for name, rate in RATES.items():
            machine = section.systems[name].machines["judge"]
            for kind in kinds:
                one = section.systems[name].human if kind == "human" else getattr(machine, kind)
                covered[kind] += one.low <= rate <= one.high
                errors[kind] += (one.value - rate) ** 2
    total = studies * len(RATES)
    for kind in ("powered", "powered_lambda_1"):
        assert 0.93 <= covered[kind] / total <= 0.97, kind
    # The judge alone believes too much or too little, so that it covers far less.
    assert binomtest(covered["alone"], total, 0.9, alternative="less").pvalue < 1e-3
    # With tuned weight it is more precise than people alone and than full weight.
    assert errors["powered"] < 0.97 * errors["human"]
    assert errors["powered"] < errors["powered_lambda_1"]
    assert taus > 0.6
