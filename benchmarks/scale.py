"""How far one server goes: `make bench-scale [ONLY=crowds,sizes,live] [HITS=1000,…,1000000]`.

Crowds of annotators with time to think, studies up to ten million ratings, and the seconds after which
a rating is part of the numbers on *Results*.
"""

import os
import re
import statistics
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.crowd import HIDDEN, Annotator, Browser, Habits, Record, crowd
from benchmarks.harness import Row, publish
from benchmarks.servers import ROOT, PostgreSQL, Web, postgresql, redis
from benchmarks.serving import pace_row, serving

CROWDS = ((20, 1.0), (50, 1.0), (100, 1.0), (200, 5.0), (400, 10.0))
SIZES = [int(hits) for hits in os.environ.get("HITS", "1000,10000,100000,1000000").split(",")]
RATINGS = 10
# Work for those who are measured.
LEFT, ANNOTATORS, ROUNDS, SECONDS = 3_000, 8, 3, 10.0
LIVE = (1_000, 10_000, 100_000)
POLL = re.compile(r'hx-get="([^"]*/numbers/[^"]*)"[^>]*every (\d+)ms')
SENT = ("results_page", "shown", "statistics")
WATCHED_SECONDS, PAUSE = 60.0, 3.0


def crowd_rows(database: PostgreSQL) -> Iterator[Row]:
    """Measure crowds on one core for the web server's workers, and on all."""
    everything = sorted(os.sched_getaffinity(0))
    for cores in dict.fromkeys((1, len(everything))):
        for annotators, pause in CROWDS:
            yield pace_row(
                database, annotators=annotators, pause=pause, cores=set(everything[:cores])
            )


def size_rows(database: PostgreSQL) -> Iterator[Row]:
    """Compare an answer in studies of different sizes, in alternation."""
    costs: dict[int, list[float]] = {hits: [] for hits in SIZES}
    with ExitStack() as stack:
        served = {}
        for hits in SIZES:
            web, inside = stack.enter_context(serving(database, f"size_{hits}"))
            served[hits] = (
                web.port,
                inside("filled", hits, RATINGS, LEFT, module="scale_runs"),
            )
            print(f"{hits * RATINGS:,} ratings are stored.", flush=True)
        for _ in range(ROUNDS):
            for hits, (port, study) in served.items():
                record, _ = crowd(port, study, ANNOTATORS, Habits(), max_seconds=SECONDS)
                assert not record.errors, record.errors[:3]
                times = [record.percentile(which, 0.5) for which in ("saves", "nexts")]
                costs[hits].append(sum(times))
    for hits, rounds in costs.items():
        seconds = statistics.median(rounds)
        ratio = seconds / statistics.median(costs[SIZES[0]])
        yield Row(
            f"an answer and the next item, {hits:,} HITs, {hits * RATINGS:,} ratings",
            seconds,
            0,
            "",
            ratio,
            f"at most 1.5 times that of {SIZES[0]:,} HITs",
            ratio <= 1.5,
        )


class Watched(Annotator):
    """An annotator who notes when each answer was stored."""

    def _send(self, fields: dict[str, str]) -> None:
        super()._send(fields)
        self.record.times.append(time.monotonic())


def live_rows(database: PostgreSQL) -> Iterator[Row]:
    for ratings in LIVE:
        yield live_row(database, ratings)


def live_row(database: PostgreSQL, ratings: int) -> Row:
    """Measure how long after an answer *Results* shows numbers with it, asked as its page asks."""
    with redis() as broker:
        name = f"live_{ratings}"
        with serving(database, name, TIEBREAK_BROKER_URL=broker) as (web, inside):
            hits = ratings // RATINGS
            study = inside("filled", hits, RATINGS, LEFT, module="scale_runs")
            cookie = inside("researcher", study, module="scale_runs")
            url = database.url(name)
            with worker({"TIEBREAK_DATABASE_URL": url, "TIEBREAK_BROKER_URL": broker}):
                waits = watch(web, study, cookie, ratings)
    print(f"{ratings:,} ratings: {len(waits)} answers, {waits[0]:.1f} to {waits[-1]:.1f} s")
    late = waits[int(0.95 * len(waits))]
    return Row(
        f"from an answer to *Results* with it, {ratings:,} ratings: median"
        f" {statistics.median(waits):.1f} s, p95 {late:.1f} s",
        late,
        0,
        "",
        None,
        "p95 within 2 s",
        late <= 2,
    )


@contextmanager
def worker(environment: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "worker"]
    command += ["-Q", "interactive,default,analytics", "--concurrency", "1"]
    process = subprocess.Popen(
        [*command, "--loglevel", "CRITICAL"], cwd=ROOT, env={**os.environ, **environment}
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


class Results:
    """The page *Results*, which asks for news as often as its newest state says."""

    def __init__(self, browser: Browser, study: str) -> None:
        self.browser, self.fields = browser, dict[str, str]()
        self._read(ask(browser, f"/studies/{study}/results/"))

    def _read(self, html: str) -> None:
        self.fields |= dict(HIDDEN.findall(html))
        for self.address, milliseconds in POLL.findall(html):
            self.pause = int(milliseconds) / 1000

    def poll(self) -> int:
        """Wait and ask for news; return how many ratings the statistics on the page include."""
        time.sleep(self.pause)
        shown = "&".join(f"{name}={self.fields[name]}" for name in SENT)
        self._read(ask(self.browser, f"{self.address}?{shown}"))
        # The state of the statistics begins with the form of reports and this number.
        _, _, rest = self.fields["statistics"].partition("-")
        return int(rest.partition("-")[0] or 0)


def watch(web: Web, study: str, cookie: str, ratings: int) -> list[float]:
    """Return the sorted seconds after which answers are part of the numbers on the page."""
    server = f"127.0.0.1:{web.port}"
    browser = Browser([server], Record())
    browser.cookies = dict([cookie.split("=", 1)])
    page = Results(browser, study)
    while page.poll() < ratings:  # until the first report is there
        pass
    record, stop, seen = Record(), threading.Event(), []
    annotator = Watched(
        [server], study, habits=Habits(pause=PAUSE), record=record, seed=0, stop=stop
    )
    annotator.start()
    end = time.monotonic() + WATCHED_SECONDS
    while time.monotonic() < end:
        seen.append((page.poll(), time.monotonic()))
    stop.set()
    annotator.join(60)
    assert not record.errors, record.errors[:3]
    return sorted(waits(record.times, seen, ratings))


def ask(page: Browser, address: str) -> str:
    status, text = page.ask("GET", address)
    assert status in {200, 204}, (status, text[:500])
    return text


def waits(times: list[float], seen: list[tuple[int, float]], before: int) -> Iterator[float]:
    """Yield the seconds from each answer to the first numbers that include it."""
    for number, stored in enumerate(times, before + 1):
        first = bisect_left(seen, (number, 0.0))
        if first < len(seen):
            yield seen[first][1] - stored


def main() -> int:
    work: dict[str, Callable[[PostgreSQL], Iterator[Row]]] = {
        "crowds": crowd_rows,
        "live": live_rows,
        "sizes": size_rows,
    }
    only = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(work)
    with postgresql() as database:
        return publish("scale", [row for name in only for row in work[name](database)])


if __name__ == "__main__":
    sys.exit(main())
