"""Battles of the LMArena (Chatbot Arena): two models answer, and a person votes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError, InstanceRow
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, checked_text
from tiebreak.formats.readers.pairs import (
    LEFT,
    RIGHT,
    TIE,
    Comparisons,
    Side,
    added_by_exports,
    required,
    table_rows,
    text_of,
)
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.nesting import decoded, is_conversation, question_of
from tiebreak.scales import BAD

PREFERENCE = CriterionSpec("preference", "preference:tie+bad", "Which answer is better?")
VOTES: dict[str, int | str] = {
    "model_a": LEFT,
    "model_b": RIGHT,
    "tie": TIE,
    "tie (bothbad)": BAD,
    "both_bad": BAD,
}
WINNERS = (("winner_model_a", LEFT), ("winner_model_b", RIGHT), ("winner_tie", TIE))


def read_lmarena(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read battles with `model_a`, `model_b` and the vote in `winner` or `winner_model_a`, ….

    The texts are in `conversation_a` and `conversation_b`, or in `prompt`, `response_a` and
    `response_b`. Each battle is its own instance, because each has its own prompt. Voters are
    people, unless a column `kind` says that they are machines.
    """
    battles = Comparisons("LMArena battles", PREFERENCE)
    for path, line, row in table_rows(paths):
        instance = text_of(row, "question_id", "id") or f"{path.stem}-{line}"
        left, right = (_side(row, path, line, name) for name in ("a", "b"))
        source, messages = _source(row, path, line)
        category = text_of(row, "category", "language")
        known = InstanceRow(instance, source, messages, category)
        battles.instances.setdefault(instance, known)
        rater = text_of(row, "judge", "judge_hash", "evaluation_session_id") or f"voter-{instance}"
        facts = {"rater": rater, **_kind(row), "line": line} | added_by_exports(row)
        battles.vote(instance, left, right, _vote(row, path, line), **facts)
    return battles.converted()


def _kind(row: Row) -> Row:
    """Return who voted, and whether the file says so."""
    kind = text_of(row, "kind")
    if kind not in ("human", "machine"):
        return {"kind": "human"}
    return {"kind": kind, "states_kind": True}


def _side(row: Row, path: Path, line: int, name: str) -> Side:
    system = required(row, path, line, f"model_{name}")
    column = f"conversation_{name}" if row.get(f"conversation_{name}") else f"response_{name}"
    return Side(system, checked_text(decoded(row.get(column)), column, path, line))


def _source(row: Row, path: Path, line: int) -> tuple[str, list[Any]]:
    conversation = decoded(row.get("conversation_a"))
    if not is_conversation(conversation):
        return checked_text(decoded(row.get("prompt")), "prompt", path, line), []
    turns = question_of(conversation)
    return (turns[0]["content"], []) if len(turns) == 1 else ("", turns)


def _vote(row: Row, path: Path, line: int) -> int | str:
    if "winner" not in row:
        won = [vote for name, vote in WINNERS if text_of(row, name) in {"1", "1.0", "True"}]
        if len(won) == 1:
            return won[0]
    winner = text_of(row, "winner")
    if winner not in VOTES:
        reason = f"winner must be one of {', '.join(VOTES)}, not {winner!r}"[:200]
        raise FormatError.of(path.name, line, "unknown_value", reason)
    return VOTES[winner]


def _knows(head: Head) -> bool:
    """Whether votes have what only the arena notes; MT-Bench has the same columns otherwise."""
    is_battle = head.has("model_a", "model_b", "winner", "conversation_a")
    notes = {"language", "tstamp", "anony", "evaluation_session_id"}
    return head.has("winner_model_a", "winner_tie") or (is_battle and bool(notes & {*head.columns}))


READER: Reader = Reader(read_lmarena, _knows)
