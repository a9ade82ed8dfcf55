"""Actions on platforms, which cost money, happen at most once, whatever becomes of their worker."""

from datetime import timedelta

import pytest
from django.utils import timezone

from recruitment.messages import NO_RESULT
from recruitment.models import Channel
from recruitment.services.platform_actions import ACTIONS, STALE_AFTER, enqueue_action
from recruitment.tasks import platform_action_task
from tests.refusals import refused
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """As a worker's process ends: nothing after it runs."""


@pytest.fixture
def channel() -> Channel:
    return Channel.objects.create(study=make_study(), provider="prolific")


@pytest.fixture
def messages(monkeypatch) -> list[tuple]:
    """What went to the queue, which may deliver it again."""
    sent: list[tuple] = []
    monkeypatch.setattr(platform_action_task, "apply_async", lambda args, queue: sent.append(args))
    return sent


def test_an_action_whose_worker_was_killed_midway_is_never_sent_again(
    channel, messages, monkeypatch
):
    requests = []

    def kill(channel, arguments):
        requests.append(arguments)
        raise Killed

    monkeypatch.setitem(ACTIONS, "pay", kill)
    enqueue_action(channel=channel, action="pay", amount="0.50")
    (message,) = messages
    with pytest.raises(Killed):
        platform_action_task(*message)
    platform_action_task(*message)
    assert len(requests) == 1
    channel.refresh_from_db()
    assert channel.problem == NO_RESULT  # the researcher looks at the platform
    with refused("action_pending"):
        enqueue_action(channel=channel, action="pay", amount="0.50")

    Channel.objects.update(pending_at=timezone.now() - STALE_AFTER - timedelta(seconds=1))
    monkeypatch.setitem(ACTIONS, "pay", lambda channel, arguments: requests.append(arguments))
    enqueue_action(channel=channel, action="pay", amount="0.70")
    platform_action_task(*message)  # late, and beside the newer one
    assert len(requests) == 1
    platform_action_task(*messages[1])
    assert [request["amount"] for request in requests] == ["0.50", "0.70"]
    channel.refresh_from_db()
    assert (channel.pending, channel.problem) == ("", "")
