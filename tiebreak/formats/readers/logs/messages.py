"""Requests to and responses of OpenAI's and Anthropic's interfaces, in batches, logs and training files."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiebreak.formats import FormatError
from tiebreak.formats.readers.converted import Converted, files_of, rows_of
from tiebreak.formats.readers.logs.samples import (
    ERROR,
    MEDIA,
    HasMedia,
    Log,
    LoggedText,
    first_object,
    study_of,
    text_of_content,
    turns_of,
)
from tiebreak.formats.readers.recognition import Reader
from tiebreak.formats.rows import Row

KIND = "log of messages"
REQUESTS = "requests, which give the answers their prompts"
NO_ANSWER = "conversations that do not end with an answer"
UNKNOWN = "is no line of a batch, no request with its response, and no conversation of OpenAI or Anthropic"

Turns = list[dict[str, str]]


def is_message_log(path: Path) -> bool:
    """Whether a file's first line is of a batch, or a request with its response.

    A file of conversations alone is not taken for one, because tables have them, too.
    """
    row = first_object(path)
    return bool(_in_batch(row)) or _is_exchange(row)


def read_messages(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read answers of models with their prompts, from JSON Lines or a JSON list.

    Lines are of OpenAI's or Anthropic's batches (requests in one file, answers in another, related
    by `custom_id`), a `request` with its `response`, a response alone, or a conversation in
    `messages` that ends with the answer. Without a `custom_id`, equal prompts are one sample.
    """
    rows = {path: _rows(path) for path in files_of(paths, "*.jsonl")}
    requests = {
        str(row["custom_id"]): row.get("body") or row["params"]
        for numbered in rows.values()
        for _, row in numbered
        if _in_batch(row) == "request"
    }
    return study_of(KIND, [_log(path, own, requests) for path, own in rows.items()], systems)


def _rows(path: Path) -> list[tuple[int, Row]]:
    rows = rows_of(path)
    is_one = bool(rows) and all("role" in row and "content" in row for _, row in rows)
    return [(1, {"messages": [row for _, row in rows]})] if is_one else rows


def _in_batch(row: Row) -> str:
    """Say which line of a batch it is: "request" or "answer", or "" for none."""
    if "custom_id" not in row:
        return ""
    if isinstance(row.get("response") or row.get("result") or row.get("error"), dict):
        return "answer"
    return "request" if isinstance(row.get("body") or row.get("params"), dict) else ""


def _is_exchange(row: Row) -> bool:
    return isinstance(row.get("request"), dict) and isinstance(row.get("response"), dict)


def _log(path: Path, rows: list[tuple[int, Row]], requests: dict[str, Row]) -> Log:
    log, counts = Log(path.name), Counter[tuple[str, str]]()
    for number, row in rows:
        if _in_batch(row) == "request":
            log.left_out[REQUESTS] += 1
            continue
        try:
            found = _answer(row, path, number)
            prompt = _asked(row, requests)
        except HasMedia:
            log.left_out[MEDIA] += 1
            continue
        if isinstance(found, str):
            log.left_out[found] += 1
            continue
        model, texts = found
        name = str(row.get("custom_id") or _name_of(prompt, row))
        for text in texts:
            index = counts[name, model]
            counts[name, model] += 1
            log.add(
                LoggedText(name, model, text, prompt, index, json.dumps(prompt) if prompt else "")
            )
    return log


def _answer(row: Row, path: Path, number: int) -> str | tuple[str, list[str]]:
    """Return the model and its texts, or what is to be counted instead."""
    if _in_batch(row):
        body = _body(row)
        return ERROR if body is None else (str(body["model"]), list(_texts(body)))
    if _is_exchange(row):
        model = row["response"].get("model") or row["request"]["model"]
        return str(model), list(_texts(row["response"]))
    if isinstance(row.get("messages"), list):
        last = row["messages"][-1] if row["messages"] else {}
        if last.get("role") != "assistant":
            return NO_ANSWER
        return str(row.get("model") or path.stem), [text_of_content(last.get("content"))]
    if "model" in row and ("choices" in row or "output" in row or row.get("type") == "message"):
        return str(row["model"]), list(_texts(row))
    raise FormatError.of(path.name, number, "unknown_layout", UNKNOWN)


def _body(row: Row) -> Row | None:
    """Return the response in a line of a batch, or None if its request failed."""
    if "result" in row:  # Anthropic's
        body: Row | None = row["result"].get("message")
        return body if row["result"]["type"] == "succeeded" else None
    response = row.get("response") or {}
    return response["body"] if response.get("status_code") == 200 else None


def _texts(body: Row) -> Iterator[str]:
    """Yield the texts of a response: of chat completions, of OpenAI's Responses, or of Anthropic's Messages."""
    if "choices" in body:
        for choice in body["choices"]:
            yield text_of_content(choice["message"].get("content"))
    elif "output" in body:
        parts = [item for item in body["output"] if item["type"] == "message"]
        yield "\n\n".join(text_of_content(item["content"]) for item in parts)
    else:
        yield text_of_content(body["content"])


def _asked(row: Row, requests: dict[str, Row]) -> Turns:
    """Return the prompt in a request, or all of a conversation but its last turn."""
    if str(row.get("custom_id")) in requests:
        return _prompt(requests[str(row["custom_id"])])
    if _is_exchange(row):
        return _prompt(row["request"])
    messages = row.get("messages")
    return _prompt({**row, "messages": messages[:-1]}) if isinstance(messages, list) else []


def _prompt(request: Row) -> Turns:
    """Return what a request gives the model; Anthropic and OpenAI's Responses keep instructions apart."""
    given = request["messages"] if "messages" in request else request["input"]
    turns = turns_of([{"role": "user", "content": given}] if isinstance(given, str) else given)
    system = request.get("system") or request.get("instructions")
    return [{"role": "system", "content": text_of_content(system)}] * bool(system) + turns


def _name_of(prompt: Turns, row: Row) -> str:
    if not prompt:
        return str(row["id"])
    return f"prompt-{hashlib.sha256(json.dumps(prompt).encode()).hexdigest()[:12]}"


READER: Reader = Reader(read_messages)
