"""The faults, each with what it does to a site while a study is under way on it."""

import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode

import httpx
from redis import Redis

from benchmarks.crowd import Annotator
from benchmarks.faults.hosts import CONFIG, Server, wait_until
from benchmarks.faults.site import (
    AFTERWARDS_S,
    Site,
    Trial,
    is_up,
)

Inject = Callable[[Site, Trial], int]
HOUR = 3600
COLUMNS = "instance=id,source=source,text:one=one,text:two=two"


def cut(site: Site, trial: Trial) -> int:
    """Cut a web host off and back, with its clock an hour late and then an hour early."""
    host = site.web[1].host
    for offset in (HOUR, -HOUR):
        trial.wait_for(50)
        host.unplug()
        site.clock.write_text(str(offset))
        time.sleep(9)
        host.plug_in()
        answer = httpx.get(f"http://{site.addresses[1]}/health/live", timeout=30)
        told = parsedate_to_datetime(answer.headers["Date"]) - datetime.now(UTC)
        trial.check(abs(told.total_seconds() - offset) < 60, "the clock was not moved")
        trial.wait_for(50)
    site.clock.write_text("0")
    return 2


def crash(site: Site, trial: Trial) -> int:
    """Lose a web host for good while a transaction of it has locked every place."""
    web = site.web[1]
    command = [sys.executable, "-m", "benchmarks.faults.study", "hold", trial.study]
    holder = Server(web.host, command, site.environment, web.log.with_name("holder.log"))
    holder.start()
    trial.check(wait_until(lambda: "held" in holder.log.read_text()), "nothing was locked")
    web.host.unplug()
    wait_until(lambda: trial.open_places == 0, seconds=AFTERWARDS_S)
    holder.kill()
    web.kill()
    web.host.plug_in()
    web.start()
    wait_until(lambda: is_up(site.addresses[1]))
    return 1


def failover(site: Site, trial: Trial) -> int:
    """Cut the database's host off, and promote its synchronous replica; twice, there and back."""
    for _ in range(2):
        site.primary.set("synchronous_standby_names", "*")
        trial.wait_for(150)
        former = site.primary
        former.on.unplug()
        time.sleep(2)
        site.replica.promote()
        former.stop("immediate")
        trial.wait_for(100)
        site.swap()
    return 2


def asynchronous(site: Site, trial: Trial) -> int:
    """Kill the database three seconds after its replica was cut off, and promote that replica."""
    site.primary.set("synchronous_standby_names", "")
    trial.wait_for(200)
    site.replica.on.unplug()
    time.sleep(3)
    site.primary.stop("immediate")
    site.replica.on.plug_in()
    site.replica.promote()
    trial.wait_for(100)
    site.swap()
    return 1


def redis(site: Site, trial: Trial) -> int:
    """Empty Redis, kill it three times, and cut it off, each time while a job runs."""
    Redis(site.redis.host.address).flushall()
    for _ in range(3):
        time.sleep(3)
        site.redis.kill()
        time.sleep(3)
        site.redis.start()
    time.sleep(3)
    site.redis.host.unplug()
    start = time.monotonic()
    asked = site.call("POST", f"studies/{trial.study}/jobs/report-files/")
    waited = time.monotonic() - start
    trial.check(
        asked.status_code == 503,
        f"{asked.status_code} for a job that cannot be queued: {asked.text[:300]}",
    )
    trial.check(waited < 30, f"a page waited {waited:.0f} s for Redis")
    site.redis.host.plug_in()
    return 5


def workers(site: Site, trial: Trial) -> int:
    """Kill one of three workers again and again, in the middle of tasks, and start it again."""
    for _ in range(12):
        time.sleep(2.5)
        worker = random.choice(site.workers)
        worker.kill()
        worker.start()
        trial.check(is_up(site.addresses[0]), "the web server does not answer")
    return 12


def disk(site: Site, trial: Trial) -> int:
    """Fill the disks of the database's tables, of its log of transactions, and of uploads."""
    trial.wait_for(100)
    site.primary.disks["data"].fill()
    time.sleep(8)
    site.primary.disks["data"].make_room()
    trial.wait_for(100)
    _fill_log(site, trial)
    trial.wait_for(100)
    table = {"table": ("t.csv", b"id,source,one,two\n" + b"1,b,c,d\n")}
    for status in (507, 201):
        if status == 507:
            site.files.fill()
        title = {"title": "A table", "columns": COLUMNS}
        said = site.call("POST", "studies/from-table/", data=title, files=table)
        trial.check(said.status_code == status, f"upload: {said.status_code} {said.text[:300]}")
        if status == 507:
            trial.check("disk_full" in said.text, said.text[:300])
            site.files.make_room()
    return 3


def _fill_log(site: Site, trial: Trial) -> None:
    """Fill the disk of the log until PostgreSQL stops; make room, and start it again."""
    site.primary.disks["wal"].fill()
    stopped = wait_until(lambda: not _switches(site), seconds=30)
    trial.check(stopped, "the log of transactions was not full")
    time.sleep(5)
    site.primary.disks["wal"].make_room()
    if not wait_until(lambda: site.primary.query("SELECT 1"), seconds=5):
        site.primary.stop("immediate") if site.primary.is_running else None
        site.primary.start(CONFIG)


def _switches(site: Site) -> bool:
    """Begin a new segment of the log, and return whether there was room."""
    try:
        site.primary.run("SELECT pg_switch_wal()")
        return True
    except subprocess.CalledProcessError:
        return False


class Wanderer(Annotator):
    """Loses the connection with every answer, and goes on with another device at every step."""

    steps = 0

    def _answer(self, page: str) -> None:
        fields, first = self._chosen(page), self.browser
        type(self).steps += 1
        event = self.rng.choice(("unheard", "cut short", "other device", "both devices"))
        if event in {"unheard", "cut short"}:
            self._lose(fields, whole=event == "unheard")
        else:
            self._enter()
        if event == "both devices":
            self._answer_there()
        there, self.browser = self.browser, first
        self._send(fields)  # the page sends it again until it is acknowledged
        self.browser = there

    def _answer_there(self) -> None:
        """Answer on the other device what is still open on the first."""
        page = self._next()
        if page is not None:
            self._send(self._chosen(page))

    def _lose(self, fields: dict[str, str], *, whole: bool) -> None:
        """Send an answer, or half of it, and close the connection before the response."""
        body = urlencode(fields)
        cookies = "; ".join(f"{k}={v}" for k, v in self.browser.cookies.items())
        server = self.browser.servers[0]
        head = (
            f"POST /rate/{self.study}/answer/ HTTP/1.1\r\nHost: {server}\r\nCookie: {cookies}\r\n"
        )
        head += "HX-Request: true\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        host, _, port = server.partition(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(request if whole else request[: -len(body) // 2])
        self.browser.move()


def devices(_: Site, trial: Trial) -> int:
    """Let people with personal links lose Wi-Fi or change devices at every step."""
    wait_until(lambda: trial.open_places == 0, seconds=AFTERWARDS_S)
    return Wanderer.steps


@dataclass(frozen=True)
class Fault:
    """A fault, with what it is and what it showed, in the words of the document."""

    inject: Inject
    title: str
    how: str
    annotator: type[Annotator] = Annotator
    may_lose: bool = False


FAULTS = {
    "cut": Fault(
        cut,
        "a web host cut off and back, its clock an hour late, then an hour early",
        "unplugged for 9 s while annotators work on both; the other host serves them",
    ),
    "crash": Fault(
        crash,
        "a web host lost for good in the middle of a transaction that has locked every place",
        "unplugged while the transaction is open; PostgreSQL ends it after 15 s",
    ),
    "failover": Fault(
        failover,
        "PostgreSQL's host lost, its synchronous replica promoted",
        "unplugged, promoted 2 s later, a new replica made; there and back",
    ),
    "asynchronous": Fault(
        asynchronous,
        "PostgreSQL lost, its asynchronous replica promoted that was 3 s behind",
        "the replica unplugged for 3 s, then PostgreSQL killed; what only the lost server had is gone",
        may_lose=True,
    ),
    "redis": Fault(
        redis,
        "Redis emptied, killed and cut off under a running job",
        "emptied once, killed three times for 3 s, unplugged once",
    ),
    "workers": Fault(
        workers, "a worker killed in the middle of its task", "one of three, every 2.5 s"
    ),
    "disk": Fault(
        disk,
        "disk full: of PostgreSQL's tables, of its log of transactions, of uploads",
        "filled to the last byte for 8 s, until PostgreSQL stops, and during an upload",
    ),
    "devices": Fault(
        devices,
        "an annotator without Wi-Fi in the middle of an answer, or with another device",
        "at every answer, with personal links; pages that stay open on the first device send theirs later",
        Wanderer,
    ),
}
