"""The commands of deploy/Containerfile, executed in an empty folder: `make test-deploy`.

No container is built: this shows that each command that needs no root does what it should with the
checkout's archive and an empty environment, and that what results serves and is rated. The name keeps
it out of the suite, because it installs packages.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from benchmarks.servers import free_port
from tests.paths import ROOT
from tests.tiebreak.formats.bundles import make_bundle

CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text()
SERVER = CONTAINERFILE.partition("\nFROM server")[0]
OPEN = """
from annotation.services.planning import plan_hits
from recruitment.services.lifecycle import open_study
study = Study.objects.get()
study.consent = "We are this test. Ask us."
study.save()
plan_hits(study=study)
open_study(study=study)
"""
# They change the machine's users and the folders of its root.
OF_ROOT = {"useradd", "install"}


class Image:
    """The folders of the image below another one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.app = folder, folder / "srv" / "tiebreak"
        self.app.mkdir(parents=True)
        own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path = f"{folder}/opt/venv/bin:{Path(sys.executable).parent}:{own['PATH']}"
        self.environment = own | pip | {"PATH": path}

    def run(self, command: str, **environment: str) -> str:
        command = re.sub(r"(?<![\w.])/(opt|srv)/", rf"{self.folder}/\1/", command)
        return subprocess.run(
            ["sh", "-ec", command],
            cwd=self.app,
            env=self.environment | environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def copy(self) -> None:
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout
        pack = ["tar", "--null", "-T", "-", "-cf", f"{self.folder}/files.tar"]
        subprocess.run(pack, cwd=ROOT, input=files, check=True)
        subprocess.run(["tar", "-xf", f"{self.folder}/files.tar", "-C", self.app], check=True)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    made = Image(tmp_path_factory.mktemp("image"))
    made.copy()
    commands = re.findall(r"^RUN (.+)$", SERVER, re.M)
    for command in commands:
        if command.split()[0] not in OF_ROOT:
            made.run(command)
    return made


def test_the_files_for_browsers_are_in_it(image):
    static = image.app / "var" / "static"
    assert (static / "staticfiles.json").is_file()
    assert list(static.glob("js/annotate.*.js.gz"))


def test_it_has_the_server_and_none_of_the_tools_of_development(image):
    image.run("python -c 'import django, celery, prometheus_client, config.settings'")
    with pytest.raises(subprocess.CalledProcessError):
        image.run("python -c 'import pytest'")


def test_a_study_is_served_and_rated_from_a_folder_that_it_cannot_change(image, tmp_path):
    port, bundle = free_port(), make_bundle(tmp_path / "bundle")
    url, data = f"http://127.0.0.1:{port}", tmp_path / "database.sqlite3"
    start = " ".join(re.findall(r'"([^"]+)"', re.search(r"^CMD (.+)$", SERVER, re.M)[1]))
    outside = {"TIEBREAK_DATABASE_URL": f"sqlite:///{data}", "TIEBREAK_BROKER_URL": "memory://"}
    image.run("python manage.py migrate -v 0", **outside)
    study = json.loads(image.run(f"python manage.py import_study {bundle} --json", **outside))
    image.run(f"python manage.py shell -v 0 -c '{OPEN}'", **outside)
    before = {path for path in image.app.rglob("*") if path.is_file()}
    program, *options = start.split()
    process = subprocess.Popen(
        [f"{image.folder}/opt/venv/bin/{program}", *options, "--bind", f"127.0.0.1:{port}"],
        cwd=image.app,
        env=image.environment | outside | {"TMPDIR": str(tmp_path)},
    )
    try:
        assert _status(f"{url}/admin/login/") == 200
        rate = f"python manage.py simulate_raters {study['study']} --url {url} --json"
        assert json.loads(image.run(rate, **outside))["in_statistics"] == 12
    finally:
        process.terminate()
        process.wait(timeout=30)
    assert {path for path in image.app.rglob("*") if path.is_file()} - before == set()


def _status(url: str) -> int:
    for _ in range(300):
        try:
            return httpx.get(url, timeout=60).status_code
        except httpx.ConnectError:
            time.sleep(0.2)
    raise AssertionError("gunicorn did not come up")
