"""Judges compared on the same items, ranks by baseline and half, and rankings from fewer comparisons."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.tiebreak.report.test_sections import of
from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.report.criterion import read_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.sections.machines import comparison_budget, differences as machine_differences
from tiebreak.report.sections.systems import rank_stability

SYSTEMS = ("a", "b", "c", "d")


def items(
    people: list[list[int]], machines: dict[str, list[int | None]], scale: str = "preference:tie"
):
    """Return ratings of units that are instances, by people and by machines."""
    rows = [
        {"unit": f"u{n}", "rater": f"r{i}", "label": label}
        for n, labels in enumerate(people)
        for i, label in enumerate(labels)
    ]
    rows += [
        {"unit": f"u{n}", "rater": name, "kind": "machine", "label": label}
        | ({"raw": "?"} if label is None else {})
        for name, labels in machines.items()
        for n, label in enumerate(labels)
        if label != "missing"
    ]
    return [row | {"system_a": "a", "system_b": "b", "instance": row["unit"]} for row in rows]


def differences(people, machines):
    return of(items(people, machines), sections=["machine_differences"]).machine_differences


def test_agreement_with_one_annotator_is_that_of_hand():
    people = [[1, 1], [1, -1], [-1, -1], [0, 1]] * 5
    section = differences(people, {"plain": [1, 1, 1, None] * 5, "guided": [1, -1, -1, 0] * 5})
    pair = section.pairs["guided vs plain"]
    assert (pair.first_machine, pair.first.n) == ("guided", 20)
    assert pair.first.value == pytest.approx((1 + 0.5 + 1 + 0.5) / 4)
    assert pair.second.value == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert pair.difference.value == pytest.approx(pair.first.value - pair.second.value)
    assert pair.difference.low > 0
    assert section.confidence_level == 0.95


def several_runs(answers: dict[str, list[list[int | None]]]) -> list[dict]:
    """Return the answers of machines to units, one after the other and by run."""
    return [
        {"unit": f"u{n}", "instance": f"u{n}", "system_a": "a", "system_b": "b"}
        | {"rater": name, "kind": "machine", "run": str(run), "label": label}
        | ({"raw": "?"} if label is None else {})
        for name, units in answers.items()
        for n, runs in enumerate(units)
        for run, label in enumerate(runs)
    ]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        # The majority of x is 1, tied, unread and −1, that of y is 1, −1, 0 and 1.
        ("preference:tie", ((1 + 0.5 + 0 + 1) / 4, (1 + 0.5 + 0 + 0) / 4)),
        # The lower median of x is 1, −1, unread and −1.
        ("preference:5", ((1 + 0.5 + 0 + 1) / 4, (1 + 0.5 + 0 + 0) / 4)),
    ],
)
def test_of_several_answers_the_machines_label_counts_as_in_the_strata(scale, expected):
    people = [[1, 1], [1, -1], [-1, -1], [-1, -1]] * 3
    machines = several_runs(
        {
            "x": [[1, 1, -1], [1, -1], [None, None], [-1, -1, None]] * 3,
            "y": [[1, 1, 0], [-1, -1, 0], [0, 0, -1], [1, 1, -1]] * 3,
        }
    )
    names, rows = ["machine_differences"], [*items(people, {}), *machines]
    about = of(rows, sections=names, scales={"preference": scale})
    pair = about.machine_differences.pairs["x vs y"]
    assert (pair.first.value, pair.second.value) == pytest.approx(expected)
    for name, one in (("x", pair.first), ("y", pair.second)):
        of_strata = about.all_units.machines[name].single_human_machine.percentage_agreement
        assert (one.value, one.n) == (pytest.approx(of_strata.value), of_strata.n)


def test_only_items_that_both_answered_count():
    people = [[1], [1], [1], [-1]] * 5
    section = differences(people, {"x": [1, 1, -1, -1] * 5, "y": [1, "missing", "missing", 1] * 5})
    pair = section.pairs["x vs y"]
    assert (pair.first.n, pair.first.value, pair.second.value) == (10, 1, 0.5)


def test_a_paired_difference_is_narrower_than_that_of_two_samples():
    """Judges that err on the same items differ by little, and the interval knows it."""
    rng = np.random.default_rng(3)
    truth = rng.choice([-1, 1], 200)
    errs = rng.random(200) < 0.4
    first = np.where(errs, -truth, truth)
    second = np.where(rng.random(200) < 0.05, -first, first)
    one = differences([[int(t)] for t in truth], {"x": first.tolist(), "y": second.tolist()})
    pair = one.pairs["x vs y"]
    apart = np.hypot(pair.first.standard_error, pair.second.standard_error)
    assert pair.difference.standard_error < apart / 2


def test_intervals_hold_for_all_pairs_together():
    people = [[1], [-1]] * 10
    three = {name: [1, -1] * 10 for name in "xyz"}
    section = differences(people, three)
    assert [*section.pairs] == ["x vs y", "x vs z", "y vs z"]
    assert section.confidence_level == pytest.approx(1 - 0.05 / 3)
    assert {pair.difference.value for pair in section.pairs.values()} == {0}


@pytest.mark.parametrize(
    ("machines", "reason"),
    [
        ({}, machine_differences.NO_MACHINE),
        ({"x": [1] * 4}, machine_differences.ONE_MACHINE),
        ({"x": [1, 1, "missing"], "y": ["missing", "missing", 1, 1]}, machine_differences.NO_PAIRS),
    ],
)
def test_without_a_pair_it_is_said_what_is_missing(machines, reason):
    section = differences([[1]] * 4, machines)
    assert (section.pairs, section.reason) == ({}, reason)


@pytest.mark.thorough
def test_of_many_machines_those_with_the_most_answers_are_compared():
    """Agreement plays no part: the two that are left out are always right."""
    many = {f"m{n:02}": [-1] * 4 for n in range(12)}
    fewer = {"a": [1, 1, 1, "missing"], "z": [1] * 4}
    section = differences([[1]] * 4, {**many, **fewer})
    assert section.left_out == ("a", "z")
    assert {one.first_machine for one in section.pairs.values()} <= {*many}
    assert section.confidence_level == pytest.approx(1 - 0.05 / 66)


@pytest.mark.slow
def test_equal_judges_are_told_apart_at_the_stated_rate():
    """Of studies with three equal judges, 5% have an interval without 0, give or take the error."""
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth = rng.choice([-1, 1], 100)
        judges = {n: np.where(rng.random(100) < 0.7, truth, -truth).tolist() for n in "xyz"}
        rows = items([[int(t)] for t in truth], judges)
        section = machine_differences.machine_differences_section(
            _criterion_of(rows), Seeds(seed), 500
        )
        wrong += any(p.difference.low > 0 or p.difference.high < 0 for p in section.pairs.values())
    assert wrong <= 12  # of 100: above with a probability of 1 in 1,000, if it is 5%


def league(strength: dict[str, float], instances: int, rng, raters=("r0",), **more):
    """Return comparisons of all pairs on every instance, won by chance of the strengths."""
    return [
        {
            "unit": f"i{n}/{a}{b}",
            "instance": f"i{n}",
            "system_a": a,
            "system_b": b,
            "rater": rater,
            "label": -1 if rng.random() < 1 / (1 + np.exp(strength[b] - strength[a])) else 1,
        }
        | more
        for n in range(instances)
        for a, b in ((a, b) for a in strength for b in strength if a < b)
        for rater in raters
    ]


def stability(rows):
    return of(rows, sections=["rank_stability"]).rank_stability


def test_win_rates_against_each_baseline_are_those_of_hand():
    wins = {("a", "b"): (3, 1), ("a", "c"): (1, 3), ("b", "c"): (2, 2)}
    rows = [
        {
            "unit": f"{a}{b}{n}",
            "instance": f"i{n}",
            "system_a": a,
            "system_b": b,
            "rater": "r",
            "label": -1 if n < won else 1,
        }
        for (a, b), (won, lost) in wins.items()
        for n in range(won + lost)
    ]
    section = stability(rows)["annotators"]
    assert section.baselines["a"].win_rates == {"a": 0.5, "b": 0.25, "c": 0.75}
    assert section.baselines["c"].win_rates == {"a": 0.25, "b": 0.5, "c": 0.5}
    overall = [4 / 8, 3 / 8, 5 / 8]
    for name in "abc":
        rates = [*section.baselines[name].win_rates.values()]
        assert section.baselines[name].correlation == pytest.approx(spearmanr(rates, overall)[0])


def test_a_baseline_that_met_only_some_systems_has_no_ranking():
    rows = league({"a": 0, "b": 0, "c": 0}, 12, np.random.default_rng(0))
    rows = [row for row in rows if (row["system_a"], row["system_b"]) != ("a", "c")]
    change = stability(rows)["annotators"].baselines["a"]
    assert ("c" in change.win_rates, change.correlation) == (False, None)
    assert change.reason == rank_stability.NOT_ALL_COMPARED


@pytest.mark.thorough
def test_halves_agree_where_systems_differ_and_not_where_they_are_equal():
    rng = np.random.default_rng(0)
    apart = stability(league({"a": 3, "b": 1, "c": -1, "d": -3}, 60, rng))["annotators"].halves
    assert (apart.median, apart.same_first) == (1, 1)
    equal = stability(league(dict.fromkeys("abcd", 0), 60, rng))["annotators"].halves
    assert equal.low < 0
    assert equal.same_first < 0.8


def test_halves_are_those_of_instances_and_not_of_comparisons():
    """On each instance one system wins all; halves of comparisons would agree by sharing it."""
    rng = np.random.default_rng(1)
    rows = []
    for n in range(12):
        best = dict(zip("abc", rng.permutation(3).tolist(), strict=True))
        rows += [
            {"unit": f"{n}{a}{b}{k}", "instance": f"i{n}", "system_a": a, "system_b": b}
            | {"rater": "r", "label": -1 if best[a] > best[b] else 1}
            for a, b in ("ab", "ac", "bc")
            for k in range(6)
        ]
    halves = stability(rows)["annotators"].halves
    assert halves.instances == 12
    assert halves.low < 0


@pytest.mark.parametrize(
    ("strength", "instances", "reason"),
    [
        ({"a": 1, "b": 0}, 20, rank_stability.TOO_FEW_SYSTEMS),
        ({"a": 1, "b": 0, "c": 2}, 5, rank_stability.TOO_FEW_INSTANCES),
    ],
)
def test_what_cannot_be_ranked_says_why(strength, instances, reason):
    rows = league(strength, instances, np.random.default_rng(0))
    assert stability(rows)["annotators"].halves.reason == reason


def test_each_machine_has_its_own_ranking():
    rng = np.random.default_rng(0)
    rows = league({"a": 3, "b": 0, "c": -3}, 20, rng)
    rows += league({"a": -3, "b": 0, "c": 3}, 20, rng, raters=("judge",), kind="machine")
    section = stability(rows)
    assert section["annotators"].baselines["b"].win_rates["a"] > 0.8
    assert section["judge"].baselines["b"].win_rates["a"] < 0.2


def judged(strength: dict[str, float], instances: int, rng, bias: float = 0.0):
    """Return a judge's answers on all ordered pairs; `bias` favours the text shown first."""
    rows = []
    for n in range(instances):
        for first, second in permutations(strength, 2):
            share = 1 / (1 + np.exp(strength[second] - strength[first] - bias))
            a, b = sorted((first, second))
            won = first if rng.random() < share else second
            rows.append(
                {
                    "unit": f"i{n}/{a}{b}",
                    "instance": f"i{n}",
                    "system_a": a,
                    "system_b": b,
                    "rater": "judge",
                    "kind": "machine",
                    "order": "ab" if first == a else "ba",
                    "label": -1 if won == a else 1,
                }
            )
    return rows


def budget(rows):
    return of(rows, sections=["comparison_budget"]).comparison_budget["judge"]


STRENGTHS = {"a": 1.5, "b": 0.5, "c": -0.5, "d": -1.5}


@pytest.mark.thorough
def test_all_comparisons_give_the_full_ranking_and_fewer_give_less():
    section = budget(judged(STRENGTHS, 6, np.random.default_rng(0)))
    assert (section.systems, section.instances) == (4, 6)
    by_kind = {
        kind: {p.comparisons: p for p in section.curve if p.schedule == kind}
        for kind in comparison_budget.KINDS
    }
    for kind, most in (("random", 12), ("symmetric", 12)):
        assert by_kind[kind][most].low == by_kind[kind][most].high == 1
        fewest = min(by_kind[kind])
        assert by_kind[kind][fewest].low < 1
    assert max(by_kind["no-repeat"]) == 6
    assert set(by_kind["symmetric"]) == {2, 4, 6, 8, 10, 12}


def test_scores_are_wins_by_comparisons():
    rows = judged(STRENGTHS, 5, np.random.default_rng(2))
    by_hand = {
        name: np.mean(
            [
                (row["label"] == -1) == (row["system_a"] == name)
                for row in rows
                if name in (row["system_a"], row["system_b"])
            ]
        )
        for name in STRENGTHS
    }
    judged_rows = comparison_budget._judged(_criterion_of(rows), "judge")
    assert judged_rows.scores == pytest.approx([*by_hand.values()])


def _criterion_of(rows):
    (criterion,), _ = read_criteria(RatingTable.from_rows(rows), {}, None)
    return criterion


def by_people(order: str, instances: int, *, rater: str = "ann"):
    """Return an annotator's comparisons of all pairs, in which the earlier system always wins."""
    return [
        {
            "unit": f"i{n}/{a}{b}",
            "instance": f"i{n}",
            "system_a": a,
            "system_b": b,
            "rater": rater,
            "label": -1 if order.index(a) < order.index(b) else 1,
        }
        for n in range(instances)
        for a, b in combinations(sorted(order), 2)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(("order", "accuracy"), [("abcd", 1), ("dcba", 0), ("bacd", 5 / 6)])
def test_accuracy_is_the_share_of_pairs_in_the_order_of_annotators(order, accuracy):
    rows = judged(
        {name: 20 * value for name, value in STRENGTHS.items()}, 6, np.random.default_rng(0)
    )
    section = budget([*rows, *by_people(order, 6)])
    assert (section.system_pairs, section.ratings) == (6, 36)
    last = {p.schedule: p for p in section.curve}
    for point in last.values():
        ends = (point.accuracy, point.accuracy_low, point.accuracy_high)
        assert ends == pytest.approx((accuracy,) * 3)
    fewest = min((p for p in section.curve if p.schedule == "random"), key=lambda p: p.comparisons)
    assert fewest.accuracy_low < fewest.accuracy_high
    assert comparison_budget._accuracy(np.full(4, 0.5), np.arange(4.0)) == 0.5


@pytest.mark.slow
def test_only_pairs_that_annotators_part_on_these_instances_have_an_accuracy():
    rows = judged(STRENGTHS, 6, np.random.default_rng(0))
    without = budget(rows)
    assert (without.system_pairs, without.ratings) == (0, 0)
    assert {point.accuracy for point in without.curve} == {None}
    both = by_people("abcd", 6) + by_people("dcba", 6, rater="other")
    assert (budget([*rows, *both]).system_pairs, budget([*rows, *both]).ratings) == (0, 72)
    three = [row for row in by_people("abcd", 6) if row["system_b"] != "d"]
    assert budget([*rows, *three]).system_pairs == 3
    elsewhere = [row | {"unit": f"x{row['unit']}"} for row in by_people("dcba", 6)]
    assert budget([*rows, *by_people("abcd", 6), *elsewhere]).ratings == 36


@pytest.mark.slow
def test_annotators_after_a_draw_count_by_the_inverse_of_the_probability():
    rows = judged(
        {name: 20 * value for name, value in STRENGTHS.items()}, 8, np.random.default_rng(0)
    )
    people = [
        row | {"label": row["label"] * (1 if is_rare(row["instance"]) else -1)}
        for row in by_people("abcd", 8)
    ]
    last = budget(drawn([*rows, *people], is_rare)).curve[-1]
    assert last.accuracy == 1
    assert budget([*rows, *people]).system_pairs == 0


def test_a_judge_of_one_order_only_has_no_curve():
    rows = [row for row in judged(STRENGTHS, 6, np.random.default_rng(0)) if row["order"] == "ab"]
    assert budget(rows).reason == comparison_budget.NOT_COMPLETE


@pytest.mark.thorough
def test_instances_with_missing_pairs_are_left_out():
    rows = judged(STRENGTHS, 6, np.random.default_rng(0))
    assert budget(rows[1:]).instances == 5


def test_systems_that_win_equally_have_no_ranking():
    rows = [row | {"label": 0} for row in judged(STRENGTHS, 6, np.random.default_rng(0))]
    assert budget(rows).reason == comparison_budget.SAME_SCORES


def drawn(rows, is_rare, *, control=True):
    """Return the rows after a draw in which some instances came in rarely, and the others often."""
    return [
        row
        | {
            "phase": "control" if control and int(row["instance"][1:]) % 8 < 2 else "selected",
            "inclusion_probability": 0.2 if is_rare(row["instance"]) else 0.8,
        }
        for row in rows
    ]


def weight_of(row):
    return 1 / row["inclusion_probability"]


def is_rare(instance: str) -> bool:
    return int(instance[1:]) % 2 == 0


def test_after_a_draw_differences_weigh_items_and_speak_of_the_dataset():
    people = [[1], [1], [-1], [-1]] * 20
    machines = {"x": [1, -1, -1, 1] * 20, "y": [1, 1, 1, 1] * 20}
    rows = drawn(items(people, machines), is_rare)
    pair = of(rows, sections=["machine_differences"]).machine_differences.pairs["x vs y"]
    # The rare instances weigh 5 and the others 1.25; x is right on the rare ones only, y on the first two.
    assert pair.first.value == pytest.approx(5 / 6.25)
    assert pair.second.value == pytest.approx(0.5)
    assert pair.difference.value == pytest.approx(0.3)
    assert {one.scope.instances for one in (pair.first, pair.difference)} == {"dataset"}
    uncontrolled = drawn(items(people, machines), is_rare, control=False)
    section = of(uncontrolled, sections=["machine_differences"]).machine_differences
    assert section.pairs["x vs y"].difference.scope.instances == "selected"


@pytest.mark.slow
def test_weighted_differences_cover_that_of_the_dataset():
    """Of 100 draws, 95 intervals cover the dataset's difference; unweighted ones rarely do."""
    covered = {True: 0, False: 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rare = np.arange(600) % 2 == 0
        taken = rng.random(600) < np.where(rare, 0.2, 0.8)
        x, y = (rng.random(600) < np.where(rare, *shares) for shares in ((0.9, 0.5), (0.5, 0.6)))
        truth = x.mean() - y.mean()
        labels = {"x": np.where(x, 1, -1)[taken].tolist(), "y": np.where(y, 1, -1)[taken].tolist()}
        plain = items([[1]] * int(taken.sum()), labels)
        rarity = dict(zip((f"u{n}" for n in range(600)), rare[taken].tolist(), strict=False))
        for is_weighted, rows in ((True, drawn(plain, rarity.get)), (False, plain)):
            section = machine_differences.machine_differences_section(
                _criterion_of(rows), Seeds(seed), 400
            )
            one = section.pairs["x vs y"].difference
            covered[is_weighted] += one.low <= truth <= one.high
    assert covered[True] >= 88
    assert covered[False] <= 20


@pytest.mark.thorough
def test_after_a_draw_ranks_weigh_instances_also_those_that_no_annotator_has_rated():
    strength = {"a": 1, "b": 0, "c": -1}
    rng = np.random.default_rng(4)
    rows = league(strength, 40, rng, raters=("judge",), kind="machine")
    rows = drawn([*rows, *league(strength, 20, rng)], is_rare)
    section = stability(rows)
    for name, kind in (("annotators", None), ("judge", "machine")):
        pairs = [
            (-row["label"], weight_of(row))
            for row in rows
            if (row["system_a"], row["system_b"]) == ("a", "b") and row.get("kind") == kind
        ]
        won, weight = np.array(pairs).T
        rate = section[name].baselines["b"].win_rates["a"]
        assert rate == pytest.approx((won > 0) @ weight / weight.sum())
        assert section[name].speaks_of == "dataset"
    unweighted = stability(league(strength, 40, rng))["annotators"]
    assert unweighted.speaks_of == "these"


def test_without_all_probabilities_ranks_speak_of_the_selected_instances():
    table = RatingTable.from_rows(
        drawn(league({"a": 1, "b": 0, "c": -1}, 20, np.random.default_rng(4)), is_rare)
    )
    table["inclusion_probability"][table["instance"] == "i7"] = np.nan
    section = rank_stability.rank_stability_section(read_criteria(table, {}, None)[0][0], Seeds(0))
    assert section["annotators"].speaks_of == "selected"


@pytest.mark.parametrize("name", ["comparison_budget", "rank_stability"])
def test_what_machines_say_of_instances_that_were_not_drawn_changes_nothing(name, monkeypatch):
    monkeypatch.setattr(comparison_budget, "DRAWS", 2)
    monkeypatch.setattr(rank_stability, "SPLITS", 5)
    rows = drawn(judged(STRENGTHS, 12, np.random.default_rng(0)), is_rare)
    rows += drawn(by_people("".join(STRENGTHS), 12), is_rare)
    others = [
        row | {"unit": f"{row['unit']}+", "instance": f"{row['instance']}+", "label": -row["label"]}
        for row in rows
        if row.get("kind") == "machine"
    ]
    others = [row | {"phase": "", "inclusion_probability": None} for row in others]
    drawn_only, every = (of(made, sections=[name]) for made in (rows, [*rows, *others]))
    assert getattr(every, name) == getattr(drawn_only, name)


@pytest.mark.slow
def test_after_a_draw_scores_from_few_comparisons_weigh_instances():
    rng = np.random.default_rng(2)
    reverse = {name: -2 * strength for name, strength in STRENGTHS.items()}
    of_rare, of_others = judged(STRENGTHS, 40, rng), judged(reverse, 40, rng)
    rows = drawn(
        [
            one if is_rare(one["instance"]) else other
            for one, other in zip(of_rare, of_others, strict=True)
        ],
        is_rare,
    )
    by_hand = {
        name: np.average(
            [(row["label"] == -1) == (row["system_a"] == name) for row in those],
            weights=[weight_of(row) for row in those],
        )
        for name in STRENGTHS
        if (those := [row for row in rows if name in (row["system_a"], row["system_b"])])
    }
    seen = comparison_budget._judged(_criterion_of(rows), "judge")
    assert seen.scores == pytest.approx([*by_hand.values()])
    curve = budget(rows)
    assert curve.speaks_of == "dataset"
    most = max(point.comparisons for point in curve.curve)
    assert {point.low for point in curve.curve if point.comparisons == most} == {1}


def test_the_command_compares_the_machines_that_are_named(tmp_path, capsys):
    machines = {name: [1, -1] * 2 for name in "xyz"}
    source, out = tmp_path / "ratings.jsonl", tmp_path / "report.json"
    lines = map(json.dumps, items([[1], [-1]] * 2, machines))
    source.write_text("\n".join(lines) + "\n")
    options = ["--section", "machine_differences", "--out", str(out), "--replicates", "0"]
    named = ["--machine", "x", "--machine", "z"]
    assert main(["analyze", str(source), *named, *options]) == 0
    about = json.loads(out.read_text())["criteria"]["preference"]
    assert [*about["machine_differences"]["pairs"]] == ["x vs z"]
    assert about["n_ratings"] == 4
    assert main(["analyze", str(source), "--machine", "w", *options]) != 0
    assert "x, y, z" in capsys.readouterr().err
