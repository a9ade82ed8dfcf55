"""Responses of LimeSurvey with the codes of questions as headings.

The columns of an array of questions end in the code of the subquestion, in square brackets.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tiebreak.formats import FormatError
from tiebreak.formats.readers.answers import Answers, counted
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import table_rows
from tiebreak.formats.readers.questionnaires import PARTIAL, Column, add_responses
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
_TIMING = re.compile(r"groupTime\d+|.+Time")
_ARRAY = re.compile(r"(.+?)\[(.+)\]")


def read_limesurvey(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read responses; those without a `submitdate` are unfinished and flagged."""
    answers = Answers("Imported from LimeSurvey", ", ".join(path.name for path in paths))
    n = 0
    for path in paths:
        rows = [row for _, _, row in table_rows([path])]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not {*KNOWN} <= {*names}:
            reason = f"lacks a column of {', '.join(KNOWN)}. Export responses with question codes"
            raise FormatError.of(path.name, None, "other_layout", reason)
        has_times = any(name.startswith("groupTime") for name in names)
        asked = [n for n in names if n not in ABOUT and not (has_times and _TIMING.fullmatch(n))]
        answers.left_out[PARTIAL] += sum(not row["submitdate"] for row in rows)
        responses = (
            (str(row.get("id") or k), row, {} if row["submitdate"] else {"partial": True})
            for k, row in enumerate(rows, start=1)
        )
        add_responses(answers, list(map(_column, asked)), responses)
        n += len(rows)
    return answers.converted(f"This is an export of LimeSurvey: {counted(n, 'response')}.")


def _column(name: str) -> Column:
    array = _ARRAY.fullmatch(name)
    return Column(name, array[1], item=array[2]) if array else Column(name, name)


READER = Reader(read_limesurvey, lambda head: head.has(*KNOWN))
