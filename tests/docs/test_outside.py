"""The files by which a repository host and git work on this repository name what exists."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import name_of, text_of
from tests.docs.test_commands import MAKEFILE, TARGETS, commands
from tests.paths import ROOT

HOOKS = ROOT / ".pre-commit-config.yaml"
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
FILES = [HOOKS, *sorted(path for path in (ROOT / ".github").rglob("*") if path.is_file())]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_file_of_the_host_is_read_and_names_paths_that_exist(file):
    assert file.suffix == ".md" or yaml.safe_load(text_of(file))
    assert commands(text_of(file), "make") <= TARGETS
    named = re.findall(r"(?<![\w/.])[\w.][\w./-]*\.(?:md|py|toml|txt)\b", text_of(file))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_ci_runs_targets_that_exist_and_every_part_of_the_tests():
    jobs = yaml.safe_load(text_of(WORKFLOW))["jobs"]
    run = {name for row in jobs["make"]["strategy"]["matrix"]["targets"] for name in row.split()}
    assert run <= TARGETS
    assert {"check", "docs", "test", "test-postgresql", "test-browser", "test-slow"} <= run
    assert jobs["make"]["steps"][-1] == {"run": "make ${{ matrix.targets }}"}


def test_hooks_run_what_the_target_check_runs():
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    assert recipe is not None
    checked = re.findall(r"\$\(BIN\)/([\w-]+(?: check| format| manage\.py)?)", recipe[1])
    entries = [hook["entry"] for hook in yaml.safe_load(text_of(HOOKS))["repos"][0]["hooks"]]
    hooks = [
        re.match(r"\.venv/bin/([\w-]+(?: check| format| manage\.py)?)", one) for one in entries
    ]
    assert [hook and hook[1] for hook in hooks] == checked
    for name in checked:
        assert Path(sys.executable).with_name(name.split()[0]).exists(), name
