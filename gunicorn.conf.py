"""gunicorn reads this by itself where it is started in this folder; else: --config gunicorn.conf.py.

Access logs stay off unless `--access-logfile` turns them on. In whatever format, they hold no
token of a framed page and no query string, for these carry the ids of workers.
"""

logger_class = "config.gunicorn_logger.RedactingLogger"
