"""What deploy/ names exists: settings, queues, programs, services, volumes and paths.

What the server can load is in the image.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from click import Context
from packaging.utils import canonicalize_name

from tests.architecture.test_pins import PROJECT, asked, pinned
from tests.paths import ROOT
from tiebreak.optional import EXTRAS

DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"].startswith("tiebreak")}
SETTINGS = (ROOT / "config" / "settings.py").read_text()


def queues_in(command: list[str]) -> list[str]:
    return command[command.index("-Q") + 1].split(",") if "-Q" in command else []


def test_every_setting_of_the_files_is_read():
    for file in filter(Path.is_file, DEPLOY.iterdir()):
        for name in set(re.findall(r"\bTIEBREAK_[A-Z_]+", file.read_text())):
            assert f'"{name}"' in SETTINGS, (file.name, name)


def test_every_queue_has_a_worker_with_and_without_a_gpu(settings):
    plain = [one for one in OURS.values() if "profiles" not in one]
    served = [queue for one in plain for queue in queues_in(one.get("command", []))]
    assert sorted(served) == sorted(settings.TIEBREAK_QUEUES)
    with_gpu = [one for name, one in OURS.items() if name != "models"]
    served = [queue for one in with_gpu for queue in queues_in(one.get("command", []))]
    assert sorted(served) == sorted(settings.TIEBREAK_QUEUES)


def test_our_containers_write_nothing_but_files_and_nobody_but_the_proxy_is_reached():
    for name, one in OURS.items():
        assert (one["read_only"], one["cap_drop"], one["volumes"]) == (
            True,
            ["ALL"],
            ["files:/data"],
        )
        assert one["restart"] in {"unless-stopped", "no"}, name
    assert [name for name, one in SERVICES.items() if "ports" in one] == ["proxy"]


def test_services_and_volumes_that_are_named_exist():
    for one in SERVICES.values():
        assert set(one.get("depends_on", [])) <= set(SERVICES)
        named = {volume.split(":")[0] for volume in one.get("volumes", [])}
        files = {name for name in named if name.startswith("./")}
        assert named - files <= set(COMPOSE["volumes"])
        assert all((DEPLOY / name).is_file() for name in files)
        if "build" in one:
            assert (DEPLOY / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
            stages = re.findall(r"^FROM .* AS (\w+)", _containerfile(), re.M)
            assert one["build"]["target"] in stages
    addresses = " ".join(OURS["web"]["environment"].values())
    assert set(re.findall(r"(?:@|//)(\w+):\d", addresses)) == {"database", "broker"}


def test_the_image_compiles_every_package_and_no_key_goes_into_it_or_into_git():
    compiled = re.search(r"compileall -q gunicorn.conf.py (.+)", _containerfile())[1].split()
    pyproject = (ROOT / "pyproject.toml").read_text()
    packages = re.search(r"root_packages = \[(.+)\]", pyproject)[1]
    assert sorted(compiled) == sorted(re.findall(r'"(\w+)"', packages))
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", "var", "deploy/.env"} <= set(ignored)
    assert {"/var/", "/deploy/.env"} <= set((ROOT / ".gitignore").read_text().split())
    assert not re.search(r"^(ARG|ENV) .*(KEY|PASSWORD)", _containerfile(), re.M)


# By choice only: one is under the GPL, and vLLM is a server of its own beside the image.
NOT_IN_IMAGES = {"check", "gpu"}


def test_the_image_has_whatever_the_server_loads():
    loaded = {module for path in sources_of_the_server() for module in modules_in(path)}
    owners = metadata.packages_distributions()
    needed = {canonicalize_name(name) for module in loaded for name in owners.get(module, ())}
    extras = PROJECT["optional-dependencies"].keys() - {"dev"}
    named = {canonicalize_name(one.name) for extra in extras for one in asked(extra)}
    assert {"django", "authlib", "boto3", "huggingface-hub"} <= needed & named
    assert needed & named - installed("server") == set()


def test_the_images_have_every_extra_of_the_library():
    extras = {extra.name for extra in EXTRAS} - NOT_IN_IMAGES
    for extra in extras:
        names = {canonicalize_name(one.name) for one in asked(extra)}
        assert names <= installed("server") | installed("gpu"), extra


def sources_of_the_server() -> Iterator[Path]:
    packages = re.search(r"compileall -q (.+)", _containerfile())[1].split()
    for package in set(packages) - {"tiebreak", "gunicorn.conf.py"}:
        yield from (ROOT / package).rglob("*.py")


def modules_in(path: Path) -> Iterator[str]:
    """The first names of what a module imports, at once or by a name in a text."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(".")[0]


def installed(stage: str) -> set[str]:
    """The distributions that a stage of the image installs."""
    commands = re.search(rf" AS {stage}\n((?:(?!FROM).*\n)*)", _containerfile())[1]
    files = re.findall(r"-r (requirements/\S+)", commands)
    names = re.findall(r"pip install .*?([\w-]+)==", commands)
    return {canonicalize_name(name) for file in files for name in pinned(ROOT / file)} | {*names}


def _containerfile() -> str:
    return (DEPLOY / "Containerfile").read_text()


def test_the_units_have_the_variables_that_the_guide_changes_and_write_to_its_folders():
    guide = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    changed = set(re.findall(r"`Environment=(\w+)=", guide))
    assert changed
    assert changed <= {name for name, _ in variables_of_units()}
    folders = re.findall(r"^ *TIEBREAK_\w+_FOLDER=(\S+)", guide, re.M)
    assert folders
    for unit in UNITS:
        writable = re.search(r"^ReadWritePaths=(.+)", unit.read_text(), re.M)[1].split()
        for folder in folders:
            assert any(Path(folder).is_relative_to(one.lstrip("-")) for one in writable), unit


def variables_of_units() -> list[tuple[str, str]]:
    return re.findall(r"^Environment=(\w+)=(.+)", "".join(u.read_text() for u in UNITS), re.M)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_units(unit, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed. On Debian: apt install systemd")
    name = unit.name.replace("@", "@gpu")
    # Programs lie elsewhere here, and systemd looks for them.
    programs = str(Path(sys.executable).parent)
    (tmp_path / name).write_text(unit.read_text().replace("/srv/tiebreak/.venv/bin", programs))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", tmp_path / name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in run.stderr.splitlines() if name in line]
    assert (run.returncode, said) == (0, [])


@pytest.mark.parametrize(
    "start",
    [
        *(re.search(r"^ExecStart=(.+)", unit.read_text(), re.M)[1] for unit in UNITS),
        *(" ".join(one["command"]) for one in OURS.values() if "command" in one),
        " ".join(re.findall(r'"([^"]+)"', re.search(r"^CMD (.+)", _containerfile(), re.M)[1])),
    ],
)
def test_every_start_has_options_that_its_program_knows(start):
    values = {"%i": "gpu", "%%": "%"}
    values |= {f"${{{name}}}": value for name, value in variables_of_units()}
    for name, value in values.items():
        start = start.replace(name, value)
    program, *arguments = start.split()
    if program.endswith("gunicorn"):
        from gunicorn.config import Config

        assert Config().parser().parse_args(arguments).args == ["config.wsgi"]
    elif program.endswith("celery"):
        from celery.bin.celery import celery

        worker = celery.commands["worker"]
        options = arguments[arguments.index("worker") + 1 :]
        known, unknown, _ = worker.make_parser(Context(worker)).parse_args(options)
        assert (unknown, known["queues"] != "") == ([], True)
    else:
        assert [program, *arguments] == ["python", "manage.py", "migrate"]
