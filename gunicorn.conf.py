"""gunicorn reads this by itself where it is started in this folder; else: --config gunicorn.conf.py.

Access logs stay off unless `--access-logfile` turns them on. In whatever format, they hold no
token of a framed page and no query string, for these carry the ids of workers.

Options of the command line win over these settings.
"""

import os
import shutil
import tempfile
from typing import Any

logger_class = "config.gunicorn_logger.RedactingLogger"

# Several requests at a time, so that a slow one does not stop the site. Each worker has its own pool
# of database connections, so more than four are to be asked for: PostgreSQL accepts 100 by default.
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY") or min(4, max(2, os.cpu_count() or 1)))
# As many as the pool has connections, or threads would wait for one.
threads = int(os.environ.get("TIEBREAK_DATABASE_POOL") or 8)


# Where workers put the times of their requests, so that /metrics adds up those of all of them. It is
# named before they start, because the package looks for it when it is imported.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def on_starting(_server: Any) -> None:
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="tiebreak-metrics-")


def on_exit(_server: Any) -> None:
    shutil.rmtree(os.environ[FOLDER], ignore_errors=True)
