"""The demo study's two systems, which are small seeded summarisers with different principles."""

import zlib
from typing import Protocol

import numpy as np

from studies.demo.digest import digest
from studies.demo.excerpt import excerpt
from tiebreak.errors import InvalidInput

DEFAULT_TEMPERATURE = 0.5


class Summariser(Protocol):
    """A system. The same source, generator state and temperature give the same text."""

    def __call__(self, source: str, *, rng: np.random.Generator, temperature: float) -> str: ...


SYSTEMS: dict[str, Summariser] = {"excerpt": excerpt, "digest": digest}


def generate(name: str, source: str, *, seed: int, temperature: float = DEFAULT_TEMPERATURE) -> str:
    """Return one generation of the system `name`. The same arguments always give the same text."""
    if name not in SYSTEMS:
        raise InvalidInput(
            "unknown_system", f"There is no system {name!r}. Choose one of {', '.join(SYSTEMS)}."
        )
    if not source.strip():
        raise InvalidInput("empty", "The source text is empty. Pass a text to summarise.")
    rng = np.random.default_rng([seed, zlib.crc32(f"{name}\n{source}".encode())])
    return SYSTEMS[name](source, rng=rng, temperature=temperature)
