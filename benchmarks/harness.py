"""Measuring in a separate process, and publishing a table and a JSON file."""

import json
import math
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

RESULTS = Path("var/benchmarks")


@dataclass(frozen=True)
class Measured:
    """The time of the best of several runs in seconds, and the process's peak memory in MB.

    ``processor`` is the least processor time of a run, over all threads.
    """

    seconds: float
    megabytes: float
    processor: float = math.nan


@dataclass(frozen=True)
class Row:
    """A row of the table, with the work, its cost and its target."""

    work: str
    seconds: float
    megabytes: float
    compared_with: str
    ratio: float | None
    must: str
    reached: bool
    processor: float | None = None


def seconds_of(work: Callable[[], object], *, runs: int = 3) -> float:
    """Return the time of the best of several runs, because noise only adds time."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def measured(prepare: Callable[[], Callable[[], object]], *, runs: int = 3) -> Measured:
    """Run the function that ``prepare`` returns in a new process, to measure only its memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, prepare, runs).result()


def _measured(prepare: Callable[[], Callable[[], object]], runs: int) -> Measured:
    work, processor = prepare(), []

    def once() -> None:
        start = time.process_time()
        work()
        processor.append(time.process_time() - start)

    seconds = seconds_of(once, runs=runs)
    unit = 1024 if sys.platform == "linux" else 1024**2
    return Measured(
        seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, min(processor)
    )


def publish(name: str, rows: Sequence[Row]) -> int:
    """Write ``var/benchmarks/NAME.json``, print the table, and return 1 if a target was missed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    file = RESULTS / f"{name}.json"
    results = {"machine": machine, "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    width = max(len(row.work) for row in rows)
    print(f"\n{'work':{width}}  {'s':>8}  {'cpu s':>8}  {'MB':>6}  {'ratio':>9}  must")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}"
        mark = "" if row.reached else "   NOT REACHED"
        processor = "" if row.processor is None else f"{row.processor:.3f}"
        cost = f"{row.seconds:8.3f}  {processor:>8}  {row.megabytes:6.0f}  {ratio:>9}"
        line = f"{row.work:{width}}  {cost}"
        print(f"{line}  {row.must}{mark}")
    against = [row.compared_with for row in rows if row.compared_with]
    if against:
        print(f"Compared with: {'; '.join(against)}.")
    print(f"Written to {file}.")
    return 0 if all(row.reached for row in rows) else 1
