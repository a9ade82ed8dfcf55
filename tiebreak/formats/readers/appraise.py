"""Scores of Appraise, whose export has no header: a row for each judgement of a segment or document.

The columns are user, system, item, type of item, source language, target language and score; then,
with documents, the document and whether the score is of the whole document; then start and end
in seconds. Items of type TGT are translations; the others are there to check annotators.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats import FormatError
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.tables import open_table

SEGMENT = ("user", "system", "item", "type", "source", "target", "score", "start", "end")
DOCUMENT = (*SEGMENT[:7], "document", "is_document", *SEGMENT[7:])
SCORE, OF_DOCUMENT = "score", "document score"
SCALES = dict.fromkeys((SCORE, OF_DOCUMENT), "interval:0..100")
CHECKS = {"BAD": "degraded items", "CHK": "repeated items", "REF": "references as checks"}
_LINE = re.compile(
    r"[^,\t]+[,\t][^,\t]+[,\t]\d+[,\t](TGT|BAD|CHK|REF)[,\t]\w{2,8}[,\t]\w{2,8}[,\t]\d+([,\t]|$)"
)


def read_appraise(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read exports of scores; checks of annotators are left out. `systems` is ignored."""
    answers = Answers("Imported from Appraise", paths[0].name, SCALES, {SCORE: "How good is it?"})
    named: dict[str, None] = {}
    n = 0
    for path in paths:
        for line, row in _rows(path):
            n += 1
            if row["type"] != "TGT":
                what = CHECKS.get(row["type"], f"items of the type {row['type']}")
                answers.left_out[f"scores of {what}"] += 1
                continue
            named[row["system"]] = None
            is_document = row.get("is_document", "").lower() in ("true", "1")
            languages = f"{row['source']}-{row['target']}"
            parts = (languages, row.get("document"), "" if is_document else row["item"])
            key = answers.item("/".join(filter(None, parts)), category=languages)
            answers.add(
                OF_DOCUMENT if is_document else SCORE,
                row["score"],
                unit=f"{key}/{row['system']}",
                rater=answers.rater(row["user"]),
                instance=key,
                system_a=row["system"],
                sample_a=0,
                category=languages,
                duration_ms=_milliseconds(row, path, line),
            )
    answers.systems = tuple(sorted(named))
    answers.settings = {"unit_kind": "generation"}
    return answers.converted(f"This is an export of Appraise: {counted(n, 'score')}.")


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    with open_table(path) as table, table.files[0].open(encoding="utf-8-sig", newline="") as file:
        separator = "\t" if "\t" in file.readline() else ","
        file.seek(0)
        for line, cells in enumerate(csv.reader(file, delimiter=separator), start=1):
            if cells:
                names = DOCUMENT if len(cells) >= len(DOCUMENT) else SEGMENT
                if len(cells) < len(names) or not _LINE.match("\t".join(cells)):
                    reason = f"is no score of Appraise, whose columns are {', '.join(SEGMENT)}"
                    raise FormatError.of(path.name, line, "other_layout", reason)
                yield line, dict(zip(names, cells, strict=False))


def _milliseconds(row: dict[str, str], path: Path, line: int) -> int:
    try:
        return max(0, round(1000 * (float(row["end"]) - float(row["start"]))))
    except (ValueError, OverflowError):
        reason = "its start and end must be times in seconds"
        raise FormatError.of(path.name, line, "not_a_number", reason) from None


def _knows(head: Head) -> bool:
    lines = [line for line in head.lines if line.strip()]
    return bool(lines) and all(map(_LINE.match, lines))


READER: Reader = Reader(read_appraise, _knows)
