"""Keeps one model loaded in each process so that the chunks of a job need not load it again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


class ResidentModel:
    """The model that a process holds in memory. One thread uses it at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._key: object = None
        self._model: Any = None

    @contextmanager
    def use(self, key: object, load: Callable[[], Any]) -> Iterator[Any]:
        """Wait until the model is free; load it first if another one is in memory."""
        with self._lock:
            if self._model is None or self._key != key:
                self._unload()
                self._model, self._key = load(), key
            yield self._model

    def _unload(self) -> None:
        model, self._model, self._key = self._model, None, None
        if hasattr(model, "close"):
            model.close()


RESIDENT = ResidentModel()
