"""Answers that are constrained to a few texts while they are decoded (structured outputs)."""

import json
from collections.abc import Sequence

from tiebreak.gateway.protocol import GatewayError
from tiebreak.gateway.transport import JsonObject

# The key of the JSON object in which servers other than vLLM write the choice.
KEY = "answer"


def choice_format(choices: Sequence[str]) -> JsonObject:
    """Return OpenAI's ``response_format`` for an object whose only value is one of the choices.

    OpenAI's interface accepts an object at the root only.
    """
    schema = {
        "type": "object",
        "properties": {KEY: {"type": "string", "enum": list(choices)}},
        "required": [KEY],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": KEY, "strict": True, "schema": schema},
    }


def chosen(text: str, choices: Sequence[str]) -> str | None:
    """Return the choice that a constrained text is, or None if the server did not keep to them.

    Parameters
    ----------
    text : str
        Text as the server returned it: a choice, or a JSON object with the key ``answer`` alone.
    choices : sequence of str
        Allowed answers.

    Returns
    -------
    str or None
        One of `choices`, or None. Nothing but white space around it is ignored.

    Examples
    --------
    >>> chosen('{"answer": "B"}', ["A", "B"]), chosen("A", ["A", "B"]), chosen("a", ["A", "B"])
    ('B', 'A', None)
    """
    bare = text.strip()
    if bare in choices:
        return bare
    try:
        data = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or set(data) != {KEY} or data[KEY] not in choices:
        return None
    return str(data[KEY])


def refused_choices(reason: str) -> GatewayError:
    """Return the error of a server that answers freely, but refuses to enforce choices."""
    return GatewayError(
        "no_choices",
        "The model server answers this request, but refuses to constrain the answer to the allowed"
        f" ones: {reason} Use a server with structured outputs, such as vLLM, or do without them.",
    )
