"""`make demo`: run the demo with a web server and a worker until Ctrl-C."""

import argparse
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent
RESEARCHER = "researcher"
WEB = ["gunicorn", "config.wsgi", "--log-level", "warning", "--no-control-socket"]
WORKER = [
    *("celery", "-A", "config", "--quiet", "worker", "-Q", "interactive,default,analytics,gpu"),
    *("--pool", "threads", "--concurrency", "2", "--loglevel", "ERROR"),
]
Processes = dict[str, "subprocess.Popen[bytes]"]


def main() -> int:
    argparse.ArgumentParser(
        prog="python -m config.demo",
        description="Run the demo with a web server and a worker until Ctrl-C. Its data is kept in"
        " var/. The environment variable TIEBREAK_PORT sets the port (8000).",
    ).parse_args()
    port = _port()
    if port is None:
        return 1
    os.chdir(ROOT)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    studies, password = _prepare()
    web = _start([*WEB, "--bind", f"{HOST}:{port}"])
    processes = {"The web server": web, "The worker": _start(WORKER)}
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _interrupt)
    try:
        if _wait_until_ready(port, processes):
            _print_addresses(port, studies, password)
        return _watch(processes)
    except KeyboardInterrupt:
        _print("\nStopping. The data is kept in var/, and the next `make demo` uses it.")
        return 0
    finally:
        _stop(processes)


def _port() -> int | None:
    text = os.environ.get("TIEBREAK_PORT", "8000")
    if not text.isdecimal() or not 0 < int(text) < 65536:
        _print(f"TIEBREAK_PORT must be a port number, not {text!r}.")
        return None
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, int(text)))
        except OSError:
            _print(f"Port {text} is in use. Choose another port: TIEBREAK_PORT=8001 make demo")
            return None
    return int(text)


def _prepare() -> tuple[tuple[str, str], str]:
    """Migrate, load the demo if necessary, and set a new password for the researcher.

    Returns the ids of the finished study and of the one half-way, and the password.
    """
    from django import setup  # noqa: PLC0415  the settings module is set before
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    Path(settings.VAR_DIR).mkdir(parents=True, exist_ok=True)
    setup()
    logging.getLogger("kombu.connection").setLevel(logging.ERROR)  # a broker of files has no host
    call_command("migrate", verbosity=0, interactive=False)
    from django.contrib.auth.models import User  # noqa: PLC0415

    from jobs.schema import refuse_incomplete_database  # noqa: PLC0415
    from metrics.demo import half_way_demo_of, load_demo  # noqa: PLC0415

    refuse_incomplete_database()
    researcher, _ = User.objects.get_or_create(
        username=RESEARCHER, defaults={"is_staff": True, "is_superuser": True}
    )
    password = secrets.token_urlsafe(9)
    researcher.set_password(password)
    researcher.save(update_fields=["password"])
    finished = load_demo(owner=researcher, say=_print)
    half_way = half_way_demo_of(researcher) or finished
    return (finished.pk, half_way.pk), password


def _start(module_and_options: list[str]) -> subprocess.Popen[bytes]:
    # Because of the new session, Ctrl-C reaches only this process, which then stops the others.
    return subprocess.Popen(  # noqa: S603  no user input
        [sys.executable, "-m", *module_and_options], cwd=ROOT, start_new_session=True
    )


def _wait_until_ready(port: int, processes: Processes) -> bool:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return True
        if any(process.poll() is not None for process in processes.values()):
            return False
        time.sleep(0.1)
    return False


def _print_addresses(port: int, studies: tuple[str, str], password: str) -> None:
    here, (finished, half_way) = f"http://{HOST}:{port}", studies
    _print(
        f"""
Tiebreak is running. The ratings of the demo are simulated.

  Researcher   {here}/admin/   user {RESEARCHER}, password {password} (new for each run)
  Results      {here}/studies/{finished}/results/   of a finished study
  Collect      {here}/studies/{half_way}/   the same study half-way
  Annotator    {here}/s/{half_way}/   rate it yourself

Ctrl-C stops everything.
"""
    )


def _watch(processes: Processes) -> int:
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                _print(f"{name} stopped unexpectedly. Its last messages are above.")
                return 1
        time.sleep(0.5)


def _stop(processes: Processes) -> None:
    for process in processes.values():
        if process.poll() is None:
            process.terminate()
    for process in processes.values():
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _print(sentence: str) -> None:
    print(sentence, flush=True)  # noqa: T201  the output of the command


if __name__ == "__main__":
    sys.exit(main())
