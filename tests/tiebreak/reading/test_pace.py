"""By how much a count grew in each hour or day, which is drawn below it."""

from datetime import UTC, datetime, timedelta

from tiebreak.reading.charts.curves import per_step, time_chart

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def moments(*steps: tuple[float, int]) -> list[tuple[datetime, int]]:
    return [(NOON + timedelta(hours=hours), n) for hours, n in steps]


def test_a_moment_at_the_end_of_an_hour_belongs_to_it():
    counted = moments((0, 0), (0.5, 2), (1, 5), (1.25, 6), (3.5, 10))
    assert per_step(counted) == (timedelta(hours=1), {0: 5, 1: 1, 3: 4})


def test_long_collections_are_counted_by_day():
    counted = moments((0, 0), (23, 4), (49, 7), (24 * 6, 8))
    assert per_step(counted) == (timedelta(days=1), {0: 4, 2: 3, 5: 1})


def test_a_bar_stands_for_each_hour_in_which_the_count_grew():
    drawn = time_chart(moments((0, 0), (0.5, 2), (3, 3)), goal=9, finding="So far", unit="done")
    assert str(drawn).count("<rect") == 2
    within_an_hour = time_chart(moments((0, 0), (0.5, 2)), goal=9, finding="So far", unit="done")
    assert "<rect" not in str(within_an_hour)
