"""gunicorn reads this by itself where it is started in this folder; else: --config gunicorn.conf.py.

Access logs stay off unless `--access-logfile` turns them on. In whatever format, they hold no
token of a framed page and no query string, for these carry the ids of workers.

Options of the command line win over these settings.
"""

import os

logger_class = "config.gunicorn_logger.RedactingLogger"

# Several requests at a time, so that a slow one does not stop the site. Each worker has its own pool
# of database connections, so more than four are to be asked for: PostgreSQL accepts 100 by default.
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY") or min(4, max(2, os.cpu_count() or 1)))
# As many as the pool has connections, or threads would wait for one.
threads = int(os.environ.get("TIEBREAK_DATABASE_POOL") or 8)
