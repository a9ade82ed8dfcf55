"""Tables of ratings as rows, and the labels that are read from them."""

from tiebreak.formats.layouts import Choice, read_existing

CRITERIA = ("fluency", "tone")


def labels_of(rows, *, columns=None):
    """Return the labels by criterion, item and rater."""
    table = read_existing(rows, choice=Choice(columns=columns or {})).table
    columns = [table[name] for name in ("criterion", "unit", "rater", "label")]
    return {(c, u, r): label for c, u, r, label in zip(*columns, strict=True)}


def long(labels, **more):
    """Return rows of two raters who gave these labels to as many items."""
    return [
        {"item": f"i{k}", "annotator": rater, "rating": label}
        | {name: cells[k] for name, cells in more.items()}
        for k, label in enumerate(labels)
        for rater in ("ann", "ben")
    ]


def text_of(row, number):
    return f"What does glacier {(row + number) % 5} say to glacier {row * number % 7}?"


def graded(name, parts, **more):
    """Return rows with a column for each part of some names and each criterion."""
    return [
        {"text": text_of(k, 1)}
        | {name.format(part, c): (k + n) % 5 for n, part in enumerate(parts) for c in CRITERIA}
        | {column: cell.format(k) for column, cell in more.items()}
        for k in range(12)
    ]
