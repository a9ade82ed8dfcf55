import re

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from jobs.queue import enqueue
from tests.paths import ROOT
from tiebreak.errors import DomainError

TASK = "jobs.tasks.make_due_rounds_task"


def test_every_task_that_is_sent_by_name_exists():
    sent = {
        name
        for package in ("annotation", "jobs", "machine_raters", "metrics", "recruitment", "studies")
        for path in (ROOT / package).rglob("*.py")
        for name in re.findall(r"enqueue\(\s*\"([\w.]+)\"", path.read_text())
    }
    assert sent
    assert sent <= set(current_app.tasks)


def test_a_broker_that_does_not_answer_is_a_refusal(monkeypatch):
    def unreachable(**_):
        raise OperationalError

    monkeypatch.setattr(current_app.tasks[TASK], "apply_async", unreachable)
    with pytest.raises(DomainError) as refused:
        enqueue(TASK)
    assert (refused.value.code, refused.value.status) == ("no_broker", 503)


def test_the_message_carries_arguments_and_queue(monkeypatch):
    sent = []
    monkeypatch.setattr(current_app.tasks[TASK], "apply_async", lambda **how: sent.append(how))
    enqueue(TASK, 7, "key", queue="gpu")
    assert sent == [{"args": (7, "key"), "queue": "gpu"}]
