"""Servers that are started before a benchmark and stopped after it."""

import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB_WORKERS, WEB_THREADS = 2, 4


@dataclass
class PostgreSQL:
    """A PostgreSQL server from the system's package, with its data in a temporary folder."""

    folder: Path
    port: int
    programs: Path
    host: str = "127.0.0.1"
    # What comes before each command, such as entering a network namespace.
    prefix: tuple[str, ...] = ()

    def url(self, database: str) -> str:
        return f"postgres://postgres@{self.host}:{self.port}/{database}"

    def run(self, sql: str) -> None:
        self._call("psql", "-qh", self.host, "-p", str(self.port), "-c", sql)

    def make(self) -> None:
        self._own_folder()
        self._call("initdb", "-D", str(self.folder / "data"), "-U", "postgres", "-A", "trust")

    def _own_folder(self) -> None:
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")

    def start(self, settings: str = "-c max_connections=200") -> None:
        options = f"-p {self.port} -k {self.folder} {settings}"
        log = str(self.folder / "log")
        self._call(
            "pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", log, "-o", options, "start"
        )

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def restart(self) -> None:
        """Restart the server as an operator would, which cancels running statements."""
        self.stop()
        self.start()

    def _call(self, program: str, *arguments: str) -> None:
        """Run a program, but not as root, because PostgreSQL refuses to run as root."""
        who = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        command = [*self.prefix, *who, str(self.programs / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)


def postgresql_programs() -> Path:
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        raise SystemExit("This benchmark needs PostgreSQL. On Debian: apt install postgresql")
    return programs[-1]


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    programs = postgresql_programs()
    with tempfile.TemporaryDirectory(prefix="tiebreak-", ignore_cleanup_errors=True) as folder:
        server = PostgreSQL(Path(folder), free_port(), programs)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def redis(port: int | None = None) -> Iterator[str]:
    """Start a Redis server that stores nothing on disk; yield its URL."""
    program, port = shutil.which("redis-server"), port or free_port()
    if program is None:
        raise SystemExit("This benchmark needs Redis. On Debian: apt install redis-server")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_until_open(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(timeout=10)


@dataclass
class Web:
    """gunicorn and its workers."""

    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    @property
    def megabytes(self) -> float:
        """Memory of the largest worker in MB."""
        return max(map(_resident_megabytes, self.workers), default=0.0)

    def kill_a_worker(self) -> None:
        if self.workers:
            os.kill(random.choice(self.workers), signal.SIGKILL)


def _resident_megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


@contextmanager
def gunicorn(
    application: str,
    environment: dict[str, str],
    *,
    python: str = sys.executable,
    folder: Path = ROOT,
    ready: str,
    threads: int = WEB_THREADS,
) -> Iterator[Web]:
    """Serve a WSGI application; ``ready`` is the path to request until the server responds."""
    port = free_port()
    command = [python, "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}"]
    command += ["--workers", str(WEB_WORKERS), "--threads", str(threads)]
    command += ["--worker-class", "gthread", "--keep-alive", "75", "--log-level", "critical"]
    command += ["--preload"]  # so that new workers start at once
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environment})
    try:
        _wait_until_up(port, ready, process)
        yield Web(port, process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_open(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"Nothing listens on port {port} after five seconds.")


def _wait_until_up(port: int, path: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            connection.getresponse()
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(
                    "The web server did not start. Its messages above say why."
                ) from None
            time.sleep(0.2)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError(f"The web server did not respond at {path} within two minutes.")
