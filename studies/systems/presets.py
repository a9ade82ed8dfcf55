"""Usual tasks of language models: a prompt template and settings to begin with."""

from typing import Any


def _task(template: str, temperature: float, max_tokens: int) -> dict[str, Any]:
    decoding = {"temperature": temperature, "max_tokens": max_tokens}
    return {"prompt_template": template, **decoding}


PRESETS = {
    "summarise": _task(
        "Summarise the following text in two or three sentences. Say nothing that is not in it.\n\n{source}",
        0.5,
        256,
    ),
    "translate": _task(
        "Translate the following text into English. Write the translation only.\n\n{source}",
        0.3,
        1024,
    ),
    "simplify": _task(
        "Rewrite the following text in short sentences and common words, so that a reader of twelve"
        " understands it. Leave out no fact.\n\n{source}",
        0.5,
        1024,
    ),
    "explain": _task(
        "Explain the following to somebody who hears of it for the first time.\n\n{source}",
        0.7,
        512,
    ),
    "answer": _task("{source}", 0.7, 512),
}
