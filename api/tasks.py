"""The periodic task of webhooks. It may run twice."""

from celery import shared_task

from api.services.webhook_events import record_events
from api.services.webhook_sending import start_sending


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def webhooks_task() -> None:
    record_events()
    start_sending()
