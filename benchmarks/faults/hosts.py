"""Hosts with an address each, in network namespaces of their own, and the servers on them."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from benchmarks.servers import ROOT, PostgreSQL, postgresql_programs

# Set in the process that has namespaces of its own, so that nothing of a run outlives it.
INSIDE = "TIEBREAK_BENCHMARK_NAMESPACES"
NEEDED = ("ip", "unshare", "nsenter", "mount", "cc", "redis-server")
UNSHARE = ["unshare", "--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]
WEB_PORT, DATABASE_PORT, REDIS_PORT = 8000, 5432, 6379
CONFIG = "-c listen_addresses=* -c max_connections=200 -c wal_keep_size=64 -c max_wal_size=48MB"
NAMES = Path("/run/netns")
# Preloaded, it moves the clock of the day, and no timer, by the seconds in the file that CLOCK names.
CLOCK = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    long result = syscall(SYS_clock_gettime, clock, now), offset = 0;
    FILE *file = clock == CLOCK_REALTIME ? fopen(getenv("CLOCK"), "r") : NULL;
    if (file != NULL) {
        if (fscanf(file, "%ld", &offset) == 1) now->tv_sec += offset;
        fclose(file);
    }
    return result;
}
"""


def why_no_namespaces() -> str:
    """Return why hosts cannot have networks of their own here, or ""."""
    if os.getuid() != 0:
        return "needs root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"needs {' and '.join(missing)} (on Debian: apt install iproute2 util-linux gcc redis-server)"
    tried = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False)
    return "needs the right to create network namespaces" if tried.returncode else ""


def enter_namespaces(module: str) -> int:
    """Run a module in namespaces of its own, with all that it starts."""
    environment = {**os.environ, INSIDE: "1"}
    return subprocess.call([*UNSHARE, sys.executable, "-m", module], cwd=ROOT, env=environment)


def clock(folder: Path) -> Path:
    """Compile a library that moves the clock of a process."""
    library = folder / "clock.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=CLOCK, text=True, check=True)
    return library


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Network:
    """A switch to which hosts are plugged."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        NAMES.mkdir(exist_ok=True)
        _run("mount", "-t", "tmpfs", "tmpfs", str(NAMES))  # so that the names are gone with the run
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "switch", "type", "bridge")
        _run("ip", "addr", "add", "10.7.0.1/24", "dev", "switch")
        _run("ip", "link", "set", "switch", "up")

    def add(self, name: str) -> "Host":
        host = Host(name, f"10.7.0.{len(self.hosts) + 10}")
        self.hosts[name] = host
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _run("ip", "-n", name, "addr", "add", f"{host.address}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            _run("ip", "-n", name, "link", "set", link, "up")
        _run("ip", "link", "set", name, "up")
        host.plug_in()
        return host


@dataclass
class Host:
    """A host. Unplugged, it runs on, and whatever is sent to it or by it is lost without a word."""

    name: str
    address: str

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("nsenter", f"--net={NAMES / self.name}")

    def plug_in(self) -> None:
        _run("ip", "link", "set", self.name, "master", "switch")

    def unplug(self) -> None:
        _run("ip", "link", "set", self.name, "nomaster")


@dataclass
class Server:
    """A process on a host, which can be killed and started again; its log is kept in a file."""

    host: Host
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.host.prefix, *self.command],
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the process and its children at once."""
        assert self.process is not None
        os.killpg(self.process.pid, 9)
        self.process.wait()


class Database(PostgreSQL):
    """PostgreSQL on a host, with its data and its log of transactions on small disks of their own."""

    def __init__(self, host: Host, folder: Path) -> None:
        super().__init__(
            folder, DATABASE_PORT, postgresql_programs(), host.address, tuple(host.prefix)
        )
        self.on = host
        self.disks = {name: Disk(folder / name, size) for name, size in SIZES.items()}
        self._own_folder()

    def make(self) -> None:
        where = ("-D", str(self.folder / "data"), "-X", str(self.folder / "wal" / "log"))
        self._empty_disks()
        self._call("initdb", *where, "-U", "postgres", "-A", "trust")
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n")

    def follow(self, primary: "Database") -> None:
        """Become a replica of another server, from a copy of its data, and start."""
        self._empty_disks()
        where = ("-D", str(self.folder / "data"), f"--waldir={self.folder / 'wal' / 'log'}")
        source = f"host={primary.host} port={primary.port} user=postgres application_name=replica"
        self._call("pg_basebackup", *where, "-d", source, "-R", "-c", "fast")
        self.start(CONFIG)
        wait_until(lambda: primary.query("SELECT count(*) FROM pg_stat_replication")[0] > 0)

    @property
    def is_running(self) -> bool:
        return (self.folder / "data" / "postmaster.pid").exists()

    def promote(self) -> None:
        self._call("pg_ctl", "-D", str(self.folder / "data"), "-w", "promote")

    def set(self, name: str, value: str) -> None:
        self.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self.run("SELECT pg_reload_conf()")

    def query(self, sql: str, database: str = "postgres") -> tuple[int, ...]:
        with psycopg.connect(self.url(database), connect_timeout=5, autocommit=True) as connection:
            row = connection.execute(sql.encode()).fetchone()
        assert row is not None
        return tuple(row)

    def _empty_disks(self) -> None:
        for disk in self.disks.values():
            disk.empty()
            shutil.chown(disk.folder, "postgres", "postgres")
            disk.folder.chmod(0o700)


# In megabytes, as much as a run needs and room to spare.
SIZES = {"data": 1000, "wal": 200}


@dataclass
class Disk:
    """A small disk that can be filled."""

    folder: Path
    megabytes: int

    def __post_init__(self) -> None:
        self.folder.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m", "tmpfs", str(self.folder))

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"

    def fill(self) -> None:
        with self._filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(64 * 1024))
            except OSError:
                return

    def make_room(self) -> None:
        self._filler.unlink()

    def empty(self) -> None:
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def wait_until(is_so: Callable[[], object], *, seconds: float = 60) -> bool:
    """Wait until a condition holds, and return whether it did in time; errors count as no."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if is_so():
                return True
        except (OSError, psycopg.Error):
            pass
        time.sleep(0.2)
    return False
