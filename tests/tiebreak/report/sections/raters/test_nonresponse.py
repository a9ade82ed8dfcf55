"""Answers without a label are counted in their section and enter nothing else."""

import random

import pytest

from tests.metrics.studies import checked, odd_study, preferences, report_of
from tests.tiebreak.report.small_study import small_study
from tiebreak.nonresponse import BROKEN, CANNOT_SAY
from tiebreak.report.criterion import NO_LABELS
from tiebreak.report.left_out import PREFIX
from tiebreak.report.registry import on_request
from tiebreak.report.sections.raters.nonresponse import MAX_LISTED
from tiebreak.stats.core.proportions import wilson_interval

Row = dict[str, object]
ANSWER = ("label", "raw", "probabilities", "repeat", "role", "excluded")


def unlabelled(row: Row, code: str = CANNOT_SAY, **more: object) -> Row:
    facts = {name: value for name, value in row.items() if name not in ANSWER}
    return facts | {"label": None, "nonresponse": code, "reason": "alike"} | more


def with_nonresponses(rows: list[Row], rng: random.Random) -> list[Row]:
    """Return the rows among answers without a label of old and new raters, to old and new items."""
    people = {(row["rater"], row.get("kind", "human")) for row in rows}
    raters = [*sorted(people), ("new", "human"), ("robot", "machine")]
    taken = {(row["unit"], row.get("criterion"), row["rater"]) for row in rows}
    mixed = list(rows)
    for number, row in enumerate(rng.choices(rows, k=2 * len(rows))):
        rater, kind = rng.choice(raters)
        unit = rng.choice([row["unit"], f"new{number}"])
        role = rng.choice(["main", "main", "repeat", "gold"])
        who = {"unit": unit, "rater": rater, "kind": kind}
        key = (unit, row.get("criterion"), rater)
        if role == "repeat":  # of an answer with a label
            who = {}
        if role == "repeat" or key not in taken:
            taken.add(key)
            code, is_excluded = rng.choice([CANNOT_SAY, BROKEN]), rng.random() < 0.2
            added = unlabelled(row, code, **who, role=role, excluded=is_excluded)
            mixed.insert(rng.randint(0, len(mixed)), added)
    return mixed


def leaves(rows: list[Row], **options: object) -> tuple[object, int]:
    """Return a report without what counts rows, and how many criteria have the section."""
    report = checked(report_of(rows, **options)).as_json()
    del report["source"]
    report["problems"].pop(f"{PREFIX}known columns", None)
    return report, sum("nonresponse" in about for about in report["criteria"].values())


@pytest.mark.parametrize("seed", range(6))
def test_answers_without_a_label_change_no_other_number(seed):
    rng = random.Random(seed)
    rows, scales = odd_study(rng) if seed else (small_study(), {})
    options = {"scales": scales, "sections": () if seed else on_request()}
    expected, without = leaves(rows, **options)
    found, with_section = leaves(with_nonresponses(rows, rng), **options)
    assert (without, with_section > 0) == (0, bool(expected["criteria"]))
    for about in found["criteria"].values():
        about.pop("nonresponse", None)
    assert found == expected


def test_answers_are_counted_by_rater_item_and_system():
    rows = preferences([[-1, 0, 1], [1, 1, -1]])
    other = {"unit": "u2", "system_a": "b", "system_b": "c"}
    rows += [
        unlabelled(rows[0], rater="r3"),
        unlabelled(rows[0], BROKEN, rater="r4"),
        unlabelled(rows[3], rater="r4"),
        unlabelled(rows[0], rater="r0", **other),
        # Flagged answers, repeats and other roles are not counted, and what cannot be read neither.
        unlabelled(rows[0], rater="r5", excluded=True),
        unlabelled(rows[0], rater="r3", role="repeat"),
        unlabelled(rows[0], rater="r5", role="gold"),
        unlabelled(rows[0], BROKEN, rater="judge", kind="machine"),
        rows[3] | {"rater": "judge", "kind": "machine"},
        rows[0] | other | {"rater": "judge", "kind": "machine", "label": None, "raw": "?"},
    ]
    part = checked(report_of(rows)).criteria["preference"].nonresponse
    people, judge = part.humans, part.machines["judge"]

    def listed(rows):
        return [(one.name, one.answers, *one.counts.values()) for one in rows]

    assert listed([people, judge]) == [("annotators", 10, 3, 1), ("judge", 2, 0, 1)]
    assert listed(people.systems) == [("a", 9, 2, 1), ("b", 10, 3, 1), ("c", 1, 1, 0)]
    assert listed(people.raters) == [("r4", 2, 1, 1), ("r3", 1, 1, 0), ("r0", 3, 1, 0)]
    assert listed(people.items) == [("u0", 5, 1, 1), ("u2", 1, 1, 0), ("u1", 4, 1, 0)]
    shares = {name: (one.value, one.low, one.high) for name, one in people.shares.items()}
    assert shares["all"] == (0.4, *wilson_interval(4, 10))
    assert shares[BROKEN] == (0.1, *wilson_interval(1, 10))
    assert (judge.shares["all"].value, judge.raters_left_out) == (0.5, 0)


def test_only_so_many_items_are_listed_as_somebody_reads():
    rows = preferences([[-1, 1]] * (MAX_LISTED + 3))
    rows += [unlabelled(row, rater="r3") for row in rows[::2]]
    people = report_of(rows).criteria["preference"].nonresponse.humans
    assert (len(people.items), people.items_left_out, people.raters_left_out) == (MAX_LISTED, 3, 0)


def test_a_criterion_of_which_no_answer_has_a_label_says_so():
    rows = preferences([[-1, 1]])
    rows += [unlabelled(row, criterion="style") for row in rows]
    report = report_of(rows)
    assert report.problems["style"] == NO_LABELS
    assert list(report.criteria) == ["preference"]
