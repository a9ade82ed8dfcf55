"""The demo's command line."""

import os
import subprocess
import sys

from tests.paths import ROOT


def test_help_says_how_to_use_the_demo_and_starts_nothing():
    # With a port that is none, the demo would end at once.
    asked = subprocess.run(
        [sys.executable, "-m", "config.demo", "--help"],
        cwd=ROOT,
        env=os.environ | {"TIEBREAK_PORT": "none"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert asked.returncode == 0
    assert "TIEBREAK_PORT" in asked.stdout
    assert asked.stdout.startswith("usage: ")
