"""Where a machine may replace an annotator: tests by stratum, and which simulated machines pass."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, binomtest, t

from tests.metrics.studies import report_of
from tiebreak.formats import RatingTable
from tiebreak.report.build import build_section
from tiebreak.report.model.machines import ReplacementStratum
from tiebreak.report.sections.machines.replacement import EPSILONS

# In 9 of 10 runs, 40 studies show a judge that passes in 80% or 15% of them, and 20 show coins that do
# in 40% of one design, or in 8% of all.
ANNOTATORS, UNITS, STUDIES, COINS = 5, 300, 40, 20
BINARY = "nominal:no,yes"
RIGHT = 0.85


def judged(rng, right, units=UNITS, *, annotators=ANNOTATORS, accuracy=RIGHT):
    """Return binary labels by annotators and a judge, who are right with these probabilities.

    `right` has the judge's probability in either category. All annotators have the same one.
    """
    rows = []
    for unit in range(units):
        truth, category = rng.integers(2), unit % 2
        chances = [*[accuracy] * annotators, right[category]]
        for rater, chance in enumerate(chances):
            is_judge = rater == annotators
            label = truth if rng.random() < chance else 1 - truth
            rows.append(
                {
                    "unit": f"u{unit}",
                    "instance": f"i{unit}",
                    "category": ("news", "chat")[category],
                    "criterion": "c",
                    "rater": "judge" if is_judge else f"r{rater}",
                    "kind": "machine" if is_judge else "human",
                    "label": ["no", "yes"][label],
                }
            )
    return rows


def strata_of(rows) -> dict[tuple[str, str], ReplacementStratum]:
    section = build_section(
        RatingTable.from_rows(rows), "machine_replacement", scales={"c": BINARY}
    )
    return {(one.stratifier, one.stratum): one for one in section.criteria["c"]}


def passes(stratum: ReplacementStratum, epsilon: float):
    tests = {test.epsilon: test for test in stratum.machines["judge"].tests}
    return tests[epsilon].passes


def test_a_machine_may_fail_in_one_category_only():
    strata = strata_of(judged(np.random.default_rng(0), (RIGHT, 0.4)))
    assert passes(strata["category", "news"], 0.2)
    assert not passes(strata["category", "chat"], 0.2)
    news = strata["category", "news"]
    assert (news.n_units, news.machines["judge"].instances) == (150, 150)
    assert news.machines["judge"].labels == 750


def test_agreement_is_averaged_over_instances():
    rows = [
        {"unit": unit, "instance": instance, "rater": rater, "label": label, "criterion": "c"}
        for unit, instance, rater, label in (
            ("u1", "i1", "a", "yes"),
            ("u1", "i1", "b", "yes"),
            ("u2", "i1", "a", "no"),
            ("u3", "i2", "a", "no"),
            ("u4", "i3", "a", "yes"),
        )
    ]
    rows += [
        {"unit": unit, "instance": instance, "rater": "judge", "kind": "machine", "label": "yes"}
        | {"criterion": "c"}
        for unit, instance in (("u1", "i1"), ("u2", "i1"), ("u3", "i2"))
    ]
    judge = strata_of(rows)["all", "all"].machines["judge"]
    assert (judge.labels, judge.instances) == (4, 2)
    assert judge.agreement == pytest.approx((2 / 3 + 0) / 2)


def test_labels_by_bots_are_counted_in_their_strata():
    rows = judged(np.random.default_rng(3), (RIGHT, RIGHT), units=40)
    for row in rows:
        row["simulated"] = row["rater"] in {"r0", "r1"} and row["category"] == "news"
    judges = {kind: one.machines["judge"] for kind, one in strata_of(rows).items()}
    numbers = [
        (judges[kind].labels, judges[kind].simulated)
        for kind in (("all", "all"), ("category", "news"), ("category", "chat"))
    ]
    assert numbers == [(200, 40), (100, 40), (100, 0)]


def test_strata_by_agreement_are_described_and_not_tested():
    strata = strata_of(judged(np.random.default_rng(1), (RIGHT, RIGHT)))
    unanimous = strata["agreement", "PA=1"].machines["judge"]
    assert unanimous.tests == ()
    assert unanimous.agreement > 0.7
    assert strata["agreement", "undefined"].machines["judge"].labels == 0


def test_the_tests_of_all_units_are_those_of_the_report():
    rows = judged(np.random.default_rng(2), (RIGHT, 0.6), units=80)
    report = report_of(rows, scales={"c": "nominal:no,yes"}, sections=["machine_replacement"])
    about = report.criteria["c"]
    tests = about.machine_replacement[0].machines["judge"].tests
    (same,) = [test for test in tests if test.epsilon == 0.1]
    test = about.alternative_annotator_test["judge"]
    assert {name: getattr(same, name) for name in vars(test)} == vars(test)


@cache
def earned(right):
    """Return in which share of simulated studies a judge passes the test on all units, by ε."""
    rng = np.random.default_rng(7)
    rounds = [judge_of_all(judged(rng, (right, right))).tests for _ in range(STUDIES)]
    every = [{test.epsilon: bool(test.passes) for test in tests} for tests in rounds]
    return {epsilon: np.mean([one[epsilon] for one in every]) for epsilon in EPSILONS}


def right_of_a_judge(behind):
    """Return how often a judge is right who is worse than an annotator so much more often than better.

    The other annotators lean to the truth with one probability and away from it with another.
    """
    leaning = binom.pmf(range(ANNOTATORS), ANNOTATORS - 1, RIGHT)
    half = (ANNOTATORS - 1) // 2
    return RIGHT - behind / (leaning[half + 1 :].sum() - leaning[:half].sum())


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 0.15, 0.1])
def test_a_judge_like_the_annotators_passes(epsilon):
    assert earned(RIGHT)[epsilon] >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 0.15, 0.1])
def test_a_judge_ten_points_worse_than_allowed_does_not(epsilon):
    assert earned(right_of_a_judge(epsilon + 0.1))[epsilon] <= 0.05


RARE, OFTEN = 0.1, 0.5


def drawn(rows):
    """Return the rows after a draw in which items of the category "chat" came in rarely."""
    return [
        row
        | {
            "phase": "control" if int(row["instance"][1:]) % 5 == 0 else "selected",
            "inclusion_probability": RARE if row["category"] == "chat" else OFTEN,
        }
        for row in rows
    ]


def rarely_drawn(rng, right):
    """Return a drawn study in which a sixth of the items stands for half of the dataset."""
    rows = judged(rng, right, units=600)
    kept = [row for row in rows if row["category"] == "news" or int(row["unit"][1:]) % 10 == 1]
    return drawn(kept)


def test_after_a_draw_rare_items_count_for_those_that_were_not_drawn():
    rows = rarely_drawn(np.random.default_rng(3), (RIGHT, 0.3))
    everything = strata_of(rows)["all", "all"].machines["judge"]
    assert {test.speaks_of for test in everything.tests} == {"dataset"}
    agreed = {"news": [], "chat": []}
    for name, of in agreed.items():
        stratum = strata_of(rows)["category", name].machines["judge"]
        assert stratum.agreement == pytest.approx(stratum.unweighted_agreement)
        of += [stratum.agreement, stratum.instances]
    (news, n_news), (chat, n_chat) = agreed["news"], agreed["chat"]
    assert (n_news, n_chat) == (300, 60)
    assert everything.agreement == pytest.approx((news + chat) / 2)
    assert everything.unweighted_agreement == pytest.approx((news * 300 + chat * 60) / 360)


def test_a_judge_that_fails_on_rarely_drawn_items_does_not_pass():
    """Without weights it would: those items are a sixth of what was rated, and half of the dataset."""
    rows = rarely_drawn(np.random.default_rng(4), (RIGHT, 0.3))
    unweighted = [row | {"phase": "", "inclusion_probability": ""} for row in rows]
    assert passes(strata_of(unweighted)["all", "all"], 0.2)
    assert not passes(strata_of(rows)["all", "all"], 0.2)


def test_a_draw_that_does_not_represent_the_dataset_speaks_of_what_was_drawn():
    rows = [
        row | {"phase": "selected"}
        for row in rarely_drawn(np.random.default_rng(5), (RIGHT, RIGHT))
    ]
    section = strata_of(rows)["all", "all"].machines["judge"]
    assert {test.speaks_of for test in section.tests} == {"selected"}


@pytest.mark.slow
@pytest.mark.parametrize(("behind", "least", "most"), [(0, 0.9, 1), (0.3, 0, 0.05)])
def test_after_a_draw_judges_pass_by_what_they_are_in_the_dataset(behind, least, most):
    """The judge is like the annotators on what is often drawn, and behind on the rest."""
    rng = np.random.default_rng(8)
    rare = right_of_a_judge(2 * behind)
    judges = [judge_of_all(rarely_drawn(rng, (RIGHT, rare))) for _ in range(STUDIES)]
    share = np.mean([one.tests[EPSILONS.index(0.2)].passes for one in judges])
    assert least <= share <= most


# What a licence needs besides.


def preferring(labels, sides, lengths=None):
    """Return preferences of two annotators alike, and of a judge, with the texts' lengths."""
    lengths = lengths or [("", "")] * len(labels)
    return [
        {"unit": f"u{unit}", "instance": f"i{unit}", "criterion": "c", "system_a": "x"}
        | {"system_b": "y", "chars_a": a, "chars_b": b, "rater": rater, "label": label}
        | {"kind": "machine" if rater == "judge" else "human"}
        for unit, (human, judge, (a, b)) in enumerate(zip(labels, sides, lengths, strict=True))
        for rater, label in (("r0", human), ("r1", human), ("judge", judge))
    ]


def judge_of(rows, scale="preference:tie"):
    table = RatingTable.from_rows(rows)
    section = build_section(table, "machine_replacement", scales={"c": scale})
    return section.criteria["c"][0].machines["judge"]


def judge_of_all(rows):
    """Return the judge on all units, without the strata by category, which cost as much again."""
    return judge_of([row | {"category": ""} for row in rows], BINARY)


def test_guesses_are_of_the_same_items():
    """B, B, A, tie and B; the longer text is B, A, A, neither, unknown."""
    labels, lengths = [1, 1, -1, 0, 1], [(1, 9), (9, 1), (9, 1), (5, 5), ("", "")]
    rows = preferring(labels, labels, lengths)
    assert judge_of(rows).guessing == pytest.approx(
        {"coin": 0.4, "constant": 0.6, "longer": (3 + 0.5) / 5, "shorter": (1 + 1 + 0.5) / 5}
    )
    assert set(judge_of(preferring(labels, labels)).guessing) == {"coin", "constant"}
    chances = [{"inclusion_probability": 0.5 if row["unit"] == "u0" else 1} for row in rows]
    assert judge_of([a | b for a, b in zip(rows, chances, strict=True)]).guessing == pytest.approx(
        {"coin": 2.5 / 6, "constant": 4 / 6, "longer": (4 + 0.5) / 6, "shorter": (1 + 1 + 0.5) / 6}
    )


def test_the_lower_end_of_agreement_is_that_of_t_on_the_logit_scale():
    sides = [1 if unit % 5 else -1 for unit in range(100)]
    one = judge_of(preferring([1] * 100, sides))
    half_width = t.ppf(0.975, 99) * np.sqrt(0.8 * 0.2 / 99)
    assert one.agreement == 0.8
    assert one.agreement_low == pytest.approx(expit(logit(0.8) - half_width / (0.8 * 0.2)))


def test_a_judge_that_always_gives_the_same_label_gets_no_licence():
    """Annotators nearly always give that label, so that the test is passed."""
    labels = [1 if unit % 20 else -1 for unit in range(100)]
    one = judge_of(preferring(labels, [1] * 100))
    assert (one.test_of_licence(0.1).passes, one.refusal(0.1)) == (True, "not_above_guessing")
    right = judge_of(preferring(labels, labels))
    assert (right.agreement, right.agreement_low) == (1, pytest.approx(0.025 ** (1 / 100)))
    assert right.refusal(0.1) == ""


def test_epsilon_is_lowered_until_coins_rarely_pass():
    rows = judged(np.random.default_rng(0), (0.9, 0.9), 200, annotators=3, accuracy=0.68)
    one = strata_of(rows)["all", "all"].machines["judge"]
    at = {test.epsilon: test for test in one.tests}
    chosen = one.test_of_licence(0.2)
    assert at[0.2].coins_passing > 0.5 < at[0.2].coin_winning_rate
    assert chosen.coins_passing <= 0.05 < at[0.15].coins_passing
    assert (chosen.epsilon, chosen.coin_winning_rate < 0.2, one.refusal(0.2)) == (0.1, True, "")


def test_where_coins_pass_with_every_epsilon_nothing_does():
    """Two annotators who contradict each other always: whoever agrees with one is better."""
    rows = preferring([1, -1] * 40, [1, -1] * 40)
    for row in rows:
        row["label"] *= -1 if row["rater"] == "r1" else 1
    one = judge_of(rows)
    assert {test.coins_passing for test in one.tests} == {1}
    assert (one.test_of_licence(0.1).epsilon, one.refusal(0.1)) == (0.1, "coins_pass")


def licensed(studies, judge, **study):
    """Return how many judges with this accuracy get a licence with an ε of up to 0.2, 0.15 and 0.1."""
    rng = np.random.default_rng([studies, study["annotators"], round(100 * study["accuracy"])])
    rounds = (judged(rng, (judge, judge), **study) for _ in range(studies))
    judges = [judge_of_all(rows) for rows in rounds]
    return np.array([sum(not one.refusal(epsilon) for one in judges) for epsilon in EPSILONS[:3]])


@pytest.mark.slow
def test_coins_rarely_get_a_licence():
    granted = [
        licensed(COINS, 0.5, units=200, annotators=annotators, accuracy=accuracy)
        for accuracy in (0.55, 0.6, 0.68, 0.75, 0.8)
        for annotators in (2, 3, 5, 8)
    ]
    for n in np.ravel(granted).tolist():
        assert binomtest(n, COINS).proportion_ci().low <= 0.05
    assert np.sum(granted, axis=0).max() <= 0.05 * COINS * len(granted)


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [0.68, 0.74, 0.8])
def test_good_judges_get_a_licence(accuracy):
    right = licensed(STUDIES, 0.9, units=200, annotators=3, accuracy=accuracy)
    alike = licensed(STUDIES, accuracy, units=400, annotators=5, accuracy=accuracy)
    assert right.min() >= 0.8 * STUDIES
    assert alike.min() >= 0.6 * STUDIES
