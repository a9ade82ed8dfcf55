"""A run with more tests than a few that need a second try fails, also where workers run them."""

import subprocess
import sys

import pytest

from tests.paths import ROOT
from tests.summary import TOLERATED

PROGRAM = """
import pytest
TRIED = set()

@pytest.mark.browser
@pytest.mark.parametrize("n", range({n}))
def test_passes_by_its_second_try(n):
    is_second = n in TRIED
    TRIED.add(n)
    assert is_second
"""
ALONE = ("-p", "tests.summary", "-p", "no:django", "-p", "no:cacheprovider", "-p", "no:randomly")


@pytest.mark.thorough
@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(("flaky", "code"), [(TOLERATED, 0), (TOLERATED + 1, 1)])
def test_more_than_a_few_second_tries_fail_the_run(flaky, code, workers, tmp_path):
    path, settings = tmp_path / "test_flaky.py", tmp_path / "pytest.ini"
    path.write_text(PROGRAM.format(n=flaky))
    settings.write_text("[pytest]\nmarkers = browser\n")
    command = [sys.executable, "-m", "pytest", *ALONE, "-n", workers, "-c", settings, path]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.count("FLAKY")) == (code, flaky), run.stdout + run.stderr
    assert run.stdout.count("assert is_second") >= flaky, "why each one needed it"
