"""The broker of Redis: a worker survives that Redis restarts while it has a task.

Kombu closes the lost connection, and then returns or acknowledges its tasks on a channel that has no
connection any more. In kombu 5.7.0 this raises an AttributeError, which nothing catches, so that the
worker's main process ends. A connection error is logged instead, and the worker connects again. The
message may be lost or come twice, which is harmless, because jobs are rows of the database.
"""

from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError as RedisConnectionError


class Channel(redis.Channel):
    def _connparams(self, *arguments: Any, **options: Any) -> Any:
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("The connection of this channel was closed.")
        return super()._connparams(*arguments, **options)  # type: ignore[no-untyped-call]


class Transport(redis.Transport):
    Channel = Channel
