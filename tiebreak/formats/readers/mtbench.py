"""MT-Bench's votes of people and machines on pairs, and machines' scores of single answers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of, rows_of, text_cell
from tiebreak.formats.readers.pairs import added_by_exports, flag_later_votes
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which answer is better?")
SCORE = CriterionSpec("score", "interval", "How good is the answer, from 1 to 10?")
LABELS = {"model_a": -1, "model_b": 1, "tie": 0, "tie (inconsistent)": 0}
# In a pair of games, the sides of the models are swapped in the second one; winners are not.
GAMES = {
    "g1": {"model_1": -1, "model_2": 1, "tie": 0},
    "g2": {"model_1": 1, "model_2": -1, "tie": 0},
}
MAX_RAW = 1000


def read_mtbench(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read votes and judgments from CSV, JSON or JSON Lines.

    Votes have the columns `question_id`, `model_a`, `model_b`, `turn` and `winner`, and those of
    people also `judge`. Judgments of pairs have `model_1`, `model_2` and the winners of two games
    with swapped sides, `g1_winner` and `g2_winner`; judgments of single answers have `model` and
    `score`. Systems are ordered alphabetically, whatever their side in a vote. If a judge voted on
    the same unit again, the later votes are flagged as superseded. The turns of a question are one
    instance. Only judgments of two games say which answer came first.
    """
    ratings = [
        {**rating, "line": line}
        for path in files_of(paths, "*.csv")
        for line, row in rows_of(path)
        for rating in _ratings(row, path, line)
    ]
    flag_later_votes(ratings)
    names = {
        str(row[side]) for row in ratings for side in ("system_a", "system_b") if row.get(side)
    }
    used = {str(row["criterion"]) for row in ratings}
    spec = StudySpec(
        title="MT-Bench judgments",
        criteria=tuple(c for c in (PREFERENCE, SCORE) if c.name in used) or (PREFERENCE,),
        systems=tuple(sorted(names)),
        settings={"comparisons_per_hit": 1},
    )
    instances = [InstanceRow(name) for name in dict.fromkeys(row["instance"] for row in ratings)]
    return Converted(spec, instances, [], ratings)


def _ratings(row: Row, path: Path, line: int) -> Iterator[Row]:
    if "g1_winner" in row or "g2_winner" in row:
        for game, labels in GAMES.items():
            yield _of_game(row, game, labels, path, line)
    elif "score" in row:
        yield _score(row, path, line)
    else:
        yield _vote(row, path, line)


def _vote(row: Row, path: Path, line: int) -> Row:
    first, second = (text_cell(row, name, path, line) for name in ("model_a", "model_b"))
    winner = text_cell(row, "winner", path, line)
    # A machine is named with its prompt, as a list; people have a name alone.
    is_human = "judge" in row and not isinstance(row["judge"], list)
    label = LABELS.get(winner)
    if is_human and label is None:
        reason = f"winner must be one of {', '.join(LABELS)}, not {winner!r}"
        raise FormatError.of(path.name, line, "unknown_value", reason)
    common = _pair(row, (first, second), path, line)
    return {
        **common,
        "rater": _judge(row, path, line) if "judge" in row else "gpt-4",
        "kind": "human" if is_human else "machine",  # a machine's winner covers both orders
        **_answer(label, first, common, winner),
        **added_by_exports(row),
    }


def _of_game(row: Row, game: str, labels: dict[str, int], path: Path, line: int) -> Row:
    """Return the verdict of one game; what is no winner is kept raw."""
    models = [text_cell(row, name, path, line) for name in ("model_1", "model_2")]
    left, right = models if game == "g1" else models[::-1]
    winner = text_cell(row, f"{game}_winner", path, line)
    common = _pair(row, (left, right), path, line)
    is_first = left == common["system_a"]
    raw = str(row.get(f"{game}_judgment") or winner)[:MAX_RAW]
    return {
        **common,
        "rater": _judge(row, path, line),
        "kind": "machine",
        "side_a": "left" if is_first else "right",
        "order": "ab" if is_first else "ba",
        **_answer(labels.get(winner), left, common, raw),
        **added_by_exports(row),
    }


def _score(row: Row, path: Path, line: int) -> Row:
    """Return a score; −1 means an answer without one."""
    score, (instance, turn) = cell(row, "score", path, line), _question(row, path, line)
    model = text_cell(row, "model", path, line)
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise FormatError.of(
            path.name, line, "unknown_value", f"score is no number: {score!r}"[:200]
        )
    raw = str(row.get("judgment") or "none")[:MAX_RAW]
    return {
        "unit": f"{turn}/{model}",
        "rater": _judge(row, path, line),
        "kind": "machine",
        "criterion": SCORE.name,
        "instance": instance,
        "system_a": model,
        **({"label": None, "raw": raw} if score < 0 else {"label": score}),
        **added_by_exports(row),
    }


def _pair(row: Row, shown: tuple[str, str], path: Path, line: int) -> Row:
    """Return what is compared, in alphabetical order."""
    a, b = sorted(shown)
    instance, turn = _question(row, path, line)
    return {
        "unit": f"{turn}/{a}/{b}",
        "criterion": PREFERENCE.name,
        "instance": instance,
        "system_a": a,
        "system_b": b,
    }


def _answer(label: int | None, first: str, common: Row, raw: str) -> Row:
    if label is None:
        return {"label": None, "raw": raw}
    return {"label": label if first == common["system_a"] else -label}


def _question(row: Row, path: Path, line: int) -> tuple[str, str]:
    """Return the question, which is an instance, and its turn."""
    question = text_cell(row, "question_id", path, line)
    return question, f"{question}/{cell(row, 'turn', path, line)}"


def _judge(row: Row, path: Path, line: int) -> str:
    judge: Any = cell(row, "judge", path, line)
    return str(judge[0]) if isinstance(judge, list) and judge else str(judge)


def _knows(head: Head) -> bool:
    is_vote = head.has("question_id", "model_a", "model_b", "turn", "winner")
    of_arena = head.has("language") or head.has("tstamp")
    return (is_vote and not of_arena) or head.has("question_id", "g1_winner", "g2_winner")


READER: Reader = Reader(read_mtbench, _knows)
