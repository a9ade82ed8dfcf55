"""The demo study's source texts, read from `sources.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCES_FILE = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True)
class Source:
    """One text to be summarised; `category` is "dialogue" or "news"."""

    id: str
    category: str
    text: str


def load_sources() -> tuple[Source, ...]:
    """Return all source texts in the order of the file."""
    rows = tomllib.loads(SOURCES_FILE.read_text(encoding="utf-8"))["source"]
    return tuple(Source(row["id"], row["category"], row["text"].strip()) for row in rows)
