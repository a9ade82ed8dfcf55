"""The report: its shape, which rows count, what cannot change a digit, what is undefined and why."""

import random

import pytest

from studies.formats.problems import FormatError
from tests.metrics.ratings import (
    CONFIGURATIONS,
    criterion_of,
    machine_rows,
    report_of,
    rows_of,
    separability_rows,
    stratum,
)

LABELS = [(-1, -1, 1), (0, 0, 0), (1, 1, 1), (1, 0, -1), (-1, -1, -1), (1, 1, 0)]
JUDGE = [-1, 0, 1, 1, None, 1]


def test_it_works():
    report = report_of(rows_of(LABELS) + machine_rows(JUDGE))
    assert report["source"]["n_rows"] == report["source"]["n_used"] == 24
    found = report["criteria"]["preference"]
    assert (found["n_units"], found["n_ratings"], found["n_machine_ratings"]) == (6, 18, 6)
    assert (found["n_raters"], found["n_unparsed"]) == (3, 1)
    assert (found["scale"], found["scale_inferred"], found["labels"]) == (
        "preference:tie",
        True,
        [-1, 0, 1],
    )
    assert found["votes"] == {"-1": 6, "0": 5, "1": 7}
    assert set(found["raters"]) == {"r0", "r1", "r2", "judge"}


def test_every_stratifier_has_all_its_strata_and_shares_that_add_to_one():
    rows = separability_rows(CONFIGURATIONS[0])
    strata = criterion_of(rows, replicates=0)["strata"]
    names = {}
    for each in strata:
        names.setdefault(each["stratifier"], []).append(each)
    assert [s["stratum"] for s in names["agreement"]] == [
        "PA=1",
        "0.8<=PA<1",
        "0.6<=PA<0.8",
        "PA<0.6",
        "undefined",
    ]
    assert [s["stratum"] for s in names["unique_labels"]] == ["1", "2", "3"]
    assert [s["stratum"] for s in names["category"]] == [f"category-{i}" for i in range(3)]
    assert len(names["separability"]) == 4
    assert [s["stratum"] for s in names["systems"]] == ["first / second"]
    for group in names.values():
        assert sum(s["share"] for s in group) == pytest.approx(1)
        assert sum(s["n_units"] for s in group) == 250


def test_an_empty_stratum_is_there_with_null_and_a_reason():
    empty = stratum(criterion_of(rows_of(LABELS)), "agreement", "0.8<=PA<1")
    assert empty["n_units"] == 0
    alpha = empty["human_human"]["krippendorff_alpha"]
    assert (alpha["value"], alpha["n"]) == (None, 0)
    assert alpha["reason"] == "No unit has two ratings."


def test_the_order_of_rows_and_columns_changes_no_digit():
    rows = [*separability_rows(CONFIGURATIONS[0]), *machine_like(separability_rows)]
    shuffled = [dict(reversed(row.items())) for row in rows]
    random.Random(3).shuffle(shuffled)
    assert report_of(shuffled) == report_of(rows)


def machine_like(rows_by):
    """A machine's two passes over the same units, with answers that it cannot have copied."""
    units = {row["unit"]: row for row in rows_by(CONFIGURATIONS[0])}
    return [
        {**row, "rater": "judge", "kind": "machine", "run": run, "label": (k + int(run)) % 3 - 1}
        for run in ("0", "1")
        for k, row in enumerate(units.values())
    ]


def test_another_seed_moves_intervals_and_no_value():
    rows = separability_rows(CONFIGURATIONS[0])
    one, other = criterion_of(rows, seed=1), criterion_of(rows, seed=2)
    first, second = (c["strata"][0]["human_human"]["krippendorff_alpha"] for c in (one, other))
    assert first["value"] == second["value"]
    assert first["low"] != second["low"]


@pytest.mark.parametrize("flag", ["surplus", "superseded", "partial", "late", "excluded"])
def test_a_flagged_row_is_there_and_does_not_count(flag):
    rows = rows_of(LABELS)
    flagged = report_of([*rows, rows[0] | {"rater": "other", "label": 1, flag: True}])
    plain = report_of(rows)
    assert flagged["source"]["n_rows"] == plain["source"]["n_rows"] + 1
    assert flagged["criteria"] == plain["criteria"]
    assert flagged["source"]["rows_sha256"] == plain["source"]["rows_sha256"]


@pytest.mark.parametrize("columns", [{"role": "gold"}, {"role": "training"}, {"repeat": 1}])
def test_other_roles_and_repeats_do_not_count(columns):
    rows = rows_of(LABELS)
    other = [row | columns | {"unit": row["unit"] + "x"} for row in rows]
    assert report_of(rows + other)["criteria"] == report_of(rows)["criteria"]


def test_a_second_rating_is_an_error_that_names_both_lines():
    rows = rows_of(LABELS)
    with pytest.raises(FormatError, match=r"line 19: .*in line 2 already"):
        report_of([*rows, rows[1] | {"label": 0}])


def test_a_label_off_the_scale_is_an_error_with_its_line():
    with pytest.raises(FormatError, match=r"ratings\.jsonl, line 4: The label 0 is not on"):
        report_of(rows_of(LABELS), scales={"preference": "preference"})


def test_an_unparsed_answer_disagrees_where_chance_is_not_corrected_for():
    found = criterion_of(rows_of(LABELS) + machine_rows(JUDGE))
    against = found["strata"][0]["machines"]["judge"]["human_machine"]
    # Five of six agree with a mode (one of three ways at 1/3); the sixth could not be read.
    assert against["percentage_agreement"]["value"] == pytest.approx((4 + 1 / 3) / 6)
    assert (against["percentage_agreement"]["n"], against["krippendorff_alpha"]["n"]) == (6, 5)


@pytest.mark.parametrize(
    ("unparsed", "share", "n"), [("missing", (4 + 1 / 3) / 5, 5), ("-1", (5 + 1 / 3) / 6, 6)]
)
def test_an_unparsed_answer_may_be_taken_for_something(unparsed, share, n):
    rows = rows_of(LABELS) + machine_rows(JUDGE)
    found = criterion_of(rows, unparsed=unparsed)
    agreed = found["strata"][0]["machines"]["judge"]["human_machine"]["percentage_agreement"]
    assert (agreed["value"], agreed["n"]) == (pytest.approx(share), n)
    assert found["n_unparsed"] == 1
    assert report_of(rows, unparsed=unparsed)["unparsed"] == unparsed


def test_an_unparsed_answer_as_a_tie_is_a_tie():
    rows = rows_of(LABELS) + machine_rows(JUDGE)
    as_tie = criterion_of(rows, unparsed="tie")
    written = criterion_of(rows_of(LABELS) + machine_rows([*JUDGE[:4], 0, JUDGE[5]]))
    assert as_tie["strata"] == written["strata"]


def test_unparsed_answers_cannot_become_what_the_scale_lacks():
    rows = rows_of(LABELS) + machine_rows(JUDGE)
    with pytest.raises(ValueError, match="cannot become 'blue'"):
        report_of(rows, unparsed="blue")


def test_instances_are_resampled_where_units_share_them():
    rows = separability_rows(CONFIGURATIONS[0])
    apart = [{k: v for k, v in row.items() if k != "instance"} for row in rows]
    shared, alone = (criterion_of(each, replicates=4000) for each in (rows, apart))
    assert (shared["resampling"], alone["resampling"]) == ("instance", "unit")
    widths = [
        rate["high"] - rate["low"]
        for rate in (each["systems"]["win_rate"]["first"] for each in (shared, alone))
    ]
    assert widths[0] / widths[1] > 1.3


def test_one_unit_an_instance_is_resampled_by_units():
    rows = [row | {"instance": row["unit"]} for row in rows_of(LABELS)]
    assert criterion_of(rows)["resampling"] == "unit"


def test_rating_sets_need_all_units_of_their_instance_and_pair():
    rows = [
        {"unit": f"{pair}{k}", "rater": rater, "label": label, "instance": "x"}
        | {"system_a": pair[0], "system_b": pair[1]}
        for pair in ("ab", "ac")
        for rater, labels in (("r", (1, 1)), ("s", (1, -1)), ("t", (0, 0)), ("v", (1, None)))
        for k, label in enumerate(labels)
        if label is not None
    ]
    sets = criterion_of(rows)["rating_sets"]
    assert (sets["n"], sets["n_incomplete"]) == (6, 2)
    assert sets["consistency"]["value"] == pytest.approx(1 / 3)
    assert sets["contradictory"]["value"] == sets["all_ties"]["value"] == pytest.approx(1 / 3)
    assert sets["zero"]["value"] == pytest.approx(2 / 3)
    assert sets["consistency"]["reason"] == "No interval: there is one instance only."


def test_rating_sets_without_instances_say_so():
    sets = criterion_of(rows_of(LABELS))["rating_sets"]
    assert sets["n"] == 0
    assert sets["consistency"]["reason"] == "No unit names its instance: rating sets need it."


def test_by_separability_has_the_edges_of_the_strata():
    found = criterion_of(separability_rows(CONFIGURATIONS[0]))
    ranges = found["rating_sets"]["by_separability"]
    assert [r["low"] for r in ranges] + [ranges[-1]["high"]] == found["separability"]["edges"]
    assert sum(r["n"] for r in ranges) == 150
    assert found["separability"]["values"] == "normalised"


def test_systems_that_no_row_names_are_a_and_b():
    rates = criterion_of(rows_of([(-1, -1), (-1, 0)]))["systems"]["win_rate"]
    assert rates["A"]["value"] == pytest.approx(7 / 8)
    assert rates["B"]["value"] == pytest.approx(1 / 8)


def test_consistency_is_correlated_with_separability_over_instances():
    from scipy.stats import spearmanr

    rows = [
        {"unit": f"{x}-{k}", "rater": "r", "label": label, "instance": str(x), "separability": d}
        for x, (d, labels) in enumerate(
            [(0.1, (1, -1)), (0.2, (1, 0)), (0.2, (0, 0)), (0.5, (1, 1)), (0.4, (0, 1))]
        )
        for k, label in enumerate(labels)
    ]
    found = criterion_of(rows)["rating_sets"]["separability_correlation"]
    expected = spearmanr([0.1, 0.2, 0.2, 0.5, 0.4], [0, 0.5, 0, 1, 0.5]).statistic
    assert found["value"] == pytest.approx(expected)
    assert found["low"] < found["value"] < found["high"] <= 1
    assert found["n"] == 5


def test_position_bias_from_the_sides():
    rows = [
        {"unit": f"u{k}", "rater": "r", "label": label, "side_a": side}
        for k, (label, side) in enumerate(
            [(-1, "left"), (1, "right"), (-1, "left"), (-1, "right"), (0, "left")]
        )
    ]
    position = criterion_of(rows)["bias"]["position"]
    # Three of four preferences are for the text shown first.
    assert (position["value"], position["n"]) == (0.25, 4)
    assert position["low"] < 0 < position["high"]


def test_biases_that_nothing_is_known_of_say_so():
    bias = criterion_of(rows_of(LABELS))["bias"]
    assert bias["position"]["reason"] == "No rating prefers a text whose position is known."
    assert bias["length"]["reason"].startswith("No rating prefers one of two texts")


def test_length_bias_from_texts():
    rows = [
        {"unit": f"u{k}", "rater": "r", "label": label, "text_a": "long text", "text_b": "short"}
        for k, label in enumerate([-1, -1, -1, 1])
    ]
    assert criterion_of(rows)["bias"]["length"]["value"] == 0.5


def test_a_rater_is_told_by_the_others_and_by_their_own_repeats():
    rows = rows_of([(1, 1, 1), (1, 1, -1), (-1, -1, -1)])
    again = [
        {"unit": "u0", "rater": "r0", "label": 1, "role": "repeat", "repeat": 1},
        {"unit": "u1", "rater": "r0", "label": -1, "role": "repeat", "repeat": 1},
    ]
    raters = criterion_of(rows + again)["raters"]
    assert raters["r2"]["agreement_with_others"]["value"] == pytest.approx(2 / 3)
    assert raters["r0"]["self_consistency"]["value"] == 0.5
    assert raters["r1"]["self_consistency"]["reason"] == "No planned repeat was answered."
    assert raters["r0"]["votes"] == {"-1": 1, "0": 0, "1": 2}


def test_perception_gives_what_is_said_where_humans_say_one_thing():
    rows = rows_of([(1, 1, 0), (1, 1, 1), (-1, -1, -1)]) + machine_rows([0, 1, -1])
    bins = {each["label"]: each for each in criterion_of(rows)["perception"]}
    assert bins["1"]["share"] == pytest.approx(2 / 3)
    assert bins["1"]["humans"] == {"-1": 0, "0": pytest.approx(1 / 6), "1": pytest.approx(5 / 6)}
    assert bins["1"]["machines"]["judge"] == {"-1": 0, "0": 0.5, "1": 0.5}
    assert (bins["0"]["n_units"], bins["0"]["humans"]) == (0, None)


def test_a_declared_criterion_without_ratings_is_there():
    found = criterion_of([], name="fluency", scales={"fluency": "ordinal:1..5"})
    assert (found["n_units"], found["labels"]) == (0, [1, 2, 3, 4, 5])
    alpha = found["strata"][0]["human_human"]["krippendorff_alpha"]
    assert alpha["reason"] == "No unit has two ratings."
    assert "systems" not in found


def test_nothing_rated_under_preferences_is_undefined_and_said():
    found = criterion_of([], scales={"preference": "preference:tie"})
    assert found["rating_sets"]["n"] == 0
    assert found["systems"]["win_rate"] == {}
    assert found["votes"] == {"-1": 0, "0": 0, "1": 0}


def test_both_bad_is_outside_what_has_an_order():
    rows = rows_of([(2, 2, "bad"), (-1, -2, -1), (1, 1, 1)])
    found = criterion_of(rows, scales={"preference": "preference:5+bad"})
    assert found["labels"][-1] == "bad"
    assert found["votes"]["bad"] == 1
    bare = criterion_of(rows[:2] + rows[3:], scales={"preference": "preference:5"})
    alphas = [c["strata"][0]["human_human"]["krippendorff_alpha"] for c in (found, bare)]
    assert alphas[0]["value"] == alphas[1]["value"]


def test_a_scale_without_fixed_labels_has_no_randolph():
    rows = rows_of([(1.5, 2.0), (3.25, 3.0), (0.5, 1.0)])
    agreement = criterion_of(
        [row | {"criterion": "length"} for row in rows], "length", scales={"length": "ratio"}
    )["strata"][0]["human_human"]
    assert agreement["randolph_kappa"]["reason"] == "The scale has no fixed number of labels."
    assert agreement["krippendorff_alpha"]["value"] is not None


def test_the_digest_is_of_what_was_counted_and_not_of_how_it_was_written():
    rows = rows_of(LABELS)
    told = [row | {"label": str(row["label"]), "kind": "human", "duration_ms": 5} for row in rows]
    digests = {report_of(each)["source"]["rows_sha256"] for each in (rows, told, told[::-1])}
    assert len(digests) == 1
    changed = [rows[0] | {"label": 1}, *rows[1:]]
    assert report_of(changed)["source"]["rows_sha256"] not in digests


def test_simulated_rows_are_counted_as_such():
    rows = rows_of(LABELS)
    report = report_of([rows[0] | {"simulated": True}, *rows[1:]])
    assert report["source"]["n_simulated"] == 1
    assert report["criteria"]["preference"]["raters"]["r0"]["simulated"] is True


def test_the_report_needs_no_settings():
    import subprocess
    import sys

    from tests.shared_data import ROOT

    code = "import sys, metrics.report; assert 'django' not in sys.modules"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
