"""Ratings that are known, written in random layouts: each is read right, or the reader asks."""

import csv
import io
import json
from collections import Counter

import numpy as np
import pytest
from openpyxl import Workbook

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.layouts import read_existing

NAMES = (
    ("item_id", "annotator", "rating", "criterion", "text"),
    ("Einheit", "Kodierer", "Bewertung", "Kriterium", "Text"),
    ("exemple", "annotateur", "réponse", "critère", "texte"),
    ("编号", "标注者", "评分", "维度", "文本"),
    ("foo", "bar", "baz", "qux", "quux"),
)
RATERS = (
    ("rater_1", "rater_2", "rater_3"),
    ("A1", "A2", "A3"),
    ("Ann", "Ben", "Eva"),
    ("TM", "KL", "X"),
)
CRITERIA = ("fluency", "coherence")
LABELS = (
    ("1", "2", "3", "4", "5"),
    ("yes", "no"),
    ("0", "1"),
    ("0,5", "1,5", "2", "3,5"),
    ("1 - bad", "2 - fair", "3 - good"),
    ("12", "47", "83", "100"),
)
MISSING = ("", "NA", "nan", "n/a", "  ")
LAYOUTS = ("long", "raters", "criteria", "both")
SEEDS = 30


def one_of(rng, options):
    return options[rng.integers(len(options))]


def rated(rng, layout):
    """Return labels by item, rater and criterion, some of them missing, and their raters and criteria."""
    scale, raters = one_of(rng, LABELS), one_of(rng, RATERS)
    criteria = CRITERIA[:1] if layout == "raters" or rng.random() < 0.5 else CRITERIA
    keys = [(i, r, c) for i in range(rng.integers(6, 15)) for r in raters for c in criteria]
    return {k: None if rng.random() < 0.1 else one_of(rng, scale) for k in keys}, raters, criteria


def table(rng, truth, raters, criteria, layout):
    """Return the rows of a layout in any order, with columns in any order."""
    unit, rater, label, criterion, text = one_of(rng, NAMES)
    cells = {key: one_of(rng, MISSING) if cell is None else cell for key, cell in truth.items()}
    rows, has_words = [], rng.random() < 0.5
    for i in {item for item, _, _ in truth}:
        about = {unit: f"doc-{i}", text: f"The text of item {i} has several words, as texts do."}
        said = {
            r: {"wording": f"What {r} wrote of {i} herself"} if has_words else {} for r in raters
        }
        if layout == "raters":
            rows.append(about | {r: cells[i, r, criteria[0]] for r in raters})
        elif layout == "both":
            rows.append(about | {f"{c}_{r}": cells[i, r, c] for c in criteria for r in raters})
        elif layout == "criteria":
            rows += [
                about | said[r] | {rater: r} | {c: cells[i, r, c] for c in criteria} for r in raters
            ]
        else:
            named = [(r, c) for r in raters for c in criteria]
            rows += [
                about | said[r] | {rater: r, criterion: c, label: cells[i, r, c]} for r, c in named
            ]
    order = rng.permutation(list(rows[0]))
    rng.shuffle(rows)
    return [{name: row[name] for name in order} for row in rows]


def written(rng, rows, folder):
    """Write the rows as a file of a random format, separator and encoding."""
    kind = one_of(rng, ("csv", "csv", "csv", "json", "jsonl", "xlsx"))
    path = folder / f"ratings.{kind}"
    if kind == "xlsx":
        book = Workbook()
        for cells in (list(rows[0]), *(list(row.values()) for row in rows)):
            book.active.append(cells)
        book.save(path)
    elif kind == "csv":
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), delimiter=one_of(rng, (",", ";", "\t")))
        writer.writeheader()
        writer.writerows(rows)
        encoding = one_of(rng, ("utf-8", "utf-8-sig", "utf-16"))
        path.write_text(out.getvalue(), encoding=encoding, newline="")
    elif kind == "json":
        path.write_text(json.dumps(rows, ensure_ascii=False))
    else:
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    return path


def plain(label):
    """Return what a label says: 1 for "1 - bad", 0.5 for "0,5"."""
    text = str(label).partition(" - ")[0].replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return text


def by_item(ratings, criteria):
    """Return for each item who gave which label, without the items' names."""
    items = {}
    for item, rater, criterion, label in ratings:
        said = criterion if len(criteria) > 1 else ""
        items.setdefault(item, []).append((rater, said, plain(label)))
    return Counter(tuple(sorted(of_item, key=str)) for of_item in items.values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_layout_is_misread_in_silence(layout, tmp_path):
    right = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng((LAYOUTS.index(layout), seed))
        truth, raters, criteria = rated(rng, layout)
        rows = table(rng, truth, raters, criteria, layout)
        (folder := tmp_path / str(seed)).mkdir()
        try:
            read = read_existing(written(rng, rows, folder))
        except (DomainError, InvalidInput):
            continue
        columns = [read.table[name] for name in ("unit", "rater", "criterion", "label")]
        found = [row for row in zip(*columns, strict=True) if row[3] not in MISSING]
        given = [(*key, label) for key, label in truth.items() if label is not None]
        assert by_item(found, criteria) == by_item(given, criteria), (seed, rows[:2], read.notes)
        right += 1
    # Names that say nothing are asked for and not guessed.
    assert right > SEEDS / 2
