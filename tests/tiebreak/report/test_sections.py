"""Sections on robustness, order, fatigue, pairs of annotators and paired tests."""

import json
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest

from tests.metrics.studies import drawn_study, preferences, report_of
from tests.refusals import refused
from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.reading.figures.systems.systems import win_rates_figure
from tiebreak.report import build_report
from tiebreak.report.build import build_section
from tiebreak.report.criterion import read_criteria
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import SECTIONS, on_request
from tiebreak.report.sections.machines.discernment import NO_ORDER
from tiebreak.report.sections.raters.fatigue import agreement_with_others, item_numbers
from tiebreak.report.sections.systems.controlled import UNKNOWN
from tiebreak.report.serialization import to_json
from tiebreak.stats import controlled_win_rates

# What preferences do not have.
OF_SCORES = {"discernment"}
ADDED = {name: section.fills for name, section in on_request().items() if section.fills}
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))


def of(rows: list[dict], **options) -> CriterionSection:
    (section,) = report_of(rows, **{"replicates": 100, **options}).criteria.values()
    return section


def three_systems(rng: np.random.Generator, rates=(0.3, 0.3, 0.7), instances=40) -> list[dict]:
    """Return ratings in which the second system of a pair loses with the given probabilities."""
    return [
        {
            "unit": f"i{instance}{a}{b}",
            "instance": f"i{instance}",
            "system_a": a,
            "system_b": b,
            "rater": f"r{rater}",
            "label": 1 if rng.random() < rate else -1,
            "side_a": ("left", "right")[(instance + rater) % 2],
            "chars_a": 50 + 37 * (instance + number) % 90,
            "chars_b": 50 + 53 * (instance + number) % 70,
            "hit_position": instance + 1,
            "position": number,
            "duration_ms": round(1e6 * 0.99 ** (3 * instance + number)),
            "separability_raw": instance / 100,
        }
        for instance, rater in product(range(instances), range(4))
        for number, ((a, b), rate) in enumerate(zip(PAIRS, rates, strict=True))
    ]


def with_judge(rows: list[dict]) -> list[dict]:
    """Add the ratings of a machine rater with probabilities, and one that does not count."""
    units = {row["unit"]: row for row in rows}.values()
    machine = {"rater": "judge", "kind": "machine", "label": -1}
    left_out = rows[0] | {"rater": "x", "excluded": True}
    return [*rows, left_out] + [
        row | machine | {"probabilities": {"-1": 0.6, "1": 0.4}} for row in units
    ]


@pytest.fixture(scope="module")
def section() -> CriterionSection:
    return of(with_judge(three_systems(np.random.default_rng(0))), sections=on_request())


def test_sections_that_take_long_are_there_only_if_they_are_asked_for(section):
    plain = of(with_judge(three_systems(np.random.default_rng(0))))
    for name in on_request():
        assert SECTIONS[name].of(plain) is None
        # The judge rated nothing besides.
        is_missing = name in OF_SCORES | {"prediction_powered"}
        assert (SECTIONS[name].of(section) is None) == is_missing
    assert section.problems == dict.fromkeys(OF_SCORES, NO_ORDER)
    for name in ("transitivity", "fatigue"):
        assert getattr(plain, name) == getattr(section, name) is not None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted({*on_request()} - OF_SCORES))
def test_a_section_alone_is_that_of_the_report(section, name):
    table = RatingTable.from_rows(with_judge(three_systems(np.random.default_rng(0))))
    alone = build_section(table, name, replicates=100)
    # As JSON, because values that are undefined are equal there.
    parts = alone.criteria["preference"], getattr(section, SECTIONS[name].field)
    fills = SECTIONS[name].fills
    assert (
        len(
            {
                repr(to_json({f: getattr(part, f) for f in fills} if fills else part))
                for part in parts
            }
        )
        == 1
    )
    assert not alone.problems


def test_a_section_that_does_not_exist_is_refused():
    table = RatingTable.from_rows(preferences([[1, -1]]))
    for build in (
        lambda: build_report(table, sections=["systems"]),
        lambda: build_section(table, "systems"),
    ):
        with refused("unknown_section"):
            build()


def test_a_cycle_is_one_triad_and_no_order(section):
    order = section.transitivity
    assert (order.triads.cyclic, order.triads.decided) == (1, 1)
    assert order.fit.p.value < 0.001


def test_an_order_fits():
    order = of(three_systems(np.random.default_rng(1), rates=(0.4, 0.4, 0.31))).transitivity
    assert order.triads.cyclic == 0
    assert order.fit.p.value > 0.05


def test_robustness_counts_every_human_rating(section):
    robust = section.robustness
    assert robust.top.ratings == 40 * 3 * 4
    for name, order in robust.pairs.items():
        counts = section.systems.counts[name]
        assert order.removals == abs(counts.first - counts.second) + 1
    for name, rate in section.systems.pairs.items():
        is_shown = not rate.low <= 0.5 <= rate.high
        assert (name in robust.findings) == is_shown
        if is_shown:
            assert 0 < robust.findings[name].removals <= robust.pairs[name].removals


def test_after_a_draw_robustness_removes_from_the_weighted_ranking():
    rows = drawn_study("top", seed=0, n=150, control_share=0.3)
    section = of(rows, sections=["robustness"])
    (order,), rates = section.robustness.pairs.values(), section.systems.win_rate
    assert order.first == section.robustness.top.first == max(rates, key=lambda s: rates[s].value)
    weights = {row["unit"]: 1 / row["inclusion_probability"] for row in rows}
    signed = [(weights[row["unit"]], np.sign(row["label"])) for row in rows]
    lead = sum(weight * sign for weight, sign in signed)
    towards = sorted((w for w, sign in signed if sign == np.sign(lead)), reverse=True)
    fewest = int((np.cumsum(towards) <= abs(lead)).sum()) + 1
    assert order.removals == fewest
    # Of two systems, the order is who is first.
    assert section.robustness.top_by_win_rate.removals == fewest
    assert fewest != abs(sum(sign for _, sign in signed)) + 1


@pytest.mark.thorough
def test_controlled_rates_hold_length_and_position_of_the_file_equal(section):
    """What the section passes on is put together here from the rows."""
    rows = three_systems(np.random.default_rng(0))
    a, b = (np.array([row[f"chars_{side}"] for row in rows], float) for side in "ab")
    fit = controlled_win_rates(
        [row["label"] < 0 for row in rows],
        system_a=[row["system_a"] for row in rows],
        system_b=[row["system_b"] for row in rows],
        covariates={
            "length": (a - b) / (a + b),
            "position": [1 if row["side_a"] == "left" else -1 for row in rows],
        },
        clusters=[row["instance"] for row in rows],
        raters=[row["rater"] for row in rows],
    )
    controlled = section.controlled_win_rate
    for name, rate in fit.controlled.items():
        assert controlled.controlled[name].value == pytest.approx(rate.value, abs=1e-9)
        assert controlled.controlled[name].low == pytest.approx(rate.low, abs=1e-9)
        assert controlled.win_rate[name].value == pytest.approx(
            section.systems.win_rate[name].value
        )
    assert controlled.effects["length"].value == pytest.approx(
        fit.effects["length"].value, abs=1e-9
    )
    assert controlled.effects["position"].scope.raters == "new"
    missing = UNKNOWN.format(name="Markdown", missing=480, ratings=480)
    assert controlled.effects["Markdown"].reason == missing


def test_markdown_is_counted_in_texts_and_turned_with_the_systems():
    rows = three_systems(np.random.default_rng(2))
    for k, row in enumerate(rows):
        row |= {"text_a": "# x\n- y\n- **z**" if k % 3 else "x", "text_b": "1. x" if k % 2 else "y"}
        del row["chars_a"], row["chars_b"]
    fit = of(rows, sections=["controlled_win_rate"]).controlled_win_rate
    turned = [
        {
            **row,
            "label": -row["label"],
            "side_a": "right" if row["side_a"] == "left" else "left",
            **{f"{column}_a": row[f"{column}_b"] for column in ("system", "text")},
            **{f"{column}_b": row[f"{column}_a"] for column in ("system", "text")},
        }
        for row in rows
    ]
    again = of(turned, sections=["controlled_win_rate"]).controlled_win_rate
    for name in ("Markdown", "position"):
        assert fit.effects[name].value == pytest.approx(again.effects[name].value, abs=1e-9)
        assert fit.effects[name].has_interval


def test_effects_have_the_sign_of_what_wins():
    """Longer texts, those with more Markdown, or those shown first win in three of four ratings."""
    rng = np.random.default_rng(6)
    names = ("length", "Markdown", "position")
    for chosen in names:
        rows = three_systems(np.random.default_rng(7))
        for row in rows:
            more = {name: rng.random() < 0.5 for name in names}
            row["chars_a"], row["chars_b"] = (200, 100) if more["length"] else (100, 200)
            row["side_a"] = "left" if more["position"] else "right"
            texts = ("**x** **y**", "x") if more["Markdown"] else ("x", "**x** **y**")
            row["text_a"], row["text_b"] = texts
            row["label"] = -1 if (rng.random() < 0.75) == more[chosen] else 1
        table = RatingTable.from_rows(rows)
        made = build_section(table, "controlled_win_rate", replicates=0)
        effects = made.criteria["preference"].effects
        assert effects[chosen].low > 0, chosen
        for other in set(names) - {chosen}:
            assert effects[other].low < effects[chosen].low, other


def test_without_lengths_sides_and_texts_nothing_is_held_equal():
    rows = preferences([[1, -1, 1]] * 12)
    for row in rows:
        row.pop("side_a", None)
    problems = of(rows, sections=["controlled_win_rate"]).problems
    assert "length" in problems["controlled_win_rate"]


def test_after_a_draw_controlled_rates_and_ties_are_weighted():
    rows = drawn_study("proportional", seed=0)
    for k, row in enumerate(rows):
        row["side_a"] = "left" if k % 2 else "right"
    section = of(rows, sections=["controlled_win_rate", "davidson"])
    rate = section.controlled_win_rate.win_rate["first"]
    plain = section.systems.win_rate["first"]
    assert rate.value == pytest.approx(plain.value)
    assert rate.scope == plain.scope
    assert section.davidson.systems["first"].scope.instances == plain.scope.instances


def test_equal_systems_tie_as_often_as_the_model_says():
    rows = preferences([[1, -1, 0, 0]] * 10 + [[1, -1, 1, -1]] * 10)
    section = of(rows, sections=["davidson"])
    assert section.davidson.tie.value == pytest.approx(0.25, abs=1e-6)
    assert section.davidson.tie.low < 0.25 < section.davidson.tie.high
    values = [one.value for one in section.davidson.systems.values()]
    assert values == pytest.approx([0, 0], abs=1e-9)


def test_win_or_tie_counts_ties_as_wins():
    systems = of(preferences([[1, 0, 0], [-1, 0, 1], [0, 0, 0]]), sections=["win_or_tie"]).systems
    assert systems.win_or_tie["a"].value == pytest.approx(7 / 9)
    assert systems.win_or_tie["b"].value == pytest.approx(8 / 9)


def test_win_rates_by_a_machine_are_of_all_its_ratings_and_of_nobody_elses():
    people = preferences([[1, 1], [1, 1], [1, 1]])
    judge = [
        {**row, "rater": "judge", "kind": "machine", "label": label, "order": order}
        for row, labels in zip(people[::2], [(-1, 1), (-1, -1), (0, -1)], strict=True)
        for order, label in zip(("ab", "ba"), labels, strict=True)
    ]
    systems = of([*people, *judge]).systems
    assert systems.win_rate["a"].value == 0
    assert systems.machine_win_rates["judge"]["a"].value == pytest.approx(4.5 / 6)
    assert systems.machine_win_rates["judge"]["b"].value == pytest.approx(1.5 / 6)
    assert systems.machine_win_rates["judge"]["a"].scope.raters == "these"
    assert of(people).systems.machine_win_rates == {}


def test_ranks_are_shared_where_intervals_overlap():
    rows = three_systems(np.random.default_rng(0), rates=(0.1, 0.5, 0.1))
    systems = of(rows, sections=["shared_ranks"]).systems
    assert systems.shared_ranks == {"a": 1, "b": 2, "c": 2}


def judged(instances):
    rows = preferences([[n % 3 - 1] * 2 for n in range(instances)])
    machine = [
        {**row, "rater": "judge", "kind": "machine", "label": -row["label"]} for row in rows[::2]
    ]
    unrated = [{**row, "unit": f"x{k}", "instance": f"x{k}"} for k, row in enumerate(machine)]
    return [*rows, *machine, *unrated]


@pytest.mark.parametrize("name", ADDED)
def test_other_rates_and_ranks_are_there_only_if_they_are_asked_for(name):
    plain, asked = (of(judged(40), known_order="ab", sections=s) for s in ([], [name]))
    absent = {field for fills in ADDED.values() for field in fills}
    assert absent == {
        f.name for f in fields(plain.systems) if getattr(plain.systems, f.name) is None
    }
    assert all(getattr(asked.systems, field) for field in ADDED[name])
    given = {field: getattr(asked.systems, field) for field in ADDED[name]}
    assert repr(replace(plain, systems=replace(plain.systems, **given))) == repr(asked)


@pytest.mark.parametrize(("instances", "is_there"), [(99, False), (100, True)])
def test_from_100_instances_on_each_machine_stands_beside_the_stack(instances, is_there):
    section = of(judged(instances), replicates=0)
    systems = section.systems
    assert systems.powered
    (series,) = {mark for _, mark in win_rates_figure(section).legend if "and" in mark}
    assert ("stacked" in series) != is_there
    for rates in (systems.prediction_powered, systems.prediction_powered_lambda_1):
        assert (rates is not None) == is_there


def test_lambda_of_1_stands_beside_the_tuned_one():
    systems = of(judged(40), sections=["prediction_powered"]).systems
    tuned = systems.prediction_powered["judge"]["a"]
    full = systems.prediction_powered_lambda_1["judge"]["a"]
    # The machine is always wrong, so that its full weight widens the interval.
    assert tuned.value == pytest.approx(full.value, abs=0.2)
    assert tuned.standard_error < full.standard_error


@pytest.mark.thorough
def test_answers_become_faster_by_so_much_for_ten_items(section):
    assert section.fatigue.n_ratings == 480
    # Positions 0, 1 and 2 in tasks 1, 2, 3, …: the n-th item takes 0.99ⁿ of the time.
    assert section.fatigue.duration.value == pytest.approx(0.99**10 - 1, abs=1e-4)
    assert section.fatigue.agreement.has_interval


def test_agreement_falls_where_later_answers_are_random():
    rng = np.random.default_rng(5)
    rows = []
    for rater in range(6):
        for number, item in enumerate(rng.permutation(60)):
            is_random = rng.random() < number / 60
            label = rng.choice([-1, 1]) if is_random else 1
            rows.append(
                {"unit": f"u{item}", "rater": f"r{rater}", "label": int(label), "position": number}
            )
    agreement = of(rows).fatigue.agreement
    assert agreement.high < 0
    assert agreement.scope.raters == "new"


def test_agreement_is_with_the_others_alone():
    rng = np.random.default_rng(6)
    rows = preferences(rng.integers(-1, 2, (20, 4)).tolist())
    raters = of(rows).raters
    (criterion,), _ = read_criteria(RatingTable.from_rows(rows), {}, None)
    credit = agreement_with_others(criterion)
    for name, rater in raters.items():
        mean = credit[criterion.rows["rater"] == name].mean()
        assert mean == pytest.approx(rater.leave_one_out.value)


def test_items_are_numbered_within_raters_over_their_tasks():
    shown = [("r", 2, 1), ("r", 1, 2), ("r", 1, 1), ("s", 3, 5), ("r", 2, 2)]
    rows = [
        {"unit": f"u{k}", "rater": r, "label": 1, "hit_position": task, "position": position}
        for k, (r, task, position) in enumerate(shown)
    ]
    (criterion,), _ = read_criteria(RatingTable.from_rows(rows), {}, None)
    assert item_numbers(criterion).tolist() == [3, 2, 1, 1, 4]


def test_without_positions_there_is_no_slope():
    fatigue = of(preferences([[1, -1]] * 12)).fatigue
    assert not fatigue.agreement.is_defined
    assert fatigue.n_ratings == 0


def test_the_pair_with_the_least_agreement_is_first():
    labels = [[1, 1, (-1) ** n] for n in range(24)]
    pairs = of(preferences(labels), sections=["pairwise_agreement"]).pairwise_agreement
    assert (pairs.pairs, pairs.few_shared) == (3, 0)
    assert [pair.agreement for pair in pairs.lowest] == [0.5, 0.5, 1]
    assert pairs.lowest[-1].raters == ("r0", "r1")
    few = of(preferences(labels[:5]), sections=["pairwise_agreement"]).pairwise_agreement
    assert (few.pairs, few.few_shared) == (0, 3)
    assert few.reason


def test_the_annotator_who_differs_lowers_alpha():
    labels = [[(-1) ** (n // 2), (-1) ** (n // 2), (-1) ** n] for n in range(24)]
    influence = of(preferences(labels), sections=["drop_one_influence"]).drop_one_influence
    assert influence["r2"].without.value == 1
    assert influence["r2"].change.low > 0 > influence["r0"].change.value


def test_paired_tests_are_of_instances():
    labels = [[1, 1, -1]] * 30 + [[-1, -1, 1]] * 10
    tests = of(preferences(labels), sections=["paired_tests"]).paired_tests["a vs b"]
    assert (tests.systems, tests.instances) == (("a", "b"), 40)
    assert tests.difference == pytest.approx(-1 / 6)
    assert tests.t_test.value < 0.01
    assert tests.curve[-1].instances == 40
    assert tests.curve[-1].median == pytest.approx(tests.t_test.value)
    few = of(preferences(labels[:5]), sections=["paired_tests"]).paired_tests["a vs b"]
    assert few.curve == ()
    assert few.reason


def test_means_correlate_with_a_machine_by_their_order():
    rows = [
        {"unit": f"u{n}", "rater": f"r{k}", "label": 1 + (n + k) % 5, "criterion": "c"}
        for n, k in product(range(20), range(2))
    ]
    machine = [{**row, "rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    correlations = of(
        [*rows, *machine], scales={"c": "ordinal:1..5"}, sections=["mean_correlations"]
    ).mean_correlations["judge"]
    # Means of annotators beside labels 1 to 5 have the ranks 1, 2, 4, 5 and 3.
    assert correlations.spearman.value == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("name", "reason"), [("robustness", "do not compare"), ("drop_one_influence", "three")]
)
def test_a_section_that_does_not_apply_has_a_reason(name, reason):
    rows = [{"unit": "u", "rater": r, "label": "x", "criterion": "c"} for r in ("r", "s")]
    section = of(rows, scales={"c": "nominal:x,y"}, sections=[name])
    assert getattr(section, name) is None
    assert reason in section.problems[name]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), set()),
        (("--section", "robustness"), {"robustness"}),
        (("--section", "robustness", "--section", "transitivity"), {"robustness"}),
        (("--section", "all"), {*on_request()} - OF_SCORES - {*ADDED}),
    ],
)
def test_the_command_asks_for_sections(tmp_path, options, names):
    source, out = tmp_path / "ratings.jsonl", tmp_path / "report.json"
    rows = with_judge(three_systems(np.random.default_rng(0), instances=12))
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["analyze", str(source), "--out", str(out), "--replicates", "20", *options]
    assert main(arguments) == 0
    written = json.loads(out.read_text())["criteria"]["preference"]
    assert {*on_request()} & {*written} == names


def test_the_command_refuses_an_unknown_section(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["analyze", "x.csv", "--out", str(tmp_path / "r.json"), "--section", "nothing"])
    assert "robustness" in capsys.readouterr().err
