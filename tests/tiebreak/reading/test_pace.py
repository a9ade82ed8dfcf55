"""By how much a count grew in each hour or day, which is drawn below it."""

import re
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


def drawn_with(*, hours: float) -> str:
    done = moments((0, 0), (0.5, 2), (3, 3))
    expected = NOON + timedelta(hours=hours)
    return time_chart(done, goal=9, finding="", unit="done", expected=expected).page()


def test_a_forecast_is_dashed_and_ends_at_the_goal_or_where_the_picture_ends():
    goal = "13.04"  # percent from the top, as room is left above it
    within, beyond = drawn_with(hours=5), drawn_with(hours=30)
    (at_goal,) = re.findall(r'd="M60 [\d.]+L100 ([\d.]+)"[^>]*stroke-dasharray', within)
    (cut,) = re.findall(r'd="M50 [\d.]+L100 ([\d.]+)"[^>]*stroke-dasharray', beyond)
    assert at_goal == goal
    assert float(cut) > float(goal)
    assert all(words in within for words in (">9 planned<", ">at about 17:00<", ">3 at 15:00<"))
    (planned,) = re.findall("<text[^>]*>9 planned<", within)
    assert "data-n" not in planned  # a phone names the line, too
    assert ">at about 5 Mar, 18:00<" in beyond
    assert re.search('class="y-tick" dy="-9"[^>]*>3 at 15:00<', within)  # not on the forecast
    assert ">at about 9 Mar<" in drawn_with(hours=5 * 24)
    assert max(int(n) for n in re.findall(r'class="y-tick" dx[^>]*>(\d+)<', within)) <= 9
    nothing = time_chart(moments((0, 0), (3, 3)), goal=9, finding="", unit="done")
    assert "stroke-dasharray" not in nothing.page()


def test_times_are_round_and_name_their_days():
    page = time_chart(moments((0, 0), (11, 3)), goal=9, finding="", unit="done").page()
    assert re.findall(r">(\d\d:\d\d)<", page) == [
        "12:00",
        "14:00",
        "16:00",
        "18:00",
        "20:00",
        "22:00",
    ]
    assert "4 Mar 2026, UTC" in page
    long = time_chart(moments((0, 0), (24 * 20, 3)), goal=9, finding="", unit="done").page()
    assert "4 Mar 2026 to 24 Mar 2026, UTC" in long
    assert re.findall(r">(\d+ Mar)<", long) == ["11 Mar", "18 Mar"]
