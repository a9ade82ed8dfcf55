"""Concurrent requests from a plain iterator, sent by an event loop in a thread."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
Ask = Callable[[A], Awaitable[B]]


def fan_out(
    requests: Iterable[A],
    session: AbstractAsyncContextManager[Ask[A, B]],
    *,
    window: int,
) -> Iterator[B]:
    """Send all requests, and yield their results in the order in which they finish.

    Requests are taken in the caller's thread, which may hold a database connection. At most
    ``window`` of them are in progress, or finished but not yet yielded. ``session`` is entered and
    left in the loop's thread, and yields the coroutine function that sends a request. This function
    must return failures as results, because an exception ends the whole iteration. If the iterator
    is closed or ``requests`` raises an error, all requests in progress are cancelled.
    """
    with _running_loop() as loop:
        ask = _run(session.__aenter__(), loop)
        try:
            yield from _windowed(iter(requests), ask, loop, window)
        finally:
            _run(_cancel_all_tasks(), loop)
            _run(session.__aexit__(None, None, None), loop)


def run_in_thread(awaitable: Awaitable[B]) -> B:
    """Return the result of one awaitable, also where a loop runs already, as in a notebook."""
    with _running_loop() as loop:
        return _run(awaitable, loop)


def _windowed(
    requests: Iterator[A], ask: Ask[A, B], loop: asyncio.AbstractEventLoop, window: int
) -> Iterator[B]:
    finished: SimpleQueue[Future[B]] = SimpleQueue()
    started = yielded = 0
    is_exhausted = False
    while not is_exhausted or yielded < started:
        if not is_exhausted and started - yielded < window:
            try:
                request = next(requests)
            except StopIteration:
                is_exhausted = True
                continue
            future = asyncio.run_coroutine_threadsafe(_as_coroutine(ask(request)), loop)
            future.add_done_callback(finished.put)
            started += 1
        must_wait = is_exhausted or started - yielded == window
        for future in _ready(finished, must_wait=must_wait):
            yielded += 1
            yield future.result()


def _ready(finished: SimpleQueue[Future[B]], *, must_wait: bool) -> Iterator[Future[B]]:
    """Yield the finished futures; if ``must_wait``, block until there is at least one."""
    try:
        yield finished.get(block=must_wait)
        while True:
            yield finished.get_nowait()
    except Empty:
        return


async def _as_coroutine(awaitable: Awaitable[B]) -> B:
    """Wrap an awaitable, because `asyncio.run_coroutine_threadsafe` only takes coroutines."""
    return await awaitable


async def _cancel_all_tasks() -> None:
    """Cancel all tasks of the loop except the current one."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def _running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="gateway", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _run(awaitable: Awaitable[B], loop: asyncio.AbstractEventLoop) -> B:
    """Run an awaitable in the loop's thread, and block until it is done."""
    return asyncio.run_coroutine_threadsafe(_as_coroutine(awaitable), loop).result()
