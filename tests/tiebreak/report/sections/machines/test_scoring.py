"""Scores of single texts beside comparisons of the same texts."""

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.metrics.studies import report_of
from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.report.build import build_section
from tiebreak.report.criterion import read_criteria
from tiebreak.report.sections.machines import scoring
from tiebreak.report.sections.systems.rank_correlations import TOO_FEW_SYSTEMS
from tiebreak.report.source import Source

SCALES = {"quality": "ordinal:1..5", "preference": "preference:tie"}
NAME = "scoring_against_pairwise"


def score(instance: str, system: str, label: object, rater: str = "judge", **more) -> dict:
    """Return a machine's score of a text; None is an answer that could not be read."""
    return {
        "unit": f"{instance}/{system}/{more.get('sample_a', '')}",
        "instance": instance,
        "system_a": system,
        "criterion": "quality",
        "rater": rater,
        "kind": "machine",
        "label": label,
        "raw": "" if label is not None else "?",
    } | more


def compared(instance: str, label: object, rater: str, pair: str = "ab", **more) -> dict:
    return {
        "unit": f"{instance}/{pair}",
        "instance": instance,
        "system_a": pair[0],
        "system_b": pair[1],
        "criterion": "preference",
        "rater": rater,
        "label": label,
        "raw": "" if label is not None else "?",
    } | more


def pairwise(instance: str, label: object, rater: str = "judge", **more) -> dict:
    return compared(instance, label, rater, **{"kind": "machine", **more})


def section_of(rows: list[dict], scales: dict[str, str] = SCALES, **options):
    report = report_of(rows, sections=[NAME], scales=scales, core=True, **options)
    return report.criteria["preference"].scoring_against_pairwise


def rows_of(scores: list[tuple], people: list[list[int]], judge: list[list]) -> list[dict]:
    """Return scores of two texts, people's votes and a judge's comparisons, by instance."""
    rows = []
    for n, ((a, b), votes, answers) in enumerate(zip(scores, people, judge, strict=True)):
        rows += [score(f"i{n}", "a", a), score(f"i{n}", "b", b)]
        rows += [compared(f"i{n}", vote, f"r{k}") for k, vote in enumerate(votes)]
        rows += [pairwise(f"i{n}", answer, run=str(k)) for k, answer in enumerate(answers)]
    return rows


def test_agreement_and_ties_are_those_of_hand():
    """Scores imply A, a tie, B and nothing; −1 prefers A."""
    rows = rows_of(
        scores=[(5, 1), (3, 3), (1, 2), (4, None)],
        people=[[-1, -1], [0, 1], [-1, 1], [1, 1]],
        judge=[[-1, 1], [0, 0], [1, None], [1, 1]],
    )
    one = section_of(rows).comparisons["judge (quality) vs judge"]
    answer, half = one.agreement["as an answer"], one.agreement["as half"]
    assert answer.scores.value == pytest.approx((1 + 0.5 + 0.5 + 0) / 4)
    assert answer.comparisons.value == pytest.approx((0.5 + 0.5 + 0.25 + 1) / 4)
    assert half.scores.value == pytest.approx((1 + 0.5 + 0.5 + 0) / 4)
    assert half.comparisons.value == pytest.approx((0.5 + 0.5 + 0.25 + 1) / 4)
    assert answer.difference.value == pytest.approx(answer.scores.value - answer.comparisons.value)
    assert (one.scores_tied.value, one.comparisons_tied.value) == (0.25, 0.25)
    assert (one.pairs, one.instances, one.score_answers, one.comparison_answers) == (4, 4, 8, 8)


def test_rules_for_ties_differ_where_only_one_side_ties():
    rows = rows_of(scores=[(3, 3)] * 4, people=[[-1]] * 4, judge=[[0]] * 2 + [[-1]] * 2)
    one = section_of(rows).comparisons["judge (quality) vs judge"]
    values = {rule: (of.scores.value, of.comparisons.value) for rule, of in one.agreement.items()}
    assert values == {"as an answer": (0, 0.5), "as half": (0.5, 0.75)}


def test_on_a_scale_without_ties_a_tie_is_never_an_answer():
    rows = rows_of(scores=[(3, 3)] * 4, people=[[-1]] * 4, judge=[[-1]] * 4)
    section = section_of(rows, SCALES | {"preference": "preference"})
    (one,) = section.comparisons.values()
    assert [*one.agreement] == ["as half"]
    assert section.confidence_level == 0.95


def test_the_level_allows_for_all_differences():
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    rows += [row | {"rater": "other"} for row in rows if row.get("kind") == "machine"]
    section = section_of(rows)
    assert [*section.comparisons] == [
        f"{scorer} (quality) vs {comparer}"
        for scorer in ("judge", "other")
        for comparer in ("judge", "other")
    ]
    assert section.confidence_level == pytest.approx(1 - 0.05 / 8)  # four, by two rules


def test_runs_of_a_score_are_averaged_before_they_are_compared():
    rows = rows_of([(2, 3)] * 4, [[-1]] * 4, [[-1]] * 4)
    rows += [score(f"i{n}", "a", 5, run="2") for n in range(4)]  # (2 + 5) / 2 is above 3
    one = section_of(rows).comparisons["judge (quality) vs judge"]
    assert (one.agreement["as half"].scores.value, one.score_answers) == (1, 12)


def test_strengths_count_by_their_side():
    rows = rows_of([(5, 1)] * 4, [[-2]] * 4, [[-1]] * 4)
    section = section_of(rows, SCALES | {"preference": "preference:5"})
    assert (
        section.comparisons["judge (quality) vs judge"].agreement["as an answer"].comparisons.value
        == 1
    )


def test_a_score_belongs_to_the_text_of_its_sample():
    rows = []
    for n in range(4):
        rows += [score(f"i{n}", "a", 1, sample_a=0), score(f"i{n}", "a", 5, sample_a=1)]
        rows += [score(f"i{n}", "b", 3, sample_a=0)]
        samples = {"sample_a": 1, "sample_b": 0}
        rows += [compared(f"i{n}", -1, "r") | samples, pairwise(f"i{n}", -1) | samples]
    one = section_of(rows).comparisons["judge (quality) vs judge"]
    assert (one.agreement["as half"].scores.value, one.score_answers) == (1, 8)


@pytest.mark.parametrize(
    "changed",
    [
        {"system_b": "b"},  # a score of a pair
        {"perturbation": "characters/typos/minor", "original_system": "a"},
        {"instance": "elsewhere"},
        {"instance": ""},
        {"kind": "human", "rater": "ann"},
    ],
)
def test_what_is_no_machines_score_of_a_compared_text_is_left_out(changed):
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    rows = [row | changed if row["criterion"] == "quality" else row for row in rows]
    section = section_of(rows)
    assert (section.comparisons, section.reason) == ({}, scoring.NOBODY)


def test_pairs_without_an_annotator_a_comparison_or_a_score_are_left_out():
    rows = rows_of([(5, 1)] * 5, [[-1]] * 5, [[-1]] * 5)
    dropped = [("i0", "quality", "machine"), ("i1", "preference", "machine")]
    dropped += [("i2", "preference", "human")]
    rows = [
        row
        for row in rows
        if (row["instance"], row["criterion"], row.get("kind", "human")) not in dropped
    ]
    one = section_of(rows).comparisons["judge (quality) vs judge"]
    assert (one.pairs, one.score_answers, one.comparison_answers) == (2, 4, 2)


def test_a_single_instance_is_not_enough():
    assert section_of(rows_of([(5, 1)], [[-1]], [[-1]])).reason == scoring.NOBODY


def test_labels_without_an_order_are_no_scores():
    rows = rows_of([("good", "bad")] * 4, [[-1]] * 4, [[-1]] * 4)
    section = section_of(rows, SCALES | {"quality": "nominal:good,bad"})
    assert section.reason == scoring.NOBODY


def test_of_many_combinations_those_with_the_most_pairs_are_shown():
    rows = rows_of([(5, 1)] * 3, [[-1]] * 3, [[-1]] * 3)
    names = [f"m{n}" for n in range(8)]
    machines = [row | {"rater": n} for row in rows if row.get("kind") == "machine" for n in names]
    fewer = [r for r in rows if (r["rater"], r["instance"]) != ("judge", "i0")]
    table = RatingTable.from_rows(fewer + machines)
    section = build_section(table, NAME, scales=SCALES, replicates=0).criteria["preference"]
    assert (len(section.comparisons), len(section.left_out)) == (60, 21)
    left = {name for name in section.left_out if "judge" in name}
    assert len(left) == 17  # all that have two pairs of texts only
    assert section.confidence_level == pytest.approx(1 - 0.05 / 120)


def test_ranks_of_systems_are_those_of_hand():
    values = {"a": 5, "b": 3, "c": 3, "d": 1}
    rows = [score(f"i{n}", name, value) for n in range(4) for name, value in values.items()]
    label = {"ab": 1, "ac": -1, "ad": -1, "bc": -1, "bd": -1, "cd": 1}  # people: b, a, d, c
    for n in range(4):
        for pair in map("".join, combinations("abcd", 2)):
            rows += [compared(f"i{n}", label[pair], "r", pair)]
            rows += [pairwise(f"i{n}", -1, pair=pair)]  # the judge: a, b, c, d
    one = section_of(rows).comparisons["judge (quality) vs judge"].systems
    people, judge, scores = [2, 3, 0, 1], [3, 2, 1, 0], [5, 3, 3, 1]
    assert (one.systems, one.reason) == (4, None)
    assert one.scores_with_annotators == pytest.approx(spearmanr(scores, people)[0])
    assert one.comparisons_with_annotators == pytest.approx(spearmanr(judge, people)[0])
    assert one.scores_with_comparisons == pytest.approx(spearmanr(scores, judge)[0])


def test_ranks_that_are_undefined_say_why():
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    one = section_of(rows).comparisons["judge (quality) vs judge"].systems
    assert (one.scores_with_annotators, one.reason) == (None, TOO_FEW_SYSTEMS)
    rows = [score(f"i{n}", name, 3) for n in range(4) for name in "abc"]
    for n in range(4):
        for pair in ("ab", "ac", "bc"):
            rows += [compared(f"i{n}", -1, "r", pair), pairwise(f"i{n}", -1, pair=pair)]
    one = section_of(rows).comparisons["judge (quality) vs judge"].systems
    assert (one.scores_with_annotators, one.reason) == (None, scoring.NO_RANKS)
    assert one.comparisons_with_annotators == 1


def test_scores_of_another_study_replace_those_of_the_table():
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    others = [score(f"i{n}", s, v, "scorer") for n in range(4) for s, v in (("a", 1), ("b", 5))]
    scores = Source(RatingTable.from_rows(others), {"quality": "ordinal:1..5"})
    section = build_section(RatingTable.from_rows(rows), NAME, scales=SCALES, scores=scores)
    of = section.criteria["preference"].comparisons
    assert [*of] == ["scorer (quality) vs judge"]
    assert of["scorer (quality) vs judge"].agreement["as half"].scores.value == 0
    report = build_report(
        RatingTable.from_rows(rows), scales=SCALES, sections=[NAME], scores=scores, replicates=0
    )
    assert [*report.criteria["preference"].scoring_against_pairwise.comparisons] == [*of]


def test_the_command_takes_scores_from_a_second_file(tmp_path, capsys):
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    files = {}
    for name in ("preference", "quality"):
        files[name] = tmp_path / f"{name}.jsonl"
        lines = [json.dumps(row) for row in rows if row["criterion"] == name]
        files[name].write_text("\n".join(lines) + "\n")
    out = tmp_path / "report.json"
    options = ["--section", NAME, "--out", str(out), "--replicates", "0"]
    assert main(["analyze", str(files["preference"]), *options]) == 0
    alone = json.loads(out.read_text())["criteria"]["preference"][NAME]
    assert alone["reason"] == scoring.NOBODY
    scores = ["--scores", str(files["quality"])]
    assert main(["analyze", str(files["preference"]), *scores, *options]) == 0
    joined = json.loads(out.read_text())["criteria"]["preference"][NAME]
    assert [*joined["comparisons"]] == ["judge (quality) vs judge"]
    missing = ["--scores", str(tmp_path / "none.jsonl")]
    assert main(["analyze", str(files["preference"]), *missing, *options]) != 0
    assert "none.jsonl" in capsys.readouterr().err


def random_study(seed: int, instances: int, noise: tuple[float, float]) -> list[dict]:
    """Return pairs of texts whose quality people, scores and a judge see with noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(instances):
        apart = rng.normal()
        of_scores = apart + noise[0] * rng.normal()
        rows += [score(f"i{n}", "a", 0), score(f"i{n}", "b", round(of_scores, 6))]
        judged = -1 if apart + noise[1] * rng.normal() < 0 else 1
        rows += [pairwise(f"i{n}", judged)]
        for k in range(2):
            vote = -1 if apart + rng.normal() < 0 else 1
            rows += [compared(f"i{n}", vote, f"r{k}")]
    return rows


def agreement_of(noise: float) -> float:
    """Return the probability that both a rater with this noise and a person see the same sign."""
    rho = 1 / np.sqrt(2 * (1 + noise**2))
    return 0.5 + np.arcsin(rho) / np.pi


@pytest.mark.slow
def test_a_known_difference_lies_in_its_interval_as_often_as_it_says():
    noise = (0.5, 1.5)
    truth = agreement_of(noise[0]) - agreement_of(noise[1])
    scales = {"quality": "interval", "preference": "preference"}
    covered = excluded = 0
    for seed in range(200):
        table = RatingTable.from_rows(random_study(seed, 100, noise))
        section = build_section(table, NAME, scales=scales, replicates=300, seed=seed)
        (one,) = section.criteria["preference"].comparisons.values()
        estimate = one.agreement["as half"].difference
        covered += estimate.low <= truth <= estimate.high
        excluded += estimate.low > 0
    assert 180 <= covered <= 199  # of 200: 95% less or more three standard errors
    assert excluded > 100


def test_texts_of_unknown_instances_are_not_taken_for_the_same():
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    assert section_of([row | {"instance": ""} for row in rows]).reason == scoring.NOBODY


def test_a_text_beside_itself_is_no_pair():
    rows = rows_of([(5, 1)] * 4, [[-1]] * 4, [[-1]] * 4)
    for row in [row for row in rows if row["criterion"] == "preference"]:
        rows.append(row | {"unit": f"{row['unit']} again", "system_b": "a"})
    assert section_of(rows).comparisons["judge (quality) vs judge"].pairs == 4


def league(instances: int, rng) -> list[dict]:
    """Return scores and comparisons of three systems whose order differs on rare instances."""
    rows = []
    for n in range(instances):
        quality = dict(zip("abc", (3, 2, 1) if is_rare(n) else (1, 2, 3), strict=True))
        rows += [score(f"i{n}", name, int(q + rng.integers(0, 3))) for name, q in quality.items()]
        for pair in ("ab", "ac", "bc"):
            votes = [-1 if quality[pair[0]] > quality[pair[1]] else 1, int(rng.choice([-1, 0, 1]))]
            rows += [compared(f"i{n}", vote, f"r{k}", pair) for k, vote in enumerate(votes)]
            rows += [
                pairwise(f"i{n}", int(rng.choice([-1, 0, 1])), pair=pair, run=str(k))
                for k in range(2)
            ]
    return rows


def is_rare(instance: int) -> bool:
    return instance % 2 == 0


def number_of(row: dict) -> int:
    return int(row["instance"][1:])


def drawn(rows: list[dict], *, has_control: bool = True) -> list[dict]:
    """Return the rows after a draw in which the rare instances weigh 3 and the others 1."""
    return [
        row
        | {
            "phase": "control" if has_control and number_of(row) % 8 < 2 else "selected",
            "inclusion_probability": 1 / 3 if is_rare(number_of(row)) else 1.0,
        }
        for row in rows
    ]


def repeated(rows: list[dict]) -> list[dict]:
    """Return the rows with each rare instance three times."""
    return [
        row | {"instance": f"{row['instance']}/{k}", "unit": f"{k}/{row['unit']}"}
        for row in rows
        for k in range(3 if is_rare(number_of(row)) else 1)
    ]


def numbers_of(one) -> list[float]:
    values = [e.value for of in one.agreement.values() for e in vars(of).values()]
    systems = [one.systems.scores_with_annotators, one.systems.comparisons_with_annotators]
    return [*values, one.scores_tied.value, one.comparisons_tied.value, *systems]


@pytest.mark.thorough
def test_after_a_draw_an_instance_counts_as_often_as_its_weight():
    rows = league(80, np.random.default_rng(2))
    weighted, often, unweighted = (
        section_of(some).comparisons["judge (quality) vs judge"]
        for some in (drawn(rows), repeated(rows), rows)
    )
    assert numbers_of(weighted) == pytest.approx(numbers_of(often))
    assert all(abs(np.subtract(numbers_of(weighted), numbers_of(unweighted))[:6]) > 1e-4)
    assert weighted.systems.scores_with_annotators != unweighted.systems.scores_with_annotators
    assert (weighted.pairs, weighted.score_answers) == (unweighted.pairs, unweighted.score_answers)


@pytest.mark.parametrize(("has_control", "instances"), [(True, "dataset"), (False, "selected")])
def test_after_a_draw_it_is_said_which_instances_are_described(has_control, instances):
    rows = drawn(league(80, np.random.default_rng(2)), has_control=has_control)
    (one,) = section_of(rows).comparisons.values()
    estimates = [e for of in one.agreement.values() for e in vars(of).values()]
    assert {e.scope.instances for e in (*estimates, one.scores_tied)} == {instances}
    assert one.systems.speaks_of == instances


def test_mean_scores_and_win_rates_of_systems_are_those_of_repeated_instances():
    rows = league(80, np.random.default_rng(2))
    of_drawn, of_repeated = (joint_of(some) for some in (drawn(rows), repeated(rows)))
    assert of_drawn == pytest.approx(of_repeated)
    assert of_drawn != pytest.approx(joint_of(rows))


def joint_of(rows: list[dict]) -> list[float]:
    """Return mean scores and annotators' win rates of the systems."""
    criteria = {c.name: c for c in read_criteria(RatingTable.from_rows(rows), SCALES, None)[0]}
    compared = scoring._Compared.of(criteria["preference"])
    ((_, joint),) = scoring._joint(compared, [criteria["quality"]])
    names = ["abc".index(text[1]) for text in joint.scores.number]
    first, second = (np.array(names)[side] for side in (joint.first, joint.second))
    scores = scoring._mean_scores(joint, np.array(names), 3)
    won = scoring._win_rates(joint, joint.rows[:, scoring.HUMANS], first, second)
    return [*scores.tolist(), *won.tolist()]
