"""The model families of systems and machine raters: the setting `families`, and what names suggest."""

import re
from functools import lru_cache

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_name

MARK = "|"
# Words with which names of language models begin or, after a maker's name, go on.
KNOWN = {
    "GPT": r"gpt|chatgpt|davinci|o[134](?=\b)",
    "Claude": "claude",
    "Gemini": "gemini|palm",
    "Gemma": "gemma",
    "Llama": "llama|vicuna|alpaca",
    "Mistral": "mistral|mixtral|ministral|magistral",
    "Qwen": "qwen|qwq",
    "DeepSeek": "deepseek",
    "Command": "command|c4ai|aya",
    "Phi": r"phi(?=[-_\d])",
    "OLMo": "olmo|tulu",
    "Grok": "grok",
    "Yi": r"yi(?=[-_]\d)",
    "Falcon": "falcon",
    "SmolLM": "smollm",
}


@lru_cache(maxsize=256)
def parsed_families(setting: str) -> dict[str, str]:
    """Return the family of each system and machine rater that a setting names, a line each: `NAME | FAMILY`.

    A name may contain the mark, and a family may not. Raises `InvalidInput`.

    >>> parsed_families("new model | GPT")
    {'new model': 'GPT'}
    """
    families: dict[str, str] = {}
    for line in filter(None, map(str.strip, setting.splitlines())):
        name, mark, family = (part.strip() for part in line.rpartition(MARK))
        if not (mark and name and family):
            reason = f"each line must be NAME {MARK} FAMILY; this is not: {line[:200]!r}"
            raise InvalidInput("bad_family", reason)
        if name in families:
            raise InvalidInput("repeated_name", f"{name!r} has two families")
        families[check_name("a name", name)] = check_name("a family", family)
    return families


def proposed_family(model: str) -> str:
    """Return the family that a model's name suggests, or "" if it suggests none or several.

    It is a proposal for a person: a model that was fine-tuned or distilled may belong to another.

    >>> proposed_family("meta-llama/Llama-3.1-8B-Instruct"), proposed_family("our-model")
    ('Llama', '')
    """
    name = model.casefold()
    found = [
        family for family, words in KNOWN.items() if re.search(rf"(?<![a-z])(?:{words})", name)
    ]
    return found[0] if len(found) == 1 else ""
