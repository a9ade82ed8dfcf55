"""Rows as JSON Lines, sent while they are read so that memory does not grow with their number."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse

CONTENT_TYPE = "application/jsonl"
# The answers of an endpoint that streams rows.
ROWS = {(200, CONTENT_TYPE): OpenApiResponse(OpenApiTypes.STR, description="One row per line.")}
CURSOR, MORE = "Tiebreak-Cursor", "Tiebreak-More"
# Fewer and larger writes to the connection.
ROWS_A_WRITE = 200


def jsonl_response(
    rows: Iterable[dict[str, Any]], *, cursor: int, has_more: bool
) -> StreamingHttpResponse:
    """Return rows, with the cursor of the next page and whether it has rows already as headers."""
    headers = {CURSOR: str(cursor), MORE: "true" if has_more else "false"}
    return StreamingHttpResponse(_lines(rows), content_type=CONTENT_TYPE, headers=headers)


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    remaining = iter(rows)
    while lot := list(islice(remaining, ROWS_A_WRITE)):
        yield "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in lot)
