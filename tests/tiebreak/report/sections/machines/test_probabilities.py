"""Probabilities of machines in the report: from files, from repeated answers, debiased and calibrated."""

import json

import numpy as np
import pytest
from scipy.special import expit

from tests.tiebreak.report.test_sections import of
from tiebreak.cli import main
from tiebreak.formats import FormatError, RatingTable
from tiebreak.report import build_report

ORDERS = ("ab", "ba")


def judged(seed: int = 0, *, units: int = 60, bias: float = 1.0, tie: float = 0.1) -> list[dict]:
    """Return three people's preferences, and a judge's probabilities in both orders.

    The judge is calibrated apart from its preference for the text shown first.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number, quality in enumerate(rng.normal(0, 1.5, units)):
        about = {"unit": f"u{number:03}", "system_a": "a", "system_b": "b"}
        votes = np.where(rng.random(3) < expit(quality), -1, 1)
        rows += [about | {"rater": f"r{k}", "label": int(vote)} for k, vote in enumerate(votes)]
        for order in ORDERS:
            share_a = (1 - tie) * expit(quality + (bias if order == "ab" else -bias))
            shares = {"-1": share_a, "0": tie, "1": 1 - tie - share_a}
            rows.append(
                about
                | {"rater": "judge", "kind": "machine", "order": order}
                | {"label": int(max(shares, key=shares.get)), "probabilities": shares}
            )
    return rows


def section_of(rows, **options):
    options = {"scales": {"preference": "preference:tie"}, **options}
    return of(rows, sections=["machine_probabilities"], **options)


def probabilities_of(rows, **options):
    return section_of(rows, **options).machine_probabilities["judge"]


def test_a_judges_probabilities_are_compared_with_people():
    rows = judged()
    one = probabilities_of(rows)
    assert (one.source, one.answer, one.n_units, one.n_answers) == ("probabilities", "A", 60, 120)
    assert sum(part.n_ratings for part in one.bins) == 180
    stated: dict[str, list[float]] = {}
    votes: dict[str, list[int]] = {}
    for row in rows:
        if row["rater"] == "judge":
            stated.setdefault(row["unit"], []).append(row["probabilities"]["-1"])
        else:
            votes.setdefault(row["unit"], []).append(row["label"] == -1)
    squares = [(np.mean(stated[unit]) - vote) ** 2 for unit in votes for vote in votes[unit]]
    assert one.brier_score.value == pytest.approx(np.mean(squares))
    assert one.brier_score.has_interval
    assert (one.brier_score.scope.instances, one.brier_score.scope.raters) == ("new", "these")


def test_debiasing_is_shown_beside_the_answers_as_they_are():
    one = probabilities_of(judged(units=150))
    assert one.debiasing.n == 300
    assert one.debiasing.prefers_first > 0.6
    assert one.debiasing.threshold > 0.6
    assert one.debiasing.change.low > 0
    assert one.both_orders.value > one.debiasing.agreement.value


def test_one_order_of_each_pair_is_debiased_too():
    rows = [
        row
        for row in judged(units=150)
        if row["rater"] != "judge" or row["order"] == ORDERS[int(row["unit"][1:]) % 2]
    ]
    one = probabilities_of(rows)
    assert (one.n_answers, one.both_orders) == (150, None)
    assert one.debiasing.threshold > 0.6
    assert one.debiasing.change.value > 0


def test_without_an_order_there_is_nothing_to_debias():
    rows = [{**row, "order": ""} for row in judged() if row.get("order") != "ba"]
    one = probabilities_of(rows)
    assert (one.debiasing, one.both_orders) == (None, None)
    assert one.brier_score.is_defined


def repeated(runs: int) -> list[dict]:
    """Return written answers: of `runs` answers about unit k, the first k prefer A."""
    about = [{"unit": f"u{number}"} for number in range(5)]
    people = [unit | {"rater": "r", "label": -1} for unit in about]
    machine = {"rater": "judge", "kind": "machine", "order": "ab"}
    return people + [
        unit | machine | {"run": str(run), "label": -1 if run < number else 1}
        for number, unit in enumerate(about)
        for run in range(runs)
    ]


def test_shares_of_repeated_answers_estimate_probabilities():
    one = probabilities_of(repeated(4))
    assert (one.source, one.n_answers) == ("shares", 5)
    assert one.brier_score.value == pytest.approx(np.mean([(1 - k / 4) ** 2 for k in range(5)]))


def test_single_answers_are_no_probabilities():
    section = section_of(repeated(1))
    assert section.machine_probabilities is None
    assert "several answers" in section.problems["machine_probabilities"]


def test_other_scales_calibrate_the_most_probable_label():
    shares = {"bad": 0.2, "fair": 0.3, "good": 0.5}
    rows = [
        {"unit": f"u{n}", "rater": f"r{k}", "criterion": "c", "label": label}
        for n in range(20)
        for k, label in enumerate(("good", "good", "fair", "bad"))
    ] + [
        {"unit": f"u{n}", "rater": "judge", "criterion": "c", "label": "good"}
        | {"kind": "machine", "probabilities": shares}
        for n in range(20)
    ]
    section = section_of(rows, scales={"c": "nominal:bad,fair,good"})
    one = section.machine_probabilities["judge"]
    assert one.answer == "most probable"
    assert one.bins[5].share.value == one.bins[5].probability == 0.5
    assert one.expected_calibration_error.value == pytest.approx(0)


@pytest.mark.parametrize(
    ("key", "code"), [("5", "label_not_on_scale"), ("A", "label_not_a_number")]
)
def test_probabilities_of_what_is_no_label_are_refused_with_their_lines(key, code):
    rows = judged(units=12)
    for number in (3, 5):
        rows[number] = rows[number] | {"probabilities": {key: 1.0}}
    with pytest.raises(FormatError) as refusal:
        build_report(RatingTable.from_rows(rows), replicates=0)
    refused = [(one.line, one.code) for one in refusal.value.problems]
    assert refused == [(4, code), (6, code)]
    assert '"-1", "0", "1"' in refusal.value.problems[0].reason


def test_both_bad_has_no_place_among_ordered_preferences():
    rows = [{"unit": f"u{n}", "rater": "r", "label": -1} for n in range(12)] + [
        {"unit": f"u{n}", "rater": "judge", "kind": "machine", "label": -1}
        | {"probabilities": {"-2": 0.2, "-1": 0.2, "1": 0.1, "bad": 0.5}}
        for n in range(12)
    ]
    one = probabilities_of(rows, scales={"preference": "preference:5+bad"})
    assert one.bins[8].n_ratings == 12  # 0.4 of the 0.5 that are not "both bad"


def test_a_file_is_analyzed_by_the_command(tmp_path):
    path, out = tmp_path / "r.jsonl", tmp_path / "report.json"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in judged()))
    options = ["--section", "machine_probabilities", "--scale", "preference=preference:tie"]
    assert main(["analyze", str(path), "--out", str(out), "--replicates", "50", *options]) == 0
    section = json.loads(out.read_text())["criteria"]["preference"]["machine_probabilities"]
    assert section["judge"]["n_units"] == 60
