"""Sending e-mails, which no page waits for."""

from celery import shared_task
from django.core.mail import send_mail


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def send_mail_task(subject: str, body: str, to: str) -> None:
    send_mail(subject, body, None, [to])
