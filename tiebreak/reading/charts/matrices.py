"""Tables of shares, in which larger shares are darker."""

from collections.abc import Iterator, Sequence
from functools import partial

from tiebreak.digits import percent
from tiebreak.reading.charts.chart import LINE_HEIGHT, NOTHING, Chart, Strip
from tiebreak.reading.charts.svg import Canvas, Fixed, Kind, width_of, wrapped

# Text on the darkest cell is still easy to read.
DARKEST = 0.45
# The width of all columns on a narrow page and on a wide one.
NARROW, WIDE = 250, 780
# How many columns have room for percent signs, for numbers on a narrow page, and for any numbers.
FEW, SEVERAL, MANY = 6, 9, 12
UNIT = "; cells: %"


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
    shares is a heading. Columns whose names do not fit above them have numbers, which a wide page
    needs only where two lines have no room for the names.
    """
    columns = names if columns is None else columns
    if all(share is None for row in shares for share in row):
        return NOTHING
    is_numbered = max(map(width_of, columns)) > NARROW / len(columns) - 6
    lines = [wrapped(name, WIDE / len(columns) - 6) for name in columns]
    most = max(map(len, lines))
    fit = len(columns) <= SEVERAL and most <= 2
    strips = [
        Strip(words=f"rows: {labels[0]}{UNIT * (len(columns) > FEW)}", css="start"),
        Strip(words=f"columns: {labels[1]}", css="start"),
    ]
    if is_numbered:
        legend = ", ".join(f"{n} {name}" for n, name in enumerate(columns, start=1))
        strips.append(Strip(words=legend, css="numbered" if fit else "start"))
    heads = partial(_heads, lines if fit or not is_numbered else [], is_numbered)
    strips.append(
        Strip(draw=partial(heads, len(columns)), size="cell" if fit and most > 1 else "ticks")
    )
    for name, row in zip(names, shares, strict=True):
        cells = Strip(name, partial(_cells, row, kind), size="cell")
        strips.append(cells if row else Strip(name, css="group"))
    words = "; ".join(
        _row_in_words(columns, name, row) if row else name
        for name, row in zip(names, shares, strict=True)
    )
    return Chart(finding, f"{labels[0]}, {labels[1]}: {words}", tuple(strips))


def _heads(
    lines: Sequence[Sequence[str]], is_numbered: bool, n_columns: int, canvas: Canvas
) -> Iterator[str]:
    """Write the names of columns, or numbers on a page that is narrow, in files and without names."""
    if is_numbered:
        shown = {"data_n": 0} if lines else {}
        for n in range(n_columns):
            yield canvas.text(((n + 0.5) / n_columns, 0.5), str(n + 1), "tick", dy=5, **shown)
    if is_numbered and isinstance(canvas, Fixed):
        return
    shown = {"data_n": 2} if is_numbered else {}
    for n, name in enumerate(lines):
        for k, line in enumerate(name):
            dy = 5 + LINE_HEIGHT * (k - (len(name) - 1) / 2)
            yield canvas.text(((n + 0.5) / n_columns, 0.5), line, "tick", dy=dy, **shown)


def _cells(row: Sequence[float | None], kind: Kind, canvas: Canvas) -> Iterator[str]:
    name, width = kind.removesuffix("-open"), 1 / len(row)
    for n, share in enumerate(row):
        opacity = 0.04 + (DARKEST - 0.04) * (share or 0.0)
        words = "–" if share is None else percent(share)
        ends = ((n + 0.02) * width, 0.03), ((n + 0.98) * width, 0.97)
        yield canvas.bar(*ends, name, words, fill_opacity=opacity)
        if len(row) <= MANY:
            hidden = {"data_n": 1} if len(row) > SEVERAL else {}
            words = words.removesuffix("%") if len(row) > FEW else words
            yield canvas.text(((n + 0.5) * width, 0.5), words, "cell", dy=5, **hidden)


def _row_in_words(columns: Sequence[str], name: str, row: Sequence[float | None]) -> str:
    cells = [
        f"{other} {percent(share)}"
        for other, share in zip(columns, row, strict=True)
        if share is not None
    ]
    return f"{name}: {', '.join(cells) or 'no items'}"
