"""Finds the published study data that tests read where it lies."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TIEBREAK_SHARED", str(ROOT.parent / "shared")))
REQUIRED = os.environ.get("TIEBREAK_REQUIRE_SHARED") == "1"


def shared_path(*parts: str) -> Path:
    """A path below the shared folder; the test skips, or fails where it is required, if absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        sentence = f"{path} is absent: set TIEBREAK_SHARED to the folder with data/ and golden/."
        if REQUIRED:
            pytest.fail(sentence)
        pytest.skip(sentence)
    return path
