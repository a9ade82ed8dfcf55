"""The broker of Redis: a worker survives that Redis restarts while it has a task.

Kombu closes the lost connection, and then gives its tasks back or confirms them on a channel that
belongs to no connection any more. This raises an AttributeError (kombu 5.7.0), which nobody expects,
so that the worker's main process ends. As the error of a connection, it is logged, and the worker
connects anew. What a job has left to do stands in the database, so such a message may be lost.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import ConnectionError as RedisConnectionError


class Channel(redis.Channel):  # type: ignore[misc]
    def _connparams(self, *arguments: Any, **options: Any) -> Any:
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("The connection of this channel was closed.")
        return super()._connparams(*arguments, **options)


class Transport(redis.Transport):  # type: ignore[misc]
    Channel = Channel


def use_for_redis_urls() -> None:
    """Let every connection to `redis://` and `rediss://` use this transport."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
