"""The contents of reports on small sets of ratings made by hand."""

import json
import random

import pytest

from tests.metrics.studies import validator
from tests.refusals import refused_file
from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.report.left_out import PREFIX
from tiebreak.report.sections.systems.systems import NO_SEPARABILITY
from tiebreak.stats.rankings.win_rates import NO_RATING
from tiebreak.stats.raters.additive import ONE_LABEL


def rows(units=6, raters=3, machine=True) -> list[dict]:
    rng = random.Random(1)
    made = [
        {
            "unit": f"u{u}",
            "rater": f"r{r}",
            "label": rng.choice([-1, 0, 1, 1]),
            "instance": f"i{u // 2}",
            "system_a": "old",
            "system_b": "new",
            "category": f"c{u % 2}",
            "separability_raw": (u // 2) / 10,
            "side_a": "left" if (u + r) % 2 else "right",
        }
        for u in range(units)
        for r in range(raters)
    ]
    if machine:
        made += [
            {
                "unit": f"u{u}",
                "rater": "judge",
                "kind": "machine",
                "label": 1,
                "instance": f"i{u // 2}",
                "system_a": "old",
                "system_b": "new",
            }
            for u in range(units - 1)
        ]
        made.append(
            {
                "unit": f"u{units - 1}",
                "rater": "judge",
                "kind": "machine",
                "label": None,
                "raw": "I cannot say",
                "instance": f"i{(units - 1) // 2}",
                "system_a": "old",
                "system_b": "new",
            }
        )
    return made


def report(made: list[dict], **options) -> dict:
    built = build_report(RatingTable.from_rows(made), replicates=50, **options).as_json()
    validator().validate(built)
    json.dumps(built, allow_nan=False)
    return built


def test_it_works():
    built = report(rows())
    section = built["criteria"]["preference"]
    assert section["scale"] == "preference:tie"
    assert section["scale_inferred"]
    assert section["n_units"] == 6
    assert section["n_ratings"] == 18
    assert section["n_unparsed"] == 1
    assert section["resampling"] == "instance"
    assert sum(section["votes"].values()) == 18
    assert set(section["systems"]["win_rate"]) == {"old", "new"}
    assert {name for name, rater in section["raters"].items() if rater["kind"] == "machine"} == {
        "judge"
    }


def test_the_order_of_the_rows_changes_no_digit():
    made = rows()
    first = report(made)
    random.Random(2).shuffle(made)
    second = report(made)
    assert first["criteria"] == second["criteria"]
    assert first["source"]["rows_sha256"] == second["source"]["rows_sha256"]


def test_the_seed_changes_intervals_and_no_value():
    made = rows(units=24)
    a, b = (report(made, seed=seed)["criteria"]["preference"] for seed in (0, 1))
    of_a, of_b = (section["strata"][0]["human_human"]["fleiss_kappa"] for section in (a, b))
    assert of_a["value"] == of_b["value"]
    (inner_a,), (inner_b,) = of_a["narrower"], of_b["narrower"]
    assert inner_a["low"] != inner_b["low"]


def test_shares_of_every_stratifier_add_to_one_and_empty_strata_are_there():
    strata = report(rows())["criteria"]["preference"]["strata"]
    shares: dict[str, float] = {}
    for stratum in strata:
        shares[stratum["stratifier"]] = shares.get(stratum["stratifier"], 0) + stratum["share"]
    assert set(shares) >= {
        "all",
        "agreement",
        "unique_labels",
        "category",
        "separability",
        "systems",
    }
    assert all(share == pytest.approx(1) for share in shares.values())
    empty = next(stratum for stratum in strata if stratum["stratum"] == "0.8<=PA<1")
    assert empty["n_units"] == 0
    assert empty["human_human"]["krippendorff_alpha"]["reason"]


def test_what_is_undefined_is_null_with_a_reason():
    same = [{"unit": f"u{u}", "rater": f"r{r}", "label": 1} for u in range(4) for r in range(3)]
    alpha = report(same)["criteria"]["preference"]["strata"][0]["human_human"]["krippendorff_alpha"]
    assert alpha["value"] is None
    assert alpha["reason"] == ONE_LABEL


def test_an_unparsed_answer_disagrees_or_stands_for_what_is_said():
    made = rows()
    machine = "judge"

    def agreement(built):
        everything = built["criteria"]["preference"]["strata"][0]["machines"][machine]
        return everything["human_machine"]["percentage_agreement"]

    assert agreement(report(made))["n"] == 6
    as_tie = report(made, unparsed="tie")["criteria"]["preference"]
    assert as_tie["n_unparsed"] == 0
    assert as_tie["n_machine_ratings"] == 6


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flag", ["surplus", "superseded", "partial", "late", "excluded"])
def test_a_flag_takes_a_rating_out(flag):
    made = rows(machine=False)
    flagged = {**made[0], "rater": "r9", flag: True}
    assert report([*made, flagged])["criteria"] == report(made)["criteria"]


@pytest.mark.parametrize("change", [{"role": "gold"}, {"repeat": 1}])
def test_gold_and_repeats_stay_out(change):
    made = rows(machine=False)
    with_it, without = (
        report(rows)["criteria"]["preference"] for rows in ([*made, {**made[0], **change}], made)
    )
    for section in (with_it, without):
        del section["self_consistency"]  # the only part that reads repeats
    assert with_it == without


def test_simulated_ratings_count_and_are_named():
    made = [{**row, "simulated": True} for row in rows(machine=False)]
    built = report(made)
    assert built["simulated"]
    assert built["source"]["n_used"] == 18


def test_a_label_off_its_scale_is_named_by_line():
    made = rows(machine=False)
    made[3]["label"] = 5
    with refused_file(("ratings", 4, "label_not_on_scale")):
        report(made, scales={"preference": "preference:tie"})


def test_an_incomplete_set_is_counted_and_left_out():
    made = rows(machine=False)[:-1]
    sets = report(made)["criteria"]["preference"]["rating_sets"]
    assert sets["n_incomplete"] == 1
    assert sets["n"] == 8


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("scale", "labels"),
    [
        ("preference", [-1, 1]),
        ("preference:5", [-2, 0, 1]),
        ("preference:tie+bad", [-1, "bad", 1]),
        ("preference:7+bad", [-3, "bad", 2]),
        ("ordinal:1..5", [1, 3, 5]),
        ("interval:1..5", [1, 2, 5]),
        ("ratio", [0.5, 2, 7.25]),
        ("nominal:good,bad", ["good", "bad", "good"]),
    ],
)
def test_every_scale_gives_a_valid_report(scale, labels):
    made = [
        {
            "unit": f"u{u}",
            "rater": f"r{r}",
            "label": labels[(u * r + r) % len(labels)],
            "criterion": "c",
            "system_a": "a",
            "system_b": "b",
            "instance": f"i{u}",
        }
        for u in range(5)
        for r in range(3)
    ]
    section = report(made, scales={"c": scale})["criteria"]["c"]
    assert section["scale"] == scale
    assert not section["scale_inferred"]
    assert section["strata"][0]["human_human"]["percentage_agreement"]["value"] is not None
    assert ("rating_sets" in section) == scale.startswith("preference")


def test_nothing_at_all_is_a_report_too():
    assert report([])["criteria"] == {}


def test_both_bad_is_a_vote_and_no_order():
    made = [
        {"unit": f"u{u}", "rater": f"r{r}", "label": label}
        for u, labels in enumerate([(1, "bad", 2), (-1, -1, "bad")])
        for r, label in enumerate(labels)
    ]
    section = report(made, scales={"preference": "preference:5+bad"})["criteria"]["preference"]
    assert section["votes"]["bad"] == 2
    assert section["n_ratings"] == 6
    assert section["raters"]["r1"]["n_unparsed"] == 0


def test_a_scale_is_inferred_from_flagged_rows_too():
    made = [
        {"unit": f"u{u}", "rater": f"r{r}", "label": 2 + (u + r) % 2, "criterion": "fluency"}
        for u in range(3)
        for r in range(2)
    ]
    made.append({**made[0], "rater": "late", "label": 5, "late": True})
    assert report(made)["criteria"]["fluency"]["scale"] == "ordinal:2..5"


def section_of(made: list[dict], **options) -> dict:
    return report(made, **options)["criteria"]["preference"]


def compared(pairs: str, labels: list[int], **more) -> list[dict]:
    """Return ratings of pairs such as "ab" by two raters, who give the same label."""
    return [
        {
            "unit": f"u{k}-{a}{b}",
            "rater": rater,
            "label": label,
            "instance": f"i{k}-{a}{b}",
            "system_a": a,
            "system_b": b,
            **more,
        }
        for a, b in pairs.split()
        for k, label in enumerate(labels)
        for rater in ("r1", "r2")
    ]


def test_every_ranking_puts_the_winner_first():
    made = compared("ab bc ac", [-1, -1, -1, 1, 0], separability=0.5)
    systems = section_of(made, sections=["elo"])["systems"]
    for name in ("win_rate", "bradley_terry", "elo", "sep_elo"):
        values = {system: estimate["value"] for system, estimate in systems[name].items()}
        assert values["a"] > values["b"] > values["c"], name
    places = {name: estimate["value"] for name, estimate in systems["bradley_terry_rank"].items()}
    assert places == {"a": 1, "b": 2, "c": 3}
    assert systems["prediction_powered"] == {}


def test_systems_that_never_meet_share_no_scale():
    systems = section_of(compared("ab cd", [-1, 1, 0]), sections=["elo"])["systems"]
    for name in ("bradley_terry", "elo"):
        assert systems[name]["a"]["value"] is None
        assert "a, b; c, d" in systems[name]["a"]["reason"]
    assert systems["win_rate"]["a"]["value"] == 0.5


def test_separable_elo_asks_for_separability():
    systems = section_of(compared("ab", [-1, 1, 0]), sections=["elo"])["systems"]
    assert systems["sep_elo"]["a"]["reason"] == NO_SEPARABILITY


def test_a_machine_on_other_units_powers_the_win_rate():
    made = compared("ab", [-1, -1, 1, 0])
    made += [{**row, "rater": "judge", "kind": "machine"} for row in made if row["rater"] == "r1"]
    assert section_of(made)["systems"]["prediction_powered"] == {}
    made += [
        {**made[-1], "unit": f"more{k}", "instance": f"more{k}", "label": -1} for k in range(8)
    ]
    asked = section_of(made, sections=["prediction_powered"])["systems"]
    powered = asked["prediction_powered"]["judge"]
    assert powered["a"]["value"] > 0.625
    assert powered["a"]["value"] + powered["b"]["value"] == pytest.approx(1)


def test_systems_that_only_a_machine_compared_have_no_rank():
    made = [{**row, "kind": "machine"} for row in compared("ab", [-1, 1])]
    systems = section_of(made, sections=["elo"])["systems"]
    assert systems["elo"]["a"]["value"] is None
    assert systems["bradley_terry"]["a"]["reason"] == NO_RATING


def test_each_machine_has_its_own_bias():
    """The annotator chose the first text in three of four, and the judge always."""
    made = compared("ab", [-1, 1, -1, -1, 0])
    for row, left in zip(
        made, [True, True, False, False, True, True, False, False, True, True], strict=True
    ):
        row["side_a"] = "left" if left else "right"
        if row["rater"] == "r2":
            row |= {"rater": "judge", "kind": "machine", "label": -1 if left else 1}
    bias = section_of(made)["bias"]
    assert bias["position"]["value"] == pytest.approx(3 / 4 - 0.5)
    assert bias["machines"]["judge"]["position"]["value"] == 0.5


def test_where_a_system_is_always_shown_first_a_position_bias_is_not_told_from_its_wins():
    made = compared("ab", [-1, -1, 1, 0], side_a="left")
    assert section_of(made)["bias"]["position"]["value"] is None


def test_every_run_of_a_machine_is_a_rating_set():
    made = [
        {"unit": f"u{u}", "rater": "judge", "kind": "machine", "run": run, "label": label}
        | {"instance": "i", "system_a": "a", "system_b": "b", "separability_raw": 0.1}
        for run, labels in enumerate([(1, 1), (1, -1), (0, 0)])
        for u, label in enumerate(labels)
    ]
    sets = section_of(made)["rating_sets"]
    assert sets["n"] == 0
    machine = sets["machines"]["judge"]
    assert machine["n"] == 3
    assert machine["consistency"]["value"] == pytest.approx(1 / 3)
    assert [row["zero"]["value"] for row in machine["by_separability"] if row["n"]] == [
        pytest.approx(2 / 3)
    ]


def test_what_is_said_of_a_machine_includes_chance_and_classification():
    machine = section_of(rows())["strata"][0]["machines"]["judge"]
    assert machine["random_baseline"]["percentage_agreement"]["value"] == pytest.approx(1 / 3)
    accuracy = machine["classification"]["accuracy"]
    assert accuracy["n"] == 6
    assert accuracy["value"] == machine["human_machine"]["percentage_agreement"]["value"]


def test_what_a_report_does_not_use_is_among_its_problems():
    row = {"unit": "u", "label": 1, "study_version": 3, "colour": "red"}
    made = [
        row | {"rater": rater, "label": label} for rater, label in zip("rst", "12-", strict=True)
    ]
    report = build_report(RatingTable.from_rows(made), replicates=0)
    left_out = {key: text for key, text in report.problems.items() if key.startswith(PREFIX)}
    assert len(left_out) == 3
    for word in ("colour", "study_version", "“-” (1)"):
        assert sum(word in text for text in left_out.values()) == 1
    assert (report.source.n_rows, report.source.n_used) == (3, 2)


def test_zero_and_one_are_a_preference_only_between_two_systems():
    rows = [{"unit": "u", "rater": r, "label": k} for k, r in enumerate("st")]
    pairs = [row | {"system_a": "x", "system_b": "y"} for row in rows]
    scales = [
        build_report(RatingTable.from_rows(some), replicates=0).criteria["preference"].scale
        for some in (rows, pairs)
    ]
    assert scales == ["nominal:0,1", "preference:tie"]
