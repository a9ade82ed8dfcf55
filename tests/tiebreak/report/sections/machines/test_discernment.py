"""Discernment in the report: pairs of originals and copies, tests, criteria together, simulated raters."""

import numpy as np
import pytest
from scipy.stats import hmean, spearmanr, wilcoxon

from tests.tiebreak.report.test_sections import of
from tiebreak.formats import RatingTable
from tiebreak.report.build import build_report, build_section
from tiebreak.report.sections.machines.discernment import (
    ANNOTATORS,
    FEW_ORIGINALS,
    LEVELS,
    SAME_SCORES,
    level_of,
)
from tiebreak.stats import discernment

SCALE = "ordinal:1..5"
TYPOS, FICTION, ENDING = "characters/typos/minor", "words/fictional/major", "sentences/ending/minor"
# The worked case of the statistic's docstring.
ORIGINALS, COPIES = [5, 4, 5, 3, 5], [3, 3, 2, 2, 4]


def scores(originals, copies, *, name=TYPOS, criterion="quality", rater="r", kind="human", **row):
    """Return ratings of texts and of their copies by one rater."""
    about = {"rater": rater, "kind": kind, "criterion": criterion} | row
    for text, (original, copy) in enumerate(zip(originals, copies, strict=True)):
        unit = {"instance": f"i{text}", "sample_a": 0}
        if original is not None:
            facts = {"unit": f"i{text}#0", "system_a": "gpt", "label": original}
            yield about | unit | facts
        if copy is not None:
            facts = {"unit": f"i{text}#{name}", "system_a": f"gpt [{name}]", "label": copy}
            mark = {"perturbation": name, "original_system": "gpt"}
            yield about | unit | facts | mark


def section_of(rows, criterion="quality", **options):
    names = {row["criterion"] for row in rows}
    scales = dict.fromkeys(names, SCALE)
    table = RatingTable.from_rows(rows)
    return build_section(table, "discernment", scales=scales, **options).criteria[criterion]


def test_the_worked_case_comes_out_of_ratings():
    rows = [*scores(ORIGINALS, COPIES)]
    test = section_of(rows).raters[ANNOTATORS].tests[TYPOS]
    assert (test.pairs, test.incomplete, test.unchanged, test.level) == (5, 0, 0, "characters")
    assert test.p.value == 0.03125
    assert test.score.value == pytest.approx(1.1569, abs=5e-5)
    assert (test.original.mean, test.copy.mean) == pytest.approx((4.4, 2.8))
    assert (test.copy.lower_quartile, test.copy.median, test.copy.upper_quartile) == (2, 3, 3)
    report = of(rows, scales={"quality": SCALE}, sections=["discernment"])
    assert report.discernment == section_of(rows)


def test_humans_and_each_machine_are_tested_apart_by_their_mean_scores():
    rows = [
        *scores(ORIGINALS, COPIES, rater="r"),
        *scores([5, 5, 5, 5, 5], [5, 5, 5, 5, 5], rater="s"),
        *scores(COPIES, ORIGINALS, rater="judge", kind="machine"),
    ]
    raters = section_of(rows).raters
    assert list(raters) == [ANNOTATORS, "judge"]
    people = raters[ANNOTATORS].tests[TYPOS]
    assert people.original.mean == pytest.approx((4.4 + 5) / 2)
    assert people.p.value == 0.03125
    judge = raters["judge"].tests[TYPOS]
    assert judge.p.value == 1.0
    assert judge.score.value == 0


def test_response_styles_are_the_shares_of_scores_and_correlations_are_of_originals_alone():
    likes = [5, 5, 4, 4, 2]
    rows = [
        *scores(ORIGINALS, COPIES, rater="r"),
        *scores([5, 4, 4, 3, 5], COPIES, rater="s"),  # the third mean is 4.5, which counts as 4
        *scores(likes, [1, 2, 3, 4, 5], rater="judge", kind="machine"),
        *(
            row
            for row in scores(likes, [1] * 5, name=FICTION, rater="judge", kind="machine")
            if "perturbation" in row
        ),
    ]
    section = section_of(rows)
    people, judge = (section.raters[name].style for name in (ANNOTATORS, "judge"))
    assert people.originals == {"1": 0, "2": 0, "3": 0.2, "4": 0.4, "5": 0.4}
    assert people.copies == {"1": 0, "2": 0.4, "3": 0.4, "4": 0.2, "5": 0}
    assert (judge.n_originals, judge.n_copies) == (5, 10)
    assert judge.copies["1"] == 0.6
    (rho,) = section.correlations[ANNOTATORS].values()
    expected = spearmanr([5, 4, 4.5, 3, 5], likes).statistic
    assert (rho.value, rho.n) == (pytest.approx(expected), 5)
    assert list(section.correlations) == [ANNOTATORS]
    assert sum(judge.originals.values()) == pytest.approx(1)


def test_raters_of_too_few_or_equal_originals_have_no_correlation():
    rows = [*scores(ORIGINALS, COPIES), *scores([4] * 5, COPIES, rater="flat", kind="machine")]
    rows += scores([4, 5], [1, 1], rater="short", kind="machine")
    correlations = section_of(rows).correlations[ANNOTATORS]
    assert [correlations[name].reason for name in ("flat", "short")] == [SAME_SCORES, FEW_ORIGINALS]


def test_many_different_scores_are_counted_in_ranges_of_equal_width():
    numbers = list(range(0, 101, 5))
    rows = scores(numbers, [n // 2 for n in numbers])
    table = RatingTable.from_rows(list(rows))
    built = build_section(table, "discernment", scales={"quality": "ratio"})
    style = built.criteria["quality"].raters[ANNOTATORS].style
    assert len(style.originals) == 10
    assert next(iter(style.originals)) == "0 to 10"
    assert sum(style.copies.values()) == pytest.approx(1)
    assert sum(list(style.copies.values())[5:]) < 0.1


def test_equal_scores_count_in_pratts_ranks_only():
    rng = np.random.default_rng(4)
    originals = rng.integers(3, 6, 30)
    copies = np.clip(originals - rng.integers(-1, 3, 30), 1, 5)
    rows = [*scores(originals.tolist(), copies.tolist())]
    test = section_of(rows).raters[ANNOTATORS].tests[TYPOS]
    assert (test.pairs, test.unchanged) == (30, int((originals == copies).sum()))
    assert test.unchanged > 0
    for zero_method, p in (("wilcox", test.p), ("pratt", test.p_pratt)):
        expected = discernment(originals[:, None], copies[:, None], zero_method=zero_method)
        assert p.value == expected.p.value
    assert test.p.value != test.p_pratt.value


def test_a_copy_is_paired_with_its_own_original_only():
    rows = [*scores(ORIGINALS, COPIES)]
    other = [row | {"unit": f"{row['unit']}x", "sample_a": 1, "label": 1} for row in rows[:2]]
    another_system = rows[0] | {"unit": "x", "system_a": "llama", "label": 1}
    test = section_of([*rows, *other, another_system]).raters[ANNOTATORS].tests[TYPOS]
    assert test.pairs == 6
    assert test.original.mean == pytest.approx((4.4 * 5 + 1) / 6)


def test_copies_without_a_score_of_both_are_counted():
    rows = [*scores([*ORIGINALS, None, 4], [*COPIES, 2, None])]
    test = section_of(rows).raters[ANNOTATORS].tests[TYPOS]
    assert (test.pairs, test.incomplete) == (5, 1)


def test_levels_have_equal_weight_in_the_average():
    rows = [*scores(ORIGINALS, COPIES)]
    for name in (FICTION, "words/deletion/minor"):
        rows += [row for row in scores(ORIGINALS, ORIGINALS, name=name) if "perturbation" in row]
    rater = section_of(rows).raters[ANNOTATORS]
    score = rater.tests[TYPOS].score.value
    assert {name: level.value for name, level in rater.levels.items()} == {
        "characters": score,
        "words": 0,
    }
    assert (rater.average.value, rater.minimum.value) == (score / 2, 0)


def two_criteria():
    return [
        *scores(ORIGINALS, COPIES, criterion="fluency"),
        *scores([5, 4, 5, 3, 5], [4, 5, 4, 3, 4], criterion="relevance"),
    ]


def test_criteria_are_combined_by_the_harmonic_mean():
    section = section_of(two_criteria(), "fluency")
    assert section.criteria == ("fluency", "relevance")
    p = [
        section_of(two_criteria(), name).raters[ANNOTATORS].tests[TYPOS].p.value
        for name in section.criteria
    ]
    combined = section.all_criteria[ANNOTATORS]
    assert combined.tests[TYPOS].p.value == pytest.approx(2 / (1 / p[0] + 1 / p[1]))
    assert combined.tests[TYPOS].weights == {"fluency": 0.5, "relevance": 0.5}
    assert combined.average.value == combined.tests[TYPOS].score.value
    assert section.expert_weighted == {}
    both = RatingTable.from_rows(two_criteria())
    scales = dict.fromkeys(("fluency", "relevance"), SCALE)
    report = build_report(both, scales=scales, sections=["discernment"], replicates=0)
    assert report.criteria["relevance"].discernment.all_criteria == section.all_criteria


def test_experts_weights_replace_equal_ones():
    weights = {TYPOS: {"fluency": 3, "relevance": 0, "none": 1}}
    section = section_of(two_criteria(), "fluency", weights=weights)
    expert = section.expert_weighted[ANNOTATORS].tests[TYPOS]
    assert expert.weights == {"fluency": 1.0}
    assert expert.p.value == pytest.approx(0.03125)
    assert expert.score.value > section.all_criteria[ANNOTATORS].tests[TYPOS].score.value
    unequal = section_of(two_criteria(), "fluency", weights={TYPOS: {"fluency": 3, "relevance": 1}})
    p = unequal.raters[ANNOTATORS].tests[TYPOS].p.value
    q = section_of(two_criteria(), "relevance").raters[ANNOTATORS].tests[TYPOS].p.value
    mean = unequal.expert_weighted[ANNOTATORS].tests[TYPOS].p.value
    assert mean == pytest.approx(1 / (0.75 / p + 0.25 / q))
    other = section_of(two_criteria(), "fluency", weights={FICTION: {"fluency": 1}})
    assert other.expert_weighted[ANNOTATORS].tests == {}
    assert not other.expert_weighted[ANNOTATORS].average.is_defined


def test_each_rater_has_the_values_of_scipy_over_criteria_and_levels():
    """D and its expert-weighted kind, average and minimum, computed anew from the scores."""
    rng, drops = np.random.default_rng(8), {"fluency": 0.2, "coherence": 0.9, "relevance": 0.5}
    names = (TYPOS, FICTION, "words/deletion/minor", ENDING)
    weights = {
        name: dict(zip(drops, rng.integers(1, 9, 3).tolist(), strict=True)) for name in names
    }
    rows, given = [], {}
    for rater, kind in (("r", "human"), ("judge", "machine"), ("other", "machine")):
        for criterion, drop in drops.items():
            originals = rng.integers(2, 6, 40)
            for name in names:
                lost = rng.binomial(2, drop / 2, 40) - rng.binomial(1, 0.2, 40)
                copies = np.clip(originals - lost, 1, 5)
                given[rater, criterion, name] = originals, copies
                about = {"name": name, "rater": rater, "kind": kind, "criterion": criterion}
                made = scores(originals.tolist(), copies.tolist(), **about)
                rows += [row for row in made if name == TYPOS or "perturbation" in row]
    section = section_of(rows, "fluency", weights=weights)
    for rater, shown in (("r", ANNOTATORS), ("judge", "judge"), ("other", "other")):
        for found, shares in (
            (section.all_criteria, dict.fromkeys(names, dict.fromkeys(drops, 1))),
            (section.expert_weighted, weights),
        ):
            expected = {}
            for name in names:
                p = [
                    wilcoxon(*given[rater, criterion, name], alternative="greater").pvalue
                    for criterion in drops
                ]
                mean = hmean(p, weights=[shares[name][criterion] for criterion in drops])
                expected[name] = np.log(mean) / np.log(0.05)
            levels = [expected[TYPOS], np.mean([expected[n] for n in names[1:3]]), expected[ENDING]]
            one = found[shown]
            assert {n: t.score.value for n, t in one.tests.items()} == pytest.approx(expected)
            assert [one.levels[n].value for n in LEVELS] == pytest.approx(levels)
            assert one.average.value == pytest.approx(np.mean(levels))
            assert one.minimum.value == pytest.approx(min(expected.values()))
    assert section.all_criteria["judge"] != section.expert_weighted["judge"]


def test_a_rater_that_scored_no_pair_is_undefined_with_a_reason():
    rows = [
        *scores(ORIGINALS, COPIES),
        *scores([5] * 5, [None] * 5, rater="judge", kind="machine"),
    ]
    section = section_of(rows)
    test = section.raters["judge"].tests[TYPOS]
    assert not test.p.is_defined
    assert test.p.reason
    assert np.isnan(test.original.mean)
    combined = section.all_criteria["judge"]
    assert not combined.tests[TYPOS].score.is_defined
    assert not combined.average.is_defined


@pytest.mark.parametrize(
    ("rows", "scale"),
    [
        ([*scores(ORIGINALS, [None] * 5)], SCALE),
        ([row | {"original_system": "llama"} for row in scores(ORIGINALS, COPIES)], SCALE),
        ([*scores([-1, 1], [1, 1])], "preference"),
        ([*scores(["x", "y"], ["x", "x"])], "nominal:x,y"),
    ],
)
def test_ratings_without_scored_pairs_have_no_section(rows, scale):
    section = of(rows, scales={"quality": scale}, sections=["discernment"])
    assert section.discernment is None
    assert section.problems["discernment"]


def test_levels_are_the_first_part_of_the_name():
    assert [level_of(name) for name in (TYPOS, FICTION, ENDING, "rewritten by a model")] == [
        *("characters", "words", "sentences", "other")
    ]


def simulated(rng, drop: float, texts: int, name=TYPOS, **about):
    """Scores by a rater who gives copies ``drop`` points less on average."""
    quality = rng.normal(3.5, 0.7, texts)
    original, copy = (
        np.clip(np.rint(quality - lost + rng.normal(0, 0.6, texts)), 1, 5).astype(int).tolist()
        for lost in (0, drop)
    )
    return scores(original, copy, name=name, **about)


@pytest.mark.parametrize(
    ("drop", "texts", "low", "high"),
    [(0.0, 40, 0.01, 0.09), (0.25, 40, 0.35, 0.7), (1.0, 40, 0.97, 1)],
)
@pytest.mark.slow
def test_simulated_raters_are_detected_at_the_right_rates(drop, texts, low, high):
    rng = np.random.default_rng(5)
    studies = 200
    detected = 0
    for _ in range(studies):
        rows = list(simulated(rng, drop, texts))
        detected += section_of(rows).raters[ANNOTATORS].tests[TYPOS].score.value > 1
    assert low <= detected / studies <= high


def test_simulated_raters_are_ordered_by_their_sensitivity():
    rng = np.random.default_rng(6)
    raters = {"blind": 0.0, "dull": 0.3, "sharp": 0.9}
    rows = [
        row
        for rater, drop in raters.items()
        for name in (TYPOS, FICTION, ENDING)
        for row in simulated(rng, drop, 60, name, rater=rater, kind="machine")
        if "perturbation" in row or name == TYPOS
    ]
    summary = section_of(rows).all_criteria
    averages = [summary[rater].average.value for rater in raters]
    assert averages == sorted(averages)
    assert summary["sharp"].minimum.value > 1 > summary["blind"].minimum.value
