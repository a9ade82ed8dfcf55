"""The benchmark of serving HITs under load and faults: `make bench-serving [ONLY=load,bundles,…]`.

With ``AGAINST=FOLDER``, the row `earlier` compares this checkout with the one in that folder.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import bootstrap

from benchmarks.crowd import Habits, Record, crowd
from benchmarks.harness import Row, publish
from benchmarks.label_studio import Labeler, label_studio
from benchmarks.servers import ROOT, PostgreSQL, Web, gunicorn, postgresql

RATINGS = 3
LEASE_MINUTES = 1 / 3
# This is far longer than a run takes. A run that is cut off misses its target.
MAX_SECONDS = 3_600
# From the page for annotators without work. `annotation.messages` would need a configured Django.
NO_MORE_WORK = "no more work for you in this study"


@contextmanager
def serving(
    database: PostgreSQL, name: str, *, folder: Path = ROOT, **settings: str
) -> Iterator[tuple[Web, Callable[..., str]]]:
    """Serve Tiebreak from this or another checkout on a new database.

    Yields the server, and a function that runs that checkout's code with the database.
    """
    database.run(f"CREATE DATABASE {name}")
    environment = {
        "TIEBREAK_DATABASE_URL": database.url(name),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        **settings,
    }
    inside = partial(run_inside, {**os.environ, **environment}, folder)
    inside("migrate")
    with gunicorn("config.wsgi", environment, folder=folder, ready="/s/nobody/") as web:
        yield web, inside


def run_inside(
    environment: dict[str, str],
    folder: Path,
    action: str,
    *arguments: object,
    module: str = "serving_study",
) -> str:
    """Run an action of a module of `benchmarks` in a process with this database."""
    command = [sys.executable, "-m", f"benchmarks.{module}", action, *map(str, arguments)]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def load_row(database: PostgreSQL, *, name: str, hits: int, units: int) -> Row:
    """Measure a run until every HIT is complete and annotators have looked for more work."""
    with serving(database, name) as (web, inside):
        study = inside("make", hits, units, RATINGS, LEASE_MINUTES)
        memory = _Memory(web)
        habits = Habits(abandons=0.05, look_for_s=30)
        record, seconds = crowd(web.port, study, 200, habits, max_seconds=MAX_SECONDS)
        grown = memory.finish(record)
        counted, wrong = inside("count", study).split()
    is_exact = int(counted) == hits * units * RATINGS and wrong == "0"
    is_plain = all(NO_MORE_WORK in end or "completion code" in end for end in record.endings[-200:])
    rate = len(record.saves) / seconds
    print(
        f"{name}: {counted} counted, {wrong} units without exactly {RATINGS} ratings,"
        f" {len(record.errors)} errors, {rate:.0f} answers per second,"
        f" save p95 {record.percentile('saves', 0.95) * 1000:.0f} ms,"
        f" {record.requests:,} requests, worker memory ×{grown:.2f}",
        *Counter(record.errors).most_common(3),
        flush=True,
    )
    return Row(
        f"{hits:,} HITs of {units} × R = {RATINGS}, 200 annotators until nothing is left",
        seconds,
        web_megabytes := memory.last,
        "worker memory after a fifth of the run",
        grown,
        "exact, 0 errors, flat memory",
        is_exact and is_plain and not record.errors and grown < 1.1 and web_megabytes > 0,
    )


class _Memory:
    """Samples the web workers' memory every second."""

    def __init__(self, web: Web) -> None:
        self._web, self._seen, self._done = web, list[float](), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(1):
            self._seen.append(self._web.megabytes)

    def finish(self, _record: Record) -> float:
        """Return the ratio of the memory at the end to the memory after a fifth of the run."""
        self._done.set()
        self._thread.join()
        return self.last / self._seen[len(self._seen) // 5]

    @property
    def last(self) -> float:
        return self._seen[-1]


def pace_row(
    database: PostgreSQL,
    *,
    annotators: int = 50,
    pause: float = 1.0,
    cores: Set[int] | None = None,
) -> Row:
    """Measure annotators who pause between answers, with some cores for the web server's workers."""
    given = cores or os.sched_getaffinity(0)
    with serving(database, f"pace_{annotators}_{len(given)}") as (web, inside):
        for process in (web.process.pid, *web.workers):
            os.sched_setaffinity(process, given)
        study = inside("make", 3_000, 1, RATINGS, 30)
        record, seconds = crowd(web.port, study, annotators, Habits(pause=pause), max_seconds=40)
    save, page = (record.percentile(which, 0.95) * 1000 for which in ("saves", "nexts"))
    print(f"pace: save p95 {save:.0f} ms, next p95 {page:.0f} ms, {len(record.errors)} errors")
    return Row(
        f"{annotators} annotators, {pause:g} s between answers, cores: {len(given)}; p95"
        f" {save:.0f} ms save, {page:.0f} ms next",
        seconds,
        0,
        "",
        None,
        "both under 100 ms",
        save < 100 and page < 100 and not record.errors,
    )


def faults_row(database: PostgreSQL) -> Row:
    """Kill a worker every second and restart the database twice while 50 annotators work."""
    hits = int(os.environ.get("HITS", "1500"))
    with serving(database, "faults") as (web, inside):
        study = inside("make", hits, 1, RATINGS, LEASE_MINUTES)
        done = threading.Event()
        trouble = threading.Thread(target=_make_trouble, args=(web, database, done), daemon=True)
        trouble.start()
        habits = Habits(retries=True, look_for_s=25)
        record, seconds = crowd(web.port, study, 50, habits, max_seconds=MAX_SECONDS)
        done.set()
        trouble.join()
        counted, wrong = inside("count", study).split()
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(" ".join(answer) + "\n" for answer in record.acknowledged)
            file.flush()
            lost = inside("lost", study, file.name)
    print(
        f"faults: {counted} counted, {wrong} units without exactly {RATINGS} ratings, {lost}"
        f" acknowledged answers lost, {len(record.errors)} failed requests retried",
        flush=True,
    )
    return Row(
        f"{hits:,} HITs, a web worker killed each second, PostgreSQL restarted twice",
        seconds,
        0,
        "",
        None,
        "exact, nothing acknowledged is lost",
        int(counted) == hits * RATINGS and wrong == "0" and lost == "0",
    )


def _make_trouble(web: Web, database: PostgreSQL, done: threading.Event) -> None:
    second = 0
    while not done.wait(1):
        second += 1
        with suppress(ProcessLookupError, IndexError):
            web.kill_a_worker()
        if second in (10, 25):
            database.restart()


def peer_row(database: PostgreSQL) -> Row:
    """Compare Tiebreak and Label Studio with twenty annotators without pauses, in alternation."""
    annotators, tasks, seconds = 20, 600, 20.0
    ours, theirs = Record(), Record()
    with (
        serving(database, "peer") as (web, inside),
        label_studio(database, tasks=tasks, ratings=RATINGS, annotators=annotators) as peer,
    ):
        for number in range(2):
            study = inside("make", 3_000, 1, RATINGS, 30)
            record, _ = crowd(web.port, study, annotators, Habits(), max_seconds=seconds)
            ours.add(record)
            theirs.add(_label(*peer, seconds=seconds))
            print(
                f"round {number + 1}: {len(ours.saves)} answers in Tiebreak, {len(theirs.saves)} in"
                " Label Studio",
                flush=True,
            )
    for name, record in (("Tiebreak", ours), ("Label Studio", theirs)):
        tails = [record.percentile("saves", share) * 1000 for share in (0.95, 0.99)]
        print(
            f"{name}: {len(record.saves) / (2 * seconds):.1f} answers per second, a save's p95"
            f" {tails[0]:.0f} ms and p99 {tails[1]:.0f} ms, {len(record.errors)} errors",
            *Counter(record.errors).most_common(2),
            flush=True,
        )
    ratio = len(ours.saves) / max(len(theirs.saves), 1)
    return Row(
        f"{annotators} annotators without pause, answers in {2 * seconds:.0f} s",
        2 * seconds,
        0,
        "Label Studio 1.23's answers in the same time",
        ratio,
        "10 times",
        ratio >= 10 and not ours.errors,
    )


def earlier_row(database: PostgreSQL) -> Row:
    """Compare this checkout and another with twenty annotators without pauses, in alternation.

    The order changes in each round, because the disk is fuller in the second run of a round.
    """
    annotators, rounds, seconds = 20, int(os.environ.get("ROUNDS", "10")), 10.0
    ratios = []
    with (
        serving(database, "present") as present,
        serving(database, "earlier", folder=Path(os.environ["AGAINST"]).resolve()) as earlier,
    ):
        for number in range(rounds):
            order = (present, earlier) if number % 2 else (earlier, present)
            saves = {}
            for web, inside in order:
                study = inside("make", 1_500, 1, RATINGS, 30)
                record, _ = crowd(web.port, study, annotators, Habits(), max_seconds=seconds)
                saves[web.port] = len(record.saves)
            ratios.append(saves[present[0].port] / saves[earlier[0].port])
            print(f"round {number + 1}: ratio {ratios[-1]:.3f} {list(saves.values())}", flush=True)
    interval = bootstrap((np.array(ratios),), np.median, rng=0).confidence_interval
    print(f"median {statistics.median(ratios):.3f}, 95% {interval.low:.3f} to {interval.high:.3f}")
    return Row(
        f"{annotators} annotators without pause, {rounds} rounds of {seconds:.0f} s each",
        rounds * 2 * seconds,
        0,
        "the other checkout's answers in the same time (median of rounds)",
        statistics.median(ratios),
        "interval of the ratio not all below 0.95",
        bool(interval.high >= 0.95),
    )


def _label(web: Web, project: int, tokens: list[str], *, seconds: float) -> Record:
    record, stop = Record(), threading.Event()
    labelers = [Labeler(web.port, project, token, record=record, stop=stop) for token in tokens]
    for labeler in labelers:
        labeler.start()
    stop.wait(seconds)
    stop.set()
    for labeler in labelers:
        labeler.join(30)
    return record


def claim_row(database: PostgreSQL) -> Row:
    """Compare the time of taking a place with a thousand and with a million open HITs."""
    medians = []
    for hits in (1_000, 1_000_000):
        name = f"claim_{hits}"
        database.run(f"CREATE DATABASE {name}")
        url = {"TIEBREAK_DATABASE_URL": database.url(name)}
        inside = partial(
            run_inside, {**os.environ, **url, "DJANGO_SETTINGS_MODULE": "config.settings"}, ROOT
        )
        inside("migrate")
        medians.append(float(inside("claims", hits)))
    small, large = medians
    return Row(
        "taking a place, 1,000,000 HITs open",
        large,
        0,
        "1,000 HITs open",
        large / small,
        "ratio under 1.5",
        large / small < 1.5,
    )


def main() -> int:
    work: dict[str, Callable[[PostgreSQL], Row]] = {
        "claim": claim_row,
        "pace": pace_row,
        "peer": peer_row,
        "faults": faults_row,
        "bundles": partial(load_row, name="bundles", hits=4_000, units=5),
        "load": partial(load_row, name="load", hits=20_000, units=1),
    }
    if "AGAINST" in os.environ:
        work["earlier"] = earlier_row
    only = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(work)
    with postgresql() as database:
        return publish("serving", [work[name](database) for name in only])


if __name__ == "__main__":
    sys.exit(main())
