"""`make demo`: run the demo with a web server and a worker until Ctrl-C."""

import argparse
import logging
import os
import secrets
import sys
from pathlib import Path

from config.processes import HOST, ROOT, port_of, run, say

RESEARCHER = "researcher"
WEB = ["gunicorn", "config.wsgi", "--log-level", "warning", "--no-control-socket"]
WORKER = [
    *("celery", "-A", "config", "--quiet", "worker", "-Q", "interactive,default,analytics,gpu"),
    *("--pool", "threads", "--concurrency", "2", "--loglevel", "ERROR"),
]


def main() -> int:
    argparse.ArgumentParser(
        prog="python -m config.demo",
        description="Run the demo with a web server and a worker until Ctrl-C. Its data is kept in"
        " var/. The environment variable TIEBREAK_PORT sets the port (8000).",
    ).parse_args()
    port = port_of(os.environ.get("TIEBREAK_PORT", "8000"))
    if port is None:
        return 1
    os.chdir(ROOT)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # E-mails become files, each with the link that its reader would follow.
    mail = Path(os.environ.get("TIEBREAK_VAR_DIR", "var"), "mail").resolve()
    os.environ.setdefault("TIEBREAK_EMAIL_URL", f"filemail:///{mail}")
    # Celery warns at length of a worker that runs as root, such as in a container. Its messages are JSON,
    # which root reads as safely as anyone.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:You're running the worker")
    studies, password = _prepare()
    commands = {"The web server": [*WEB, "--bind", f"{HOST}:{port}"], "The worker": WORKER}
    return run(port, commands, lambda: _print_addresses(port, studies, password))


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

    from jobs.schema import refuse_unfit_database  # noqa: PLC0415
    from metrics.demo import half_way_demo_of, load_demo  # noqa: PLC0415

    refuse_unfit_database()
    researcher, _ = User.objects.get_or_create(
        username=RESEARCHER,
        defaults={
            "is_staff": True,
            "is_superuser": True,
            "email": f"{RESEARCHER}@example.org",
        },
    )
    password = secrets.token_urlsafe(9)
    researcher.set_password(password)
    researcher.save(update_fields=["password"])
    finished = load_demo(owner=researcher, say=say)
    half_way = half_way_demo_of(researcher) or finished
    return (finished.pk, half_way.pk), password


def _print_addresses(port: int, studies: tuple[str, str], password: str) -> None:
    from django.conf import settings  # noqa: PLC0415

    here = settings.TIEBREAK_PUBLIC_URL or f"http://{HOST}:{port}"
    finished, half_way = studies
    say(
        f"""
Tiebreak is running. The ratings of the demo are simulated.

  Researcher   {here}/admin/   user {RESEARCHER}, password {password} (new for each run)
  Results      {here}/studies/{finished}/results/   of a finished study
  Collect      {here}/studies/{half_way}/   the same study half-way
  Annotator    {here}/s/{half_way}/   rate it yourself
  E-mails      {getattr(settings, "EMAIL_FILE_PATH", "sent")}   invitations and new passwords, as files

Ctrl-C stops everything.
"""
    )


if __name__ == "__main__":
    sys.exit(main())
