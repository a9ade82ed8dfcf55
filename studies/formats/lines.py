"""Text files line by line: UTF-8 or a named problem, and no line that fills the memory."""

import json
import math
from collections.abc import Iterator
from typing import BinaryIO

from studies.formats.limits import Limits

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SKIP = 1024 * 1024


class BadLine(ValueError):
    """A line that cannot be used; its text is the reason."""


def decoded_lines(stream: BinaryIO, limits: Limits) -> Iterator[tuple[int, str | BadLine]]:
    """(line number from 1, text with its line ending), or the reason why a line is unusable."""
    number = 0
    while raw := stream.readline(limits.line_bytes):
        number += 1
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if len(raw) >= limits.line_bytes and not raw.endswith(b"\n"):
            _skip_rest(stream)
            yield number, BadLine(f"the line is longer than {limits.line_bytes:,} bytes.")
            continue
        yield number, _decoded(raw)


def _skip_rest(stream: BinaryIO) -> None:
    while (rest := stream.readline(_SKIP)) and not rest.endswith(b"\n"):
        pass


def _decoded(raw: bytes) -> str | BadLine:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return BadLine(f"byte {error.start + 1} is not UTF-8: save the file as UTF-8.")


def parse_object(text: str) -> dict[str, object]:
    """The JSON object that a line holds; raise BadLine with the reason."""
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise BadLine("the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise BadLine(f"this is not JSON: {error.msg} at column {error.colno}.") from None
    except ValueError as error:
        raise BadLine(str(error)) from None
    if not isinstance(value, dict):
        raise BadLine('the line must hold one JSON object: {"…": …}.')
    return value


def _refuse_constant(name: str) -> object:
    raise BadLine(f"{name} is no number that JSON or a statistic can use; write null.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadLine(f"the number {text[:30]} is too large.")
    return number


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadLine(f"the key {twice!r} stands twice in one object.")
    return members


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
)
