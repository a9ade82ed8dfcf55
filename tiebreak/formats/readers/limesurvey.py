"""Responses of LimeSurvey with the codes of questions as headings, or with codes and words.

The columns of an array of questions end in the code of the subquestion, in square brackets.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats import FormatError
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import table_rows
from tiebreak.formats.readers.questionnaires import Column, add_responses
from tiebreak.formats.readers.recognition import Reader

KNOWN = ("submitdate", "lastpage", "startlanguage")
# About the response and its times, not answers.
ABOUT = {
    "id",
    "seed",
    "token",
    "startdate",
    "datestamp",
    "ipaddr",
    "refurl",
    "interviewtime",
    *KNOWN,
}
_NO_ANSWER = re.compile(r"groupTime\d+|.+Time|.*\[(comment|other)\]")
_ARRAY = re.compile(r"(.+?)\[(.+)\]")
# A code alone, or with the words behind it: "Q1[SQ1]. How good is it? [Text A]".
_HEADING = re.compile(r"([A-Za-z]\w*(?:\[[^\]]+\])?)(?:\. (.*))?", re.DOTALL)


def read_limesurvey(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read responses; those without a `submitdate` are unfinished, and their answers count."""
    answers = Answers("Imported from LimeSurvey", ", ".join(path.name for path in paths))
    n = unfinished = 0
    for path in paths:
        rows = [row for _, _, row in table_rows([path])]
        names = _codes(dict.fromkeys(name for row in rows for name in row))
        if not {*KNOWN} <= names.keys():
            reason = f"lacks a column of {', '.join(KNOWN)}. Export responses with question codes"
            raise FormatError.of(path.name, None, "other_layout", reason)
        columns = []
        for code, (name, words) in names.items():
            if _NO_ANSWER.fullmatch(code):
                what = f"answers of {code}, which are free text or times"
                answers.left_out[what] += sum(row.get(name) is not None for row in rows)
            elif code not in ABOUT:
                columns.append(_column(name, code, words))
        ids = names.get("id", ("", ""))[0]
        raters = [str(row.get(ids) or number) for number, row in enumerate(rows, start=1)]
        add_responses(answers, columns, zip(raters, rows, strict=True))
        n += len(rows)
        unfinished += sum(not row[names["submitdate"][0]] for row in rows)
    about = f"This is an export of LimeSurvey: {counted(n, 'response')}"
    return answers.converted(f"{about}, {unfinished} of them unfinished.")


def _codes(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the column and the words of each code."""
    matches = ((name, _HEADING.fullmatch(name)) for name in names)
    return {match[1]: (name, (match[2] or "").strip()) for name, match in matches if match}


def _column(name: str, code: str, words: str) -> Column:
    array = _ARRAY.fullmatch(code)
    return Column(name, array[1], words, array[2]) if array else Column(name, code, words)


READER: Reader = Reader(read_limesurvey, lambda head: {*KNOWN} <= _codes(head.columns).keys())
