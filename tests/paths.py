"""Where the repository, its golden values and, beside it, the whole published files lie."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SHARED = Path(os.environ.get("TIEBREAK_SHARED", str(ROOT.parent / "shared")))


def shared_path(*parts: str) -> Path:
    """A path in the folder of whole published files; without that folder the test is skipped."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: TIEBREAK_SHARED names a folder of whole published files.")
    return SHARED.joinpath(*parts)
