"""The Celery application: three queues, JSON only, tasks that take ids."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("tiebreak")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
