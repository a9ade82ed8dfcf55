"""Label Studio in a separate environment, for comparison with serving."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.crowd import Browser, Record
from benchmarks.servers import PostgreSQL, Web, gunicorn

VERSION = "1.23.0"
HOME = Path("var/benchmarks/label-studio").absolute()
SETUP = Path(__file__).with_name("label_studio_setup.py")


@contextmanager
def label_studio(
    database: PostgreSQL, *, tasks: int, ratings: int, annotators: int
) -> Iterator[tuple[Web, int, list[str]]]:
    """Serve a project of pairs, and yield the server, the project and a token per annotator."""
    python = _python()
    database.run("CREATE DATABASE label_studio")
    parts = urlsplit(database.url("label_studio"))
    environment = {
        "DJANGO_SETTINGS_MODULE": "core.settings.label_studio",
        "DJANGO_DB": "default",
        "POSTGRE_NAME": "label_studio",
        "POSTGRE_USER": parts.username or "postgres",
        "POSTGRE_PASSWORD": "",
        "POSTGRE_HOST": parse_qs(parts.query).get("host", [parts.hostname or "localhost"])[0],
        "POSTGRE_PORT": str(parts.port or 5432),
        "LABEL_STUDIO_BASE_DATA_DIR": str(HOME / "data"),
        "LATEST_VERSION_CHECK": "false",
        "COLLECT_ANALYTICS": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "LOG_LEVEL": "ERROR",
    }
    package = subprocess.check_output(
        [python, "-c", "import label_studio; print(label_studio.__path__[0])"], text=True
    )
    folder = Path(package.strip())
    variables = {**os.environ, **environment}

    def run(*command: str) -> str:
        return subprocess.check_output([python, *command], env=variables, cwd=folder, text=True)

    run("manage.py", "migrate", "-v", "0")
    output = run(str(SETUP), *map(str, (tasks, ratings, annotators)))
    project, *tokens = output.strip().splitlines()[-1].split()
    with gunicorn("core.wsgi", environment, python=python, folder=folder, ready="/health") as web:
        yield web, int(project), tokens


def _python() -> str:
    """Return the environment's Python; the first call creates it, which takes a few minutes."""
    python = HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        packages = [f"label-studio=={VERSION}", "gunicorn~=27.0"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)


class Labeler(threading.Thread):
    """Fetches tasks and posts annotations, as Label Studio's own page does."""

    def __init__(
        self, port: int, project: int, token: str, *, record: Record, stop: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self.browser = Browser([f"127.0.0.1:{port}"], record)
        self.project, self.record = project, record
        self.stop, self.rng = stop, random.Random(token)
        self.headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}

    def run(self) -> None:
        while not self.stop.is_set():
            start = time.perf_counter()
            path = f"/api/projects/{self.project}/next"
            status, body = self.browser.ask("GET", path, **self.headers)
            if status == 404:
                return
            self.record.nexts.append(time.perf_counter() - start)
            if status != 200:
                self.record.errors.append(f"{status} {body[:200]}")
                continue
            self._answer(json.loads(body)["id"])

    def _answer(self, task: int) -> None:
        choice = {"choices": [self.rng.choice(["left", "tie", "right"])]}
        result = {"type": "choices", "from_name": "better", "to_name": "left", "value": choice}
        body = json.dumps({"result": [result], "lead_time": 1})
        start = time.perf_counter()
        path = f"/api/tasks/{task}/annotations/?project={self.project}"
        status, answer = self.browser.ask("POST", path, body, **self.headers)
        if status != 201:
            self.record.errors.append(f"{status} {answer[:200]}")
            return
        self.record.saves.append(time.perf_counter() - start)
