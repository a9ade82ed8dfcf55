"""Usual tasks of language models: a prompt template and settings to begin with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    title: str
    template: str
    temperature: float
    max_tokens: int

    @property
    def values(self) -> Mapping[str, Any]:
        return {
            "prompt_template": self.template,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }


PRESETS = {
    "summarise": Preset(
        "Summarise",
        "Summarise the following text in two or three sentences. Say nothing that is not in it.\n\n{source}",
        0.5,
        256,
    ),
    "translate": Preset(
        "Translate",
        "Translate the following text into English. Write the translation only.\n\n{source}",
        0.3,
        1024,
    ),
    "simplify": Preset(
        "Simplify",
        "Rewrite the following text in short sentences and common words, so that a reader of twelve"
        " understands it. Leave out no fact.\n\n{source}",
        0.5,
        1024,
    ),
    "explain": Preset(
        "Explain",
        "Explain the following to somebody who hears of it for the first time.\n\n{source}",
        0.7,
        512,
    ),
    "answer": Preset("Answer", "{source}", 0.7, 512),
}
