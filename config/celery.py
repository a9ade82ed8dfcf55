"""The Celery application: three queues, JSON only, tasks that take ids."""

import os
from pathlib import Path

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("tiebreak")


@app.on_after_configure.connect  # type: ignore[untyped-decorator]
def _make_broker_folder(sender: Celery, **_: object) -> None:
    """The filesystem broker expects its folders to be there."""
    if sender.conf.broker_url == "filesystem://":
        Path(sender.conf.broker_transport_options["data_folder_in"]).mkdir(
            parents=True, exist_ok=True
        )


app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
