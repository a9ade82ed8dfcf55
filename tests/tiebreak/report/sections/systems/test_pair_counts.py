"""How often each system of a pair was preferred, counted over people's ratings."""

from tests.metrics.studies import preferences, report_of
from tiebreak.report.model.systems import PairCounts


def counts_of(rows: list[dict], **options) -> dict[str, PairCounts]:
    (section,) = report_of(rows, **options).criteria.values()
    return section.systems.counts


def test_preferences_ties_and_both_bad_are_counted_by_system():
    rows = preferences([[-2, -1, 0], [1, "bad", -1]])
    (pair,) = counts_of(rows, scales={"preference": "preference:5+bad"}).values()
    assert pair == PairCounts(
        systems=("a", "b"),
        units=2,
        instances=2,
        raters=3,
        ratings=6,
        first=3,
        ties=1,
        second=1,
        bad=1,
    )


def test_a_pair_is_one_whichever_of_its_systems_is_a():
    swapped = [
        row | {"unit": "v", "system_a": "b", "system_b": "a"} for row in preferences([[-1, -1]])
    ]
    (pair,) = counts_of(preferences([[-1, 1, 1]]) + swapped).values()
    assert (pair.first, pair.second, pair.units, pair.instances) == (1, 4, 2, 1)


def test_machines_and_unparsed_answers_are_not_counted():
    rows = preferences([[-1, 0]])
    machine = [row | {"rater": "judge", "kind": "machine"} for row in rows[:1]]
    unparsed = [machine[0] | {"rater": "other", "label": None, "raw": "?"}]
    (pair,) = counts_of(rows + machine + unparsed).values()
    assert (pair.ratings, pair.raters) == (2, 2)


def test_each_pair_of_systems_has_its_counts():
    third = [row | {"unit": f"c{row['unit']}", "system_b": "c"} for row in preferences([[1]] * 3)]
    counts = counts_of(preferences([[-1]] * 2) + third)
    assert {name: (pair.first, pair.second) for name, pair in counts.items()} == {
        "a vs b": (2, 0),
        "a vs c": (0, 3),
    }
