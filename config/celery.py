"""The Celery application: three queues, JSON only, tasks that take ids."""

import logging
import os
from pathlib import Path

from celery import Celery
from celery.signals import after_setup_logger, after_setup_task_logger

from config.redaction import redact_handlers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("tiebreak")


@app.on_after_configure.connect  # type: ignore[untyped-decorator]
def _make_broker_folder(sender: Celery, **_: object) -> None:
    """The filesystem broker expects its folders to be there."""
    if sender.conf.broker_url == "filesystem://":
        Path(sender.conf.broker_transport_options["data_folder_in"]).mkdir(
            parents=True, exist_ok=True
        )


@after_setup_logger.connect  # type: ignore[untyped-decorator]
@after_setup_task_logger.connect  # type: ignore[untyped-decorator]
def _redact(logger: logging.Logger, **_: object) -> None:
    """A worker sets up handlers of its own, which know nothing of the settings."""
    redact_handlers(logger)


app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
