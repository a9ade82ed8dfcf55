"""The composite of machines, on the same items as everything that it is compared with."""

import numpy as np
import pytest

from tests.tiebreak.report.test_sections import of
from tiebreak.formats import RatingTable
from tiebreak.report.build import build_section
from tiebreak.report.sections.machines.composite import TOO_FEW


def rows_of(units=40, skill=(("chatty", "chat"), ("newsy", "news")), skips=()):
    """Return ratings by three people who mostly agree, and machines with one good category each."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(units):
        category, truth = ("chat", "news")[number % 2], int(rng.choice([-1, 1]))
        about = {"unit": f"u{number}", "instance": f"u{number}", "category": category}
        rows += [
            about | {"rater": f"r{i}", "label": truth if rng.random() < 0.9 else -truth}
            for i in range(3)
        ]
        rows += [
            about
            | {"rater": name, "kind": "machine"}
            | {"label": truth if category == good else -truth}
            for name, good in skill
            if (name, number) not in skips
        ]
    return rows


def section_of(rows):
    table = RatingTable.from_rows(rows)
    (section,) = build_section(table, "composite", replicates=100).criteria.values()
    return section


def test_the_composite_uses_the_good_machine_of_each_category():
    section = section_of(rows_of())
    assert (section.folds, section.n_units, section.reason) == (10, 40, None)
    assert section.chosen == {"chat": {"chatty": 10}, "news": {"newsy": 10}}
    chatty, newsy = section.machines["chatty"], section.machines["newsy"]
    composite = section.composite
    assert composite.categories["chat"].value == chatty.categories["chat"].value > 0.8
    assert composite.categories["news"].value == newsy.categories["news"].value > 0.8
    assert composite.all_units.value > max(chatty.all_units.value, newsy.all_units.value) + 0.2
    assert composite.all_units.low < composite.all_units.value < composite.all_units.high
    assert composite.all_units.n == section.humans.all_units.n == 40


def test_the_values_of_humans_and_machines_are_those_of_the_strata():
    about = of(rows_of(), sections=["composite"])
    stratum = about.strata[0]
    humans = about.composite.humans.all_units.value
    assert humans == pytest.approx(stratum.human_human.leave_one_out.value)
    (chat,) = (one for one in about.strata if (one.stratifier, one.stratum) == ("category", "chat"))
    machine = about.composite.machines["chatty"]
    assert (
        machine.categories["chat"].value
        == chat.machines["chatty"].human_machine.leave_one_out.value
    )
    assert machine.all_units.value == stratum.machines["chatty"].human_machine.leave_one_out.value


@pytest.mark.slow
def test_machines_of_coin_flips_make_no_composite_that_is_better_than_they_are():
    rng = np.random.default_rng(1)
    composites, bests = [], []
    for _ in range(12):
        rows = [
            row | ({"label": int(rng.choice([-1, 1]))} if row.get("kind") else {})
            for row in rows_of(60, [(f"m{i}", "") for i in range(8)])
        ]
        section = section_of(rows)
        composites.append(section.composite.all_units.value)
        in_sample = [
            max(one.categories[name].value for one in section.machines.values())
            for name in ("chat", "news")
        ]
        bests.append(np.mean(in_sample))
    assert np.mean(composites) == pytest.approx(0.5, abs=0.06)
    assert np.mean(bests) > 0.58


def test_all_rows_speak_of_the_items_that_every_machine_answered():
    skips = {("chatty", number) for number in range(10)}
    section = section_of(rows_of(skips=skips))
    assert section.n_units == 30 == section.humans.all_units.n
    assert {one.all_units.n for one in section.machines.values()} == {30}
    assert not section.left_out


def test_a_machine_with_few_answers_is_left_out_and_named():
    skill = (("chatty", "chat"), ("newsy", "news"), ("lazy", "chat"))
    skips = {("lazy", number) for number in range(21)}
    section = section_of(rows_of(skill=skill, skips=skips))
    assert (section.n_units, section.left_out) == (40, {"lazy": 19})
    assert "lazy" not in section.machines


def test_an_answer_that_cannot_be_read_counts_against_the_composite():
    rows = [
        row | ({"label": None, "raw": "?"} if row["rater"] == "newsy" else {}) for row in rows_of()
    ]
    section = section_of(rows)
    assert section.machines["newsy"].all_units.value == 0
    assert section.chosen["chat"] == {"chatty": 10}


@pytest.mark.parametrize("skill", [(), (("chatty", "chat"),)])
def test_fewer_than_two_machines_make_no_composite(skill):
    section = section_of(rows_of(skill=skill))
    assert (section.composite, section.reason) == (None, TOO_FEW)


def test_items_without_a_category_are_one_category():
    rows = [{key: row[key] for key in row if key != "category"} for row in rows_of()]
    section = section_of(rows)
    assert [*section.composite.categories] == ["undefined"]
    assert section.composite.all_units.value <= 1


def drawn(rows, *, has_control=True):
    """Return the rows after a draw in which every third instance came in rarely, and weighs 4."""
    return [
        row
        | {
            "phase": "control" if has_control and number % 8 < 2 else "selected",
            "inclusion_probability": 0.25 if is_rare(number) else 1.0,
        }
        for row in rows
        for number in [int(row["instance"][1:])]
    ]


def is_rare(number: int) -> bool:
    return number % 3 == 0


def repeated(rows):
    """Return the rows with each rare unit four times."""
    return [
        row | {"unit": f"{row['unit']}/{k}"}
        for row in rows
        for k in range(4 if is_rare(int(row["instance"][1:])) else 1)
    ]


def values_of(section):
    raters = {"humans": section.humans, "composite": section.composite, **section.machines}
    return {
        (name, category): one.value
        for name, by in raters.items()
        for category, one in {"all": by.all_units, **by.categories}.items()
    }


@pytest.mark.thorough
def test_after_a_draw_an_instance_counts_as_often_as_its_weight():
    """Machines that are right on the rare instances only, or on all others, change places."""
    rows = [
        row | ({"label": -row["label"]} if row["rater"] == name and wrong else {})
        for row in rows_of(160, skill=[("rare", "chat"), ("often", "chat")])
        for name, wrong in [(row["rater"], _is_wrong(row))]
    ]
    weighted, twice, unweighted = map(section_of, (drawn(rows), repeated(rows), rows))
    assert values_of(weighted) == pytest.approx(values_of(twice))
    assert weighted.chosen == twice.chosen != unweighted.chosen
    one = weighted.composite
    assert {e.scope.instances for e in (one.all_units, *one.categories.values())} == {"dataset"}
    assert unweighted.composite.all_units.scope.instances == "new"
    selected = section_of(drawn(rows, has_control=False))
    assert selected.humans.all_units.scope.instances == "selected"


def _is_wrong(row):
    """Whether the label of `rows_of`, which is right in chat and wrong in news, is to be turned."""
    number, is_chat = int(row["instance"][1:]), row["category"] == "chat"
    if row.get("kind") != "machine":
        return False
    return (is_rare(number) == (row["rater"] == "rare")) != is_chat
