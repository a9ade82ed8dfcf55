"""Measuring in a process of its own, and one table with one JSON file at the end."""

import json
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
    """The best of several runs in seconds, and the most memory its process ever held in MB."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Row:
    """One line of the table: what was done, what it took, and what it had to reach."""

    work: str
    seconds: float
    megabytes: float
    compared_with: str
    ratio: float | None
    must: str
    reached: bool


def seconds_of(work: Callable[[], object], *, runs: int = 3) -> float:
    """The best of several runs: noise only ever adds."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def measured(prepare: Callable[[], Callable[[], object]], *, runs: int = 3) -> Measured:
    """Run what ``prepare`` returns in a fresh process, so that memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, prepare, runs).result()


def _measured(prepare: Callable[[], Callable[[], object]], runs: int) -> Measured:
    seconds = seconds_of(prepare(), runs=runs)
    unit = 1024 if sys.platform == "linux" else 1024**2
    return Measured(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def publish(name: str, rows: Sequence[Row]) -> int:
    """Write ``var/benchmarks/NAME.json`` and print the table; 1 if a line was not reached."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    file = RESULTS / f"{name}.json"
    found = {"machine": machine, "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    width = max(len(row.work) for row in rows)
    print(f"\n{'work':{width}}  {'s':>8}  {'MB':>6}  {'ratio':>9}  must")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}"
        mark = "" if row.reached else "   NOT REACHED"
        line = f"{row.work:{width}}  {row.seconds:8.3f}  {row.megabytes:6.0f}  {ratio:>9}"
        print(f"{line}  {row.must}{mark}")
    against = [row.compared_with for row in rows if row.compared_with]
    if against:
        print(f"Compared with: {'; '.join(against)}.")
    print(f"Kept in {file}.")
    return 0 if all(row.reached for row in rows) else 1
