"""Draws that come again: plans, places and checks are drawn by secret seeds, which tests know."""

import random
import secrets
from types import SimpleNamespace

import pytest


def draw_from(seed: str, patch: pytest.MonkeyPatch) -> None:
    draws = random.Random(seed)
    drawn = SimpleNamespace(
        token_hex=lambda n: draws.randbytes(n).hex(), randbelow=secrets.randbelow
    )
    patch.setattr("tiebreak.identifiers.secrets", drawn)
