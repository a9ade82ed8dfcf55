"""Nested cells: objects become columns with dots in their names, conversations become texts."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tiebreak.formats.rows import Row
from tiebreak.formats.tables.problems import BadCell

MAX_NESTING = 4
# Keys of an object in a list that name the system which wrote its text, and that hold the text.
NAME_KEYS = ("system", "model", "generator", "model_name", "system_name", "llm", "name", "source")
TEXT_KEYS = (
    "text",
    "output",
    "response",
    "answer",
    "completion",
    "content",
    "generation",
    "summary",
)
# Keys of a turn of a conversation, and who speaks: as OpenAI, Anthropic and ShareGPT write them.
ROLE_KEYS, CONTENT_KEYS = ("role", "from", "speaker", "author"), ("content", "value", "text")
SPEAKERS = (
    dict.fromkeys(("user", "human", "prompter"), "user")
    | dict.fromkeys(("assistant", "gpt", "bot", "model", "ai", "chatgpt"), "assistant")
    | {"system": "system"}
)
_STARTS = re.compile(r"\s*(human|user|prompter)\s*:", re.IGNORECASE)
_SPEAKER = re.compile(r"\n\n(human|user|prompter|assistant|gpt|bot|ai)\s*:", re.IGNORECASE)
DIFFERENT = "The texts of the row answer different messages, so they cannot be compared."
SAMPLES_KEYS = ("samples", "texts", "outputs", "responses", "answers", "completions", "generations")


def flattened(row: Row) -> Row:
    """Return a row in which each nested object is spread over columns such as `outputs.gpt-4`."""
    return dict(_flat("", row, 0))


def _flat(prefix: str, cells: Row, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in cells.items():
        name = f"{prefix}{key}"
        nested = _by_name(standard_turns(value))
        if isinstance(nested, dict) and nested and depth < MAX_NESTING:
            yield from _flat(f"{name}.", nested, depth + 1)
        else:
            yield name, standard_turns(value)


def _by_name(value: Any) -> Any:
    """Turn a list of objects that each name a system into an object of their texts by system."""
    if is_conversation(value) or not _is_list_of_objects(value):
        return value
    name_key = _key_of(value, NAME_KEYS)
    text_key = _key_of(value, (*TEXT_KEYS, *SAMPLES_KEYS))
    if name_key is None or text_key is None:
        return value
    texts: dict[str, list[Any]] = {}
    for item in value:
        cell = item[text_key]
        own = cell if isinstance(cell, list) else [cell]
        texts.setdefault(text_of(item[name_key]), []).extend(own)
    return {name: own[0] if len(own) == 1 else own for name, own in texts.items()}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _key_of(items: list[dict[str, Any]], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if all(item.get(key) for item in items)), None)


def text_of(value: Any) -> str:
    """Return a cell as text; a list of texts becomes paragraphs. Raise `BadCell` for what is no text."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return "\n\n".join(map(text_of, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = json.dumps(value, ensure_ascii=False, default=repr)[:60]
        raise BadCell("not_a_text", f"The cell is no text, number or list of texts: {shown}")
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def is_json(value: Any) -> bool:
    """Whether a cell is an object or list, or a text that holds one, other than texts or turns."""
    if isinstance(value, str) and value.strip().startswith(("{", "[")):
        value = _parsed(value)
    value = standard_turns(value)
    is_text = is_list_of_texts(value) or is_conversation(value)
    return isinstance(value, dict | list) and not is_text


def standard_turns(value: Any) -> Any:
    """Return a conversation in any usual layout as turns with role and content, or the value itself."""
    if not _is_list_of_objects(value):
        return value
    turns = [_turn(item) for item in value]
    return value if None in turns else turns


def _turn(item: Row) -> dict[str, str] | None:
    role = next((item[key] for key in ROLE_KEYS if isinstance(item.get(key), str)), None)
    content = next((item[key] for key in CONTENT_KEYS if key in item), None)
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = text_of(parts) if is_list_of_texts(parts) else None
    known = "role" in item or str(role).lower() in SPEAKERS
    if role is None or not known or not isinstance(content, str):
        return None
    return {"role": SPEAKERS.get(role.lower(), role), "content": content}


def is_conversation(value: Any) -> bool:
    """Whether a cell is a list of turns with role and content."""
    return _is_list_of_objects(value) and all(
        isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str) for turn in value
    )


def is_list_of_texts(value: Any) -> bool:
    """Whether a cell is a list of texts, such as the samples of one system."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def answer_of(turns: list[dict[str, Any]]) -> str:
    """Return what the assistant wrote: one text, or all from its first turn on with the roles."""
    start = next((i for i, turn in enumerate(turns) if turn["role"] == "assistant"), len(turns))
    return _joined(turns[start:])


def question_of(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the turns before the assistant's first turn: what the systems were given."""
    start = next((i for i, turn in enumerate(turns) if turn["role"] == "assistant"), len(turns))
    return turns[:start]


def shared_turns(conversations: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the turns with which all conversations begin, so that a text is left of each.

    Raises `BadCell` if they have different questions.
    """
    first = conversations[0]
    if len(conversations) == 1:
        return question_of(first)
    longest = min(map(len, conversations)) - 1
    same = (all(c[i] == first[i] for c in conversations) for i in range(longest))
    shared = first[: next((i for i, is_same in enumerate(same) if not is_same), longest)]
    questions = [question_of(c) for c in conversations]
    if not shared and any(questions) and any(q != questions[0] for q in questions):
        raise BadCell("different_dialogues", DIFFERENT)
    return shared


def text_after(shared: list[dict[str, Any]], turns: list[dict[str, Any]]) -> str:
    """Return what a conversation has after its first turns: one text, or all turns with the roles."""
    is_shared = turns[: len(shared)] == shared
    return _joined(turns[len(shared) :] if is_shared else turns)


def _joined(turns: list[dict[str, Any]]) -> str:
    if len(turns) < 2:
        return "".join(turn["content"] for turn in turns)
    return "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in turns)


def _transcript(text: str) -> list[dict[str, str]] | None:
    """Return the turns of a transcript such as "Human: …\\n\\nAssistant: …", or None."""
    parts = _SPEAKER.split(f"\n\n{text.lstrip()}")
    if parts[0].strip() or len(parts) < 5:
        return None
    turns = [
        {"role": SPEAKERS[name.lower()], "content": content.strip()}
        for name, content in zip(parts[1::2], parts[2::2], strict=True)
    ]
    return turns if {"user", "assistant"} <= {turn["role"] for turn in turns} else None


def decoded(value: Any) -> Any:
    """Return the list that a text holds as JSON or as a transcript, or the value as it is."""
    if not isinstance(value, str):
        return value
    if _STARTS.match(value):
        return _transcript(value) or value
    if not value.startswith("[") or not value.endswith("]"):
        return value
    cell = standard_turns(_parsed(value))
    return cell if is_list_of_texts(cell) or is_conversation(cell) else value


def _parsed(text: str) -> Any:
    """Return what a text holds as JSON, or the text if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
