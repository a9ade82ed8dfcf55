"""Tables of shares, in which larger shares are darker."""

from collections.abc import Iterator, Sequence
from functools import partial

from tiebreak.digits import percent
from tiebreak.reading.charts.chart import NOTHING, Chart, Strip
from tiebreak.reading.charts.svg import Canvas, Kind, width_of

# Text on the darkest cell is still easy to read.
DARKEST = 0.45
# The width of all columns on a narrow page, and how many of them have room for their numbers there
# and on a wide one.
NARROW, FEW, MANY = 250, 6, 9


def matrix_chart(
    names: Sequence[str],
    shares: Sequence[Sequence[float | None]],
    *,
    finding: str,
    labels: tuple[str, str],
    columns: Sequence[str] | None = None,
    kind: Kind = "human",
) -> Chart:
    """Draw a row per name, and a column per name unless there are other columns.

    ``labels`` name the rows and the columns. A row without known shares is left empty, and one without
    shares is a heading. Columns whose names do not fit above them have numbers.
    """
    columns = names if columns is None else columns
    if all(share is None for row in shares for share in row):
        return NOTHING
    room = NARROW / len(columns) - 6
    heads, numbered = list(columns), ""
    if any(width_of(name) > room for name in columns):
        heads = [str(n) for n in range(1, len(columns) + 1)]
        pairs = zip(heads, columns, strict=True)
        numbered = ": " + ", ".join(f"{head} {name}" for head, name in pairs)
    strips = [
        Strip(words=f"rows: {labels[0]}", css="start"),
        Strip(words=f"columns: {labels[1]}{numbered}", css="start"),
        Strip(draw=partial(_heads, heads), size="ticks"),
    ]
    for name, row in zip(names, shares, strict=True):
        cells = Strip(name, partial(_cells, row, kind), size="cell")
        strips.append(cells if row else Strip(name, css="group"))
    words = "; ".join(
        _row_in_words(columns, name, row) if row else name
        for name, row in zip(names, shares, strict=True)
    )
    return Chart(finding, f"{labels[0]}, {labels[1]}: {words}", tuple(strips))


def _heads(heads: Sequence[str], canvas: Canvas) -> Iterator[str]:
    for n, head in enumerate(heads):
        yield canvas.text(((n + 0.5) / len(heads), 0.5), head, dy=5)


def _cells(row: Sequence[float | None], kind: Kind, canvas: Canvas) -> Iterator[str]:
    name, width = kind.removesuffix("-open"), 1 / len(row)
    for n, share in enumerate(row):
        opacity = 0.04 + (DARKEST - 0.04) * (share or 0.0)
        words = "–" if share is None else percent(share)
        ends = ((n + 0.02) * width, 0.03), ((n + 0.98) * width, 0.97)
        yield canvas.bar(*ends, name, words, fill_opacity=opacity)
        if len(row) <= MANY:
            hidden = {"data_n": 1} if len(row) > FEW else {}
            yield canvas.text(((n + 0.5) * width, 0.5), words, "cell", dy=5, **hidden)


def _row_in_words(columns: Sequence[str], name: str, row: Sequence[float | None]) -> str:
    cells = [
        f"{other} {percent(share)}"
        for other, share in zip(columns, row, strict=True)
        if share is not None
    ]
    return f"{name}: {', '.join(cells) or 'no items'}"
