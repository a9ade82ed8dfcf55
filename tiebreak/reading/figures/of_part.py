"""Figures of a part of a study's ratings, which state no finding, and of simulated ratings."""

from dataclasses import replace

from tiebreak.reading.figures.figure import Figure

SIMULATED = "Ratings are simulated."


def of_part(figure: Figure, part: str) -> Figure:
    """Return the figure of a part, named in words, with its title in place of its finding."""
    if not figure.is_of_ratings:
        return figure
    title = f"{figure.title or figure.finding}: {part}"
    if not figure.chart:
        return replace(figure, finding=title)
    return replace(
        figure,
        finding=title,
        sentence=_reasons(figure) if figure.title else figure.sentence,
        chart=replace(figure.chart, finding=title, rests=""),
    )


def with_part_column(figure: Figure, part: str) -> Figure:
    """Return the figure with data of which each row names its part."""
    return _with_column(figure, "part", part)


def of_simulated(figure: Figure) -> Figure:
    """Return the figure with a notice and data that say that programs gave ratings."""
    if not figure.is_of_ratings:
        return figure
    title = f"{figure.finding} (simulated)"
    chart = replace(figure.chart, finding=title, notice=SIMULATED)
    return replace(_with_column(figure, "simulated", "yes"), finding=title, chart=chart)


def _with_column(figure: Figure, name: str, value: str) -> Figure:
    columns, rows = (*figure.columns, name), tuple((*row, value) for row in figure.rows)
    return replace(figure, columns=columns, rows=rows)


def _reasons(figure: Figure) -> str:
    """Return why numbers or intervals are missing, each reason once."""
    if "reason" not in figure.columns:
        return ""
    column = figure.columns.index("reason")
    return " ".join(dict.fromkeys(str(row[column]) for row in figure.rows if row[column]))
