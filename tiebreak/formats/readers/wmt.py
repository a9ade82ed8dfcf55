"""Human evaluation of machine translation as WMT publishes it: MQM, and scores of segments (SQM).

Both have `system`, `doc`, `doc_id`, `seg_id`, `rater`, `source` and `target`; SQM has `score`, and
MQM a row for each error with `category` and `severity`. A rater's MQM score of a segment is minus
the sum of its errors' weights.

Source: Freitag et al. 2021, Experts, Errors, and Context, table 12 of weights: 5 for a major error,
1 for a minor one, 0.1 for minor punctuation, 25 for a non-translation.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats import FormatError, GenerationRow
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import required, table_rows
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row

MQM, SCORE = "mqm", "score"
QUESTIONS = {MQM: "Which errors does the translation have?", SCORE: "How good is the translation?"}
WEIGHTS = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0}
PUNCTUATION, NON_TRANSLATION = 0.1, 25.0
# Rows by which raters were checked.
CHECK = "hotw-test"
KEYS = ("system", "doc", "doc_id", "seg_id", "rater")


def read_wmt(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read TSV files of MQM errors and of scores. Translations are kept without their marks of errors.

    `systems` is ignored, because each row names its system.
    """
    answers = Answers("Human evaluation of machine translation", paths[0].name, {MQM: "interval"})
    answers.questions = QUESTIONS
    penalties: defaultdict[tuple[str, str, str], float] = defaultdict(float)
    texts: dict[tuple[str, str], str] = {}
    errors = 0
    for path, line, row in table_rows(paths):
        system, doc, rater = (required(row, path, line, k) for k in ("system", "doc", "rater"))
        key = answers.item(f"{doc}/{required(row, path, line, 'seg_id')}", str(row["source"] or ""))
        text = re.sub("</?v>", "", str(row.get("target") or ""))
        texts.setdefault((key, system), text)
        if "severity" in row:
            severity = required(row, path, line, "severity").lower()
            if severity == CHECK:
                answers.left_out["rows that check raters"] += 1
                continue
            errors += severity != "no-error"
            penalties[key, system, rater] += _weight(
                severity, str(row.get("category") or ""), path, line
            )
            continue
        facts = _facts(key, system)
        answers.add(SCORE, row.get("score"), rater=answers.rater(rater), **facts)
    for (key, system, rater), penalty in penalties.items():
        label = 0.0 - round(penalty, 6)
        answers.add(MQM, label, rater=answers.rater(rater), **_facts(key, system))
    answers.generations = [GenerationRow(*of, 0, text) for of, text in texts.items() if text]
    answers.systems = tuple(sorted({system for _, system in texts}))
    answers.settings = {"unit_kind": "generation"}
    return answers.converted(_about(len(penalties), errors))


def _about(scored: int, errors: int) -> str:
    if not scored:
        return "These are scores of machine translations by WMT."
    return (
        f"These are MQM errors of machine translations by WMT: {counted(errors, 'error')} in"
        f" {counted(scored, 'rated segment')}; a score is minus the sum of the weights (major 5,"
        " minor 1, minor punctuation 0.1, non-translation 25)."
    )


def _facts(key: str, system: str) -> Row:
    return {"unit": f"{key}/{system}", "instance": key, "system_a": system, "sample_a": 0}


def _weight(severity: str, category: str, path: Path, line: int) -> float:
    kind = category.lower()
    if kind.startswith("non-translation") and severity == "major":
        return NON_TRANSLATION
    if kind == "fluency/punctuation" and severity == "minor":
        return PUNCTUATION
    if severity not in WEIGHTS:
        reason = (
            f"the severity {severity!r} has no published weight; the severities are"
            f" {', '.join(WEIGHTS)}"
        )
        raise FormatError.of(path.name, line, "unknown_value", reason)
    return WEIGHTS[severity]


def _knows(head: Head) -> bool:
    return head.has(*KEYS) and (head.has("severity", "category") or head.has("score"))


READER: Reader = Reader(read_wmt, _knows)
