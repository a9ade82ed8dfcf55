"""Tables of shares, in which larger shares are darker."""

from collections.abc import Sequence

from tiebreak.digits import percent
from tiebreak.reading.charts.svg import (
    COLOURS,
    NOTHING,
    Kind,
    Svg,
    name_text,
    svg,
    tag,
    text,
    width_of,
)

CELL_WIDTH, CELL_HEIGHT, TOP, MARGIN = 72, 40, 72, 20
# Text on the darkest cell is still easy to read.
DARKEST = 0.45


def matrix_chart(
    names: Sequence[str],
    shares: Sequence[Sequence[float | None]],
    *,
    finding: str,
    labels: tuple[str, str],
    columns: Sequence[str] | None = None,
    kind: Kind = "human",
) -> Svg:
    """Draw a row per name, and a column per name unless there are other columns.

    ``labels`` name the rows and the columns. A row without known shares is left empty.
    """
    columns = names if columns is None else columns
    known = [share for row in shares for share in row if share is not None]
    if not known:
        return NOTHING
    left = 16 + max(map(width_of, names))
    cell = max(CELL_WIDTH, *(16 + width_of(name) for name in columns))
    body = [
        text(2, 16, f"rows: {labels[0]}", "start"),
        text(2, 34, f"columns: {labels[1]}", "start"),
    ]
    for column, name in enumerate(columns):
        body.append(name_text(left + cell * (column + 0.5), TOP - 14, name, "middle"))
    for row, name in enumerate(names):
        top = TOP + CELL_HEIGHT * row
        body.append(name_text(left - 8, top + CELL_HEIGHT / 2 + 4, name))
        for column, share in enumerate(shares[row]):
            body.append(_cell(left + cell * column, top, cell, share, kind))
    height = TOP + CELL_HEIGHT * len(names) + MARGIN
    words = "; ".join(
        _row_in_words(columns, name, row) for name, row in zip(names, shares, strict=True)
    )
    width = max(left + cell * len(columns), max(map(width_of, labels)) + 60) + MARGIN
    return svg(width, height, f"{finding}. {labels[0]}, {labels[1]}: {words}", body)


def _cell(left: float, top: float, width: float, share: float | None, kind: Kind) -> str:
    name = kind.partition("-")[0]
    rect = tag(
        "rect",
        x=left,
        y=top,
        width=width - 2,
        height=CELL_HEIGHT - 2,
        class_=name,
        fill=COLOURS[name],
        fill_opacity=0.04 + (DARKEST - 0.04) * (share or 0.0),
    )
    words = "–" if share is None else percent(share)
    return rect + text(left + width / 2, top + CELL_HEIGHT / 2 + 4, words, css_class="name")


def _row_in_words(columns: Sequence[str], name: str, row: Sequence[float | None]) -> str:
    cells = [
        f"{other} {percent(share)}"
        for other, share in zip(columns, row, strict=True)
        if share is not None
    ]
    return f"{name}: {', '.join(cells) or 'no items'}"
