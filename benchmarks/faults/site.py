"""Two web hosts and three workers with what they share, and a study under way on them."""

import http.client
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from benchmarks.crowd import Annotator, Habits, Record
from benchmarks.faults import hosts
from benchmarks.faults.hosts import CONFIG, Database, Disk, Host, Network, Server, wait_until
from benchmarks.servers import ROOT
from benchmarks.serving import run_inside

RATINGS, PEOPLE, SCORED = 3, 20, 1_500
HITS = int(os.environ.get("HITS", "400"))
LEASE_MINUTES = 1 / 6
HABITS = Habits(pause=0.4, look_for_s=600, retries=True, timeout=6)
# How long a study may take to become complete after the last fault.
AFTERWARDS_S = 60
OPEN = "SELECT count(*) FROM annotation_place WHERE study_id = '{}' AND completed_at IS NULL"
NAME = "faults"


class Site:
    """Two web hosts and three workers on one PostgreSQL with a replica, and one Redis."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        network = Network()
        self.primary, self.replica = (
            self._database(network, folder, name) for name in ("database1", "database2")
        )
        both = self.primary.host, self.replica.host
        address = ",".join(f"{host}:{hosts.DATABASE_PORT}" for host in both)
        self.files = Disk(folder / "files", 20)
        self.clock, self.preload = folder / "clock", hosts.clock(folder)
        redis = network.add("redis")
        names = ("web1", "web2", "worker1", "worker2", "worker3")
        machines = [network.add(name) for name in names]
        self.environment = {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TIEBREAK_DATABASE_URL": f"postgres://postgres@{address}/{NAME}"
            "?target_session_attrs=read-write",
            "TIEBREAK_BROKER_URL": f"redis://{redis.address}:{hosts.REDIS_PORT}/0",
            "TIEBREAK_HOSTS": ",".join(host.address for host in machines),
            "TIEBREAK_UPLOAD_FOLDER": str(self.files.folder / "uploads"),
            "TIEBREAK_EXPORT_FOLDER": str(self.files.folder / "exports"),
            # Short, so that a dead worker's part is free again and turns end within a run.
            "TIEBREAK_JOB_LEASE_SECONDS": "4",
            "TIEBREAK_JOB_TURN_SECONDS": "1",
            "WEB_CONCURRENCY": "2",
        }
        os.environ.update(self.environment)
        command = ["redis-server", "--port", str(hosts.REDIS_PORT), "--bind", "0.0.0.0"]  # noqa: S104
        command += ["--save", "", "--protected-mode", "no"]
        self.redis = Server(redis, command, {}, folder / "redis.log")
        self.web = [self._web(host, folder) for host in machines[:2]]
        self.workers = [self._worker(host, folder) for host in machines[2:]]

    @staticmethod
    def _database(network: Network, folder: Path, name: str) -> Database:
        (folder / name).mkdir()
        return Database(network.add(name), folder / name)

    def _web(self, host: Host, folder: Path) -> Server:
        bind = f"0.0.0.0:{hosts.WEB_PORT}"
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", bind]
        environment = self.environment
        if host.name == "web2":
            environment = environment | {"LD_PRELOAD": str(self.preload), "CLOCK": str(self.clock)}
        log = folder / f"{host.name}.log"
        return Server(host, [*command, "--no-control-socket"], environment, log)

    def _worker(self, host: Host, folder: Path) -> Server:
        command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "solo"]
        command += ["-Q", "interactive,default,analytics", "-n", f"{host.name}@%h"]
        command += ["--loglevel", "WARNING"]
        return Server(host, command, self.environment, folder / f"{host.name}.log")

    @property
    def addresses(self) -> list[str]:
        return [f"{server.host.address}:{hosts.WEB_PORT}" for server in self.web]

    def start(self) -> None:
        self.primary.make()
        self.primary.start(CONFIG)
        self.primary.run(f"CREATE DATABASE {NAME}")
        self.replica.follow(self.primary)
        self.redis.start()
        self.scored, self.token = self.inside("set_up", SCORED).split()
        for server in (*self.web, *self.workers):
            server.start()
        if not wait_until(lambda: all(map(is_up, self.addresses)), seconds=120):
            raise RuntimeError(f"The web servers did not start: {self.web[0].log.read_text()}")

    def inside(self, action: str, *arguments: object) -> str:
        return run_inside(dict(os.environ), ROOT, action, *arguments, module="faults.study")

    def call(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Send a request to the REST interface of the first web host."""
        url = f"http://{self.addresses[0]}/api/v1/{path}"
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            return httpx.request(method, url, headers=headers, timeout=60, **content)
        except httpx.TimeoutException:
            return httpx.Response(504)

    def swap(self) -> None:
        """Make a replica of the former primary, which has stopped, by the new primary."""
        self.primary, self.replica = self.replica, self.primary
        self.replica.on.plug_in()
        self.replica.follow(self.primary)


def is_up(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=5)
    connection.request("GET", "/health/live")
    return connection.getresponse().status == 200


class Trial:
    """A study with annotators at work, and a job on the workers, while a fault is injected."""

    def __init__(self, site: Site, kind: type[Annotator], *, invited: bool) -> None:
        self.site, self.problems = site, list[str]()
        people = PEOPLE if invited else 0
        begun = site.inside("begin", site.scored, HITS, RATINGS, LEASE_MINUTES, people)
        made = json.loads(begun)
        self.study, self.record, self.stop = made["study"], Record(), threading.Event()
        via = f"/s/{self.study}/via/invitation/?invitation="
        self.annotators = [
            kind(
                site.addresses if n % 2 else site.addresses[::-1],
                self.study,
                habits=HABITS,
                record=self.record,
                seed=n,
                stop=self.stop,
                entrance=via + quote(made["tokens"][n]) if people else "",
            )
            for n in range(PEOPLE)
        ]
        for annotator in self.annotators:
            annotator.start()

    @property
    def open_places(self) -> int:
        return self.site.primary.query(OPEN.format(self.study), NAME)[0]

    def check(self, is_right: bool, problem: str) -> None:
        if not is_right:
            self.problems.append(problem)

    def wait_for(self, answers: int) -> None:
        """Wait until this many more answers were acknowledged."""
        until = len(self.record.acknowledged) + answers
        self.check(
            wait_until(lambda: len(self.record.acknowledged) >= until), "annotators cannot go on"
        )

    def finish(self) -> dict[str, Any]:
        """Wait until every place is complete, and compare what was acknowledged with what is stored."""
        is_complete = wait_until(lambda: self.open_places == 0, seconds=AFTERWARDS_S)
        self.stop.set()
        for annotator in self.annotators:
            annotator.join(30)
        self.check(is_complete, "places stayed open")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(" ".join(answer) + "\n" for answer in self.record.acknowledged)
            file.flush()
            return dict(json.loads(self.site.inside("end", self.study, file.name, RATINGS)))
