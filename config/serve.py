"""`make serve`: run a server for real studies on one host, with its workers, until Ctrl-C."""

import argparse
import os
import secrets
import sys
from getpass import getuser
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.processes import HOST, ROOT, port_of, run, say
from tiebreak.errors import DomainError

SETTINGS = "TIEBREAK_SETTINGS_FILE"
# What the first start writes, unless the environment says otherwise.
DEFAULTS = {
    "TIEBREAK_ENV": "production",
    "TIEBREAK_DATABASE_URL": "postgres:///tiebreak",
    "TIEBREAK_BROKER_URL": "redis://127.0.0.1:6379/0",
    "TIEBREAK_BEHIND_PROXY": "1",
}
NO_HOST = (
    "Name the host under which people reach this server: make serve HOST=rate.example.org"
    " (the settings are then kept in {}, and the next start needs no name)."
)
NO_DATABASE = (
    "The database does not answer. Start PostgreSQL and create what TIEBREAK_DATABASE_URL names; if"
    " it is postgres:///tiebreak: sudo -u postgres createuser {user} && sudo -u postgres createdb"
    " -O {user} tiebreak"
)
NO_BROKER = (
    "The message broker does not answer. Start Redis, or set TIEBREAK_BROKER_URL to where it is. On"
    " Debian: sudo apt install redis-server"
)
WELCOME = """
Tiebreak is running at http://{address} for your proxy, which adds TLS. One command on the same host:

  sudo caddy reverse-proxy --from {host} --to {address}

Settings   {file}
{account}
Ctrl-C stops everything.
"""


def main() -> int:
    file = Path(os.environ.setdefault(SETTINGS, str(ROOT / "var" / "server.env"))).absolute()
    host = _arguments(file).host
    port = port_of(os.environ.get("TIEBREAK_PORT", "8000"))
    if port is None:
        return 1
    if not file.exists() and not host:
        say(NO_HOST.format(file))
        return 1
    os.chdir(ROOT)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    try:
        if not file.exists():
            _write_settings(file, host)
        problem = _prepare()
    except (DomainError, ImproperlyConfigured, OSError) as error:
        problem = str(error)
    if problem:
        say(problem)
        return 1
    return run(port, commands(port, os.cpu_count() or 1), lambda: _welcome(port, file))


def _arguments(file: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m config.serve",
        description="Run a web server and workers for real studies on this host until Ctrl-C. It"
        f" needs PostgreSQL, Redis and a proxy with TLS. The settings are kept in {file}"
        f" ({SETTINGS} names another file); TIEBREAK_PORT sets the port (8000).",
    )
    parser.add_argument(
        "host", nargs="?", default="", help="the name of this server, needed at the first start"
    )
    return parser.parse_args()


def commands(port: int, cores: int) -> dict[str, list[str]]:
    """Return the processes of a host with so many cores; gunicorn.conf.py sizes the web server."""
    bind = ["--bind", f"{HOST}:{port}", "--no-control-socket"]
    return {
        "The web server": ["gunicorn", "config.wsgi", *bind],
        "The worker of what people wait for": _worker("interactive", "interactive", 2),
        "The worker of jobs and reports": _worker("jobs", "default,analytics", max(1, cores - 1)),
        "The worker of models": _worker("models", "gpu", 1),
    }


def _worker(name: str, queues: str, processes: int) -> list[str]:
    worker = ["celery", "-A", "config", "--quiet", "worker", "-n", f"{name}@%h", "-Q", queues]
    return [*worker, "--concurrency", str(processes)]


def _write_settings(file: Path, host: str) -> None:
    """Write a key and the least that production needs into a file that only its owner can read."""
    own = {"TIEBREAK_SECRET_KEY": secrets.token_urlsafe(50), "TIEBREAK_HOSTS": host}
    values = {name: os.environ.get(name) or value for name, value in (DEFAULTS | own).items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))


def _prepare() -> str:
    """Check the settings and what they name, migrate and collect files; return what is amiss."""
    from django import setup  # noqa: PLC0415  the settings are written before
    from django.core.management import call_command  # noqa: PLC0415

    setup()
    from jobs.backup import prepare_folders  # noqa: PLC0415
    from jobs.health import OK, check_health  # noqa: PLC0415

    health = check_health()
    if health.database != OK:
        return NO_DATABASE.format(user=getuser())
    if health.broker != OK:
        return NO_BROKER
    prepare_folders()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)
    return ""


def _welcome(port: int, file: Path) -> None:
    from django.conf import settings  # noqa: PLC0415
    from django.contrib.auth.models import User  # noqa: PLC0415

    command = f"{SETTINGS}={file} {sys.executable} manage.py createsuperuser"
    account = "" if User.objects.exists() else f"Account    none yet; create one with: {command}\n"
    say(
        WELCOME.format(
            address=f"{HOST}:{port}", host=settings.ALLOWED_HOSTS[0], file=file, account=account
        )
    )


if __name__ == "__main__":
    sys.exit(main())
