"""Sending Celery tasks by name, so that services need not import the tasks that call them."""

from celery import current_app
from kombu.exceptions import OperationalError

from tiebreak.errors import DomainError


def enqueue(task: str, *arguments: object, queue: str | None = None) -> None:
    """Send the task with this dotted name to a worker.

    Raises `DomainError` with the code ``no_broker`` if the message broker does not answer.
    """
    try:
        current_app.tasks[task].apply_async(args=arguments, queue=queue)
    except OperationalError as error:
        raise DomainError(
            "no_broker",
            "The job queue does not respond. Please ask the server's administrator to start the"
            " message broker and a worker, and then try again.",
            status=503,
        ) from error
