"""The bills of materials have all of the lock, and no licence in them that is not allowed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.licences import Refusal
from deploy.sbom import write
from tests.architecture.test_pins import PROJECT, pinned
from tests.paths import ROOT

LOCK = ROOT / "requirements" / "runtime.txt"
POLICY = """
[project]
dependencies = ["one~=1.0"]
[tool.tiebreak.licences]
allowed = ["MIT", "Apache-2.0", "BSD License"]
[tool.tiebreak.licences.read]
known = "MIT"
copied = "AGPL-3.0-only"
"""
DIGEST = "ab" * 32
CLASSIFIER = "Classifier: License :: OSI Approved :: "


class Environment:
    """A project with a lock of its own, and packages that are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.static = folder, folder / "static"
        self.static.mkdir()
        (folder / "pyproject.toml").write_text(POLICY)
        self.lock = folder / "lock.txt"
        self.lock.touch()

    def install(self, name: str, *lines: str) -> None:
        package = self.folder / f"{name}-1.0.dist-info"
        package.mkdir()
        head = ("Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0")
        (package / "METADATA").write_text("\n".join([*head, *lines, "", ""]))

    def pin(self, name: str, *, marker: str = "", via: str = "tiebreak (pyproject.toml)") -> None:
        with self.lock.open("a") as lock:
            print(f"{name}==1.0{marker} \\\n    --hash=sha256:{DIGEST}\n    # via {via}", file=lock)

    def write(self) -> list[Refusal]:
        project, out = self.folder / "pyproject.toml", self.folder / "out"
        return write(project=project, lock=self.lock, static=self.static, out=out)

    def parts(self, bill: str = "server") -> dict[str, dict[str, Any]]:
        written = json.loads((self.folder / "out" / f"{bill}.cdx.json").read_text())
        return {part["name"]: part for part in written.get("components", [])}


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.syspath_prepend(tmp_path)
    return Environment(tmp_path)


@pytest.mark.parametrize(
    ("stated", "codes"),
    [
        ("License-Expression: MIT", []),
        ("License-Expression: MIT OR GPL-3.0-only", []),
        ("License-Expression: MIT AND GPL-3.0-only", ["licence_not_allowed"]),
        ("License-Expression: MIT AND (Apache-2.0 OR GPL-3.0-only)", []),
        ("License-Expression: GPL-2.0-only WITH Classpath-exception-2.0", ["licence_not_allowed"]),
        (f"License: MIT\n{CLASSIFIER}GNU Affero General Public License v3", []),
        (f"License: BSD\n{CLASSIFIER}BSD License", []),
        (f"{CLASSIFIER}BSD License\n{CLASSIFIER}GNU Affero", ["licence_not_allowed"]),
        ("License: as in the file", ["licence_not_stated"]),
        ("Summary: says nothing", ["licence_not_stated"]),
    ],
)
def test_a_licence_is_allowed_or_the_package_is_named(environment, stated, codes):
    environment.install("one", stated)
    environment.pin("one")
    refused = environment.write()
    assert [code for code, _ in refused] == codes
    assert all("one 1.0" in sentence for _, sentence in refused)
    assert environment.parts()["one"]["version"] == "1.0"


def test_what_somebody_read_stands_for_what_is_not_stated_and_for_nothing_else(environment):
    for name, *lines in (("known",), ("copied", "License-Expression: MIT")):
        environment.install(name, *lines)
        environment.pin(name)
    assert environment.write() == []
    licences = {name: part["licenses"][0]["license"] for name, part in environment.parts().items()}
    assert licences["known"] == {"id": "MIT", "acknowledgement": "concluded"}
    assert licences["copied"] == {"id": "MIT", "acknowledgement": "declared"}


def test_what_is_locked_for_this_machine_must_be_installed(environment):
    environment.pin("absent")
    environment.pin("elsewhere", marker=" ; sys_platform == 'plan9'")
    assert [code for code, _ in environment.write()] == ["not_installed"]
    scopes = {name: part["scope"] for name, part in environment.parts().items()}
    assert scopes == {"absent": "required", "elsewhere": "optional"}


def test_the_library_has_what_it_needs_and_no_more(environment):
    for name, via in (("one", "tiebreak (pyproject.toml)"), ("two", "one"), ("three", "server")):
        environment.install(name, "License-Expression: MIT")
        environment.pin(name, via=via)
    assert environment.write() == []
    assert environment.parts("library").keys() == {"one", "two"}
    assert environment.parts("server").keys() == {"one", "two", "three"}


@pytest.mark.parametrize("text", ["/*! Copied v1.2.3 | AGPL */", 'x={version:"1.2.3"}'])
def test_a_script_of_another_project_needs_a_licence_too(environment, text):
    (environment.static / "copied-1.min.js").write_text(text)
    (environment.static / "own.js").write_text("// Ours.\n")
    (environment.static / "letters.woff2").write_bytes(b"")
    found = {(code, sentence.split(" ")[0]) for code, sentence in environment.write()}
    assert found == {("licence_not_allowed", "copied"), ("licence_not_stated", "letters")}


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sbom")
    refused = write(project=ROOT / "pyproject.toml", lock=LOCK, static=ROOT / "static", out=out)
    assert refused == []
    return out


def test_every_version_of_the_lock_is_in_the_servers_with_its_hashes(bills):
    components = json.loads((bills / "server.cdx.json").read_text())["components"]
    listed = {(part["name"], part["version"]) for part in components}
    locked = pinned(LOCK)
    assert len(locked) > 50
    assert listed == {
        (name, version) for name, all_of_it in locked.items() for version in all_of_it
    }
    hashes = [part["hashes"] for part in components]
    digests = {one["content"] for some in hashes for one in some}
    assert digests == set(re.findall(r"--hash=sha256:(\w+)", LOCK.read_text()))
    unlicensed = {part["scope"] for part in components if "licenses" not in part}
    assert unlicensed <= {"optional"}
    [htmx] = next(part for part in components if part["name"] == "django-htmx")["components"]
    assert re.fullmatch(r"2\.0\.\d+", htmx["version"])


def test_the_library_has_its_direct_dependencies_and_not_django(bills):
    components = json.loads((bills / "library.cdx.json").read_text())["components"]
    names = {part["name"] for part in components}
    assert {re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]} <= names
    assert "django" not in names


@pytest.mark.parametrize("name", ["server", "library"])
def test_the_files_follow_the_schema(bills, name):
    text = (bills / f"{name}.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
