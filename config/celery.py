"""The Celery application. It has three queues, and its messages are JSON with ids."""

import logging
import os
from pathlib import Path
from threading import Event

from celery import Celery, Task
from celery.signals import (
    after_setup_logger,
    after_setup_task_logger,
    beat_init,
    task_prerun,
    worker_init,
    worker_ready,
    worker_shutting_down,
)
from django.core.exceptions import ImproperlyConfigured
from kombu.transport import TRANSPORT_ALIASES

from config.redaction import redact_handlers
from jobs.log_context import begin_log

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The brokers by the beginning of their URL. By name, so that only a process that needs one loads it.
TRANSPORT_ALIASES.update(
    filesystem="config.filesystem_broker:Transport",
    redis="config.redis_broker:Transport",
    rediss="config.redis_broker:Transport",
)
app = Celery("tiebreak")
_is_shutting_down = Event()


@app.on_after_configure.connect  # type: ignore[untyped-decorator]
def _make_broker_folder(sender: Celery, **_: object) -> None:
    """Create the folders of the filesystem broker, which does not create them itself."""
    if sender.conf.broker_url == "filesystem://":
        Path(sender.conf.broker_transport_options["data_folder_in"]).mkdir(
            parents=True, exist_ok=True
        )


@after_setup_logger.connect  # type: ignore[untyped-decorator]
@after_setup_task_logger.connect  # type: ignore[untyped-decorator]
def _redact(logger: logging.Logger, **_: object) -> None:
    """Redact a worker's own handlers, which do not use the formatters from the settings."""
    redact_handlers(logger)


@task_prerun.connect  # type: ignore[untyped-decorator]
def _name_in_log(task_id: str, sender: Task, **_: object) -> None:
    if not sender.request.is_eager:  # which is a part of a request
        begin_log(task=task_id)


@worker_init.connect  # type: ignore[untyped-decorator]
@beat_init.connect  # type: ignore[untyped-decorator]
def _refuse_unfit_database(**_: object) -> None:
    from jobs.schema import refuse_unfit_database  # noqa: PLC0415  models need loaded apps

    try:
        refuse_unfit_database()
    except ImproperlyConfigured as error:  # signals swallow every Exception
        raise SystemExit(str(error)) from error


@worker_ready.connect  # type: ignore[untyped-decorator]
def _propose_rounds(**_: object) -> None:
    from jobs.rounds import propose_rounds  # noqa: PLC0415  models need loaded apps

    propose_rounds(app, _is_shutting_down)


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _stop_proposing(**_: object) -> None:
    _is_shutting_down.set()


app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
