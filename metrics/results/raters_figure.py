"""Figures of single annotators: agreement with the others against speed, and speed over tasks."""

from collections.abc import Sequence

from metrics.results.rater_rows import RaterRow, TaskSpeed
from tiebreak.digits import duration
from tiebreak.reading.charts.curves import Series, range_chart, scatter_chart
from tiebreak.reading.charts.svg import Kind
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.stats import Estimate

SPEED_TITLE = "Agreement of annotators with the others, and their speed"
SPEED_READING = (
    "Each point is an annotator: the typical time per answer (geometric mean, in seconds) and how"
    " often the answer equals the most frequent answer of the others. Someone who is much faster"
    " than the others and agrees less may not be reading. This is a reason to look at the answers,"
    " not a proof: some people read fast, and some disagree with good reason."
)
SPEED_COLUMNS = (
    "rater",
    "ratings",
    "agreement_with_others",
    "compared_units",
    "typical_seconds",
    "first_shown_preferred",
    "checks_right",
    "checks",
)
MAX_POINTS = 500
FATIGUE_TITLE = "Speed by task"
FATIGUE_READING = (
    "Each point is the typical time per answer (geometric mean, in seconds) in annotators' first,"
    " second, third task and so on. Becoming faster is usual, because annotators learn. Later tasks have"
    " answers of fewer annotators, and those who stay may differ from those who leave."
)


def speed_figure(rows: Sequence[RaterRow]) -> Figure:
    points: list[tuple[float, float, Kind, str]] = [
        (row.facts.seconds, row.agreement.value, "human", row.facts.name)
        for row in rows
        if row.facts.seconds is not None and row.agreement.is_defined
    ]
    if not points:
        return empty_figure(
            "rater-speed", SPEED_TITLE, "No annotator has both times and items rated by others."
        )
    sentence = f"{len(points):,} annotators."
    if len(points) > MAX_POINTS:
        sentence += f" The chart shows the {MAX_POINTS} with the least agreement."
    chart = scatter_chart(
        points[:MAX_POINTS],
        finding=SPEED_TITLE,
        x_label="seconds per answer",
        y_label="agreement with the others",
    )
    return Figure(
        "rater-speed",
        SPEED_TITLE,
        sentence,
        chart,
        SPEED_COLUMNS,
        tuple(row.cells for row in rows),
        SPEED_READING,
    )


def fatigue_figure(speeds: Sequence[TaskSpeed]) -> Figure:
    if len(speeds) < 2:
        return empty_figure(
            "fatigue", FATIGUE_TITLE, "Fewer than two annotators have done a second task."
        )
    points = tuple((s.task, Estimate(s.seconds, n=s.annotators)) for s in speeds)
    highest = max(speed.seconds for speed in speeds)
    chart = range_chart(
        [Series("human", "seconds per answer", points, words=duration)],
        [0.5, speeds[-1].task + 0.5],
        finding=FATIGUE_TITLE,
        x_label="task of the annotator",
        y_label="seconds per answer",
        y_bounds=(0, highest * 1.1),
    )
    first, last = speeds[0], speeds[-1]
    sentence = (
        f"{duration(first.seconds)} seconds per answer in the first task ({first.annotators:,} annotators),"
        f" {duration(last.seconds)} in task {last.task} ({last.annotators:,})."
    )
    rows = tuple((s.task, s.seconds, s.annotators) for s in speeds)
    columns = ("task", "seconds_per_answer", "annotators")
    return Figure("fatigue", FATIGUE_TITLE, sentence, chart, columns, rows, FATIGUE_READING)
