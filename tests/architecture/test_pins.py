"""The pinned versions are of what pyproject.toml asks for now: else `make lock` was forgotten."""

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Installed by itself and before the others, as a build without CUDA.
UNPINNED = {"torch"}


def asked(extra: str) -> Iterator[Requirement]:
    """What an extra asks for, with those that it names."""
    for line in PROJECT["optional-dependencies"][extra]:
        requirement = Requirement(line)
        if requirement.name == PROJECT["name"]:
            for other in requirement.extras:
                yield from asked(other)
        else:
            yield requirement


def pinned(path: Path) -> dict[str, set[str]]:
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)(?:\[[\w, -]+\])?==(\S+)", path.read_text(), re.M):
        versions.setdefault(name.lower(), set()).add(version)
    return versions


@pytest.mark.parametrize(
    ("file", "extra"),
    [("runtime.txt", "server"), ("dev.txt", "dev"), ("embeddings.txt", "embeddings")],
)
def test_every_requirement_is_pinned_within_its_bounds(file, extra):
    pins = pinned(ROOT / "requirements" / file)
    for requirement in [*map(Requirement, PROJECT["dependencies"]), *asked(extra)]:
        if requirement.name not in UNPINNED:
            versions = pins.get(requirement.name.lower(), set())
            assert any(map(requirement.specifier.contains, versions)), str(requirement)


def test_what_is_required_with_extras_is_pinned_with_them():
    """Else an older pip takes the newest release for the extra, and refuses it for its hash."""
    listed = (ROOT / "requirements" / "dev.txt").read_text()
    pins = re.findall(r"^([\w.-]+)\[([\w, -]+)\]==", listed, re.M)
    extras = {canonicalize_name(name): set(re.split(r",\s*", names)) for name, names in pins}
    for one in metadata.distributions():
        if canonicalize_name(one.metadata["Name"]) not in pinned(ROOT / "requirements" / "dev.txt"):
            continue
        for required in map(Requirement, one.requires or []):
            if required.marker is None or required.marker.evaluate({"extra": ""}):
                name = canonicalize_name(required.name)
                assert required.extras <= extras.get(name, set()), f"{one.name}: {required}"


def test_the_server_and_the_tests_run_the_same_versions():
    runtime, dev = (pinned(ROOT / "requirements" / name) for name in ("runtime.txt", "dev.txt"))
    assert {name: dev.get(name) for name in runtime} == runtime
