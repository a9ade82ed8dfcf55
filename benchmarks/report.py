"""The benchmark of the report, from a Parquet file to numbers: `make bench-report`.

The made-up study compares two systems, so that each annotator rates an item once. Four annotators of
300 (30 in a small study) rate each item, and a machine rates it as the fifth. Items have one of two
categories and a separability that decides how often the better system wins; annotators differ in how
much they prefer the first system. A tie is given in 15% of ratings.

Targets are judged by processor time, because other work on the machine prolongs the rest.
"""

import json
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import RESULTS, Measured, Row, measured, publish
from benchmarks.strengths import peer_rows
from tiebreak.formats import RatingTable
from tiebreak.report import Report, build_report, read_source
from tiebreak.report.build import build_section
from tiebreak.report.registry import on_request
from tiebreak.report.serialization import from_json

R, REPLICATES = 4, 10_000
EXTRAPOLATED_FROM = 2
SMALL = 10_000
PREPARED = RESULTS / "report"

Prepare = Callable[[], Callable[[], object]]
Rows = list[dict[str, Any]]


def study(ratings: int, *, raters: int, texts: bool = False) -> pa.Table:
    """Return a made-up study as the table of a ratings file."""
    rng = np.random.default_rng(0)
    units = ratings // (R + 1)
    separability, leaning = rng.beta(2, 4, units), rng.normal(0, 0.05, raters)
    unit = np.repeat(np.arange(units), R)
    start, step = rng.integers(0, raters, units), rng.integers(1, raters // R, units)
    rater = ((start[:, None] + np.arange(R) * step[:, None]) % raters).ravel()
    for_first = 0.45 + 0.2 * separability
    human = _labels(np.clip(for_first[unit] + leaning[rater], 0.02, 0.98), rng)
    both, n = np.concatenate([unit, np.arange(units)]), len(unit) + units
    columns = {
        "unit": _names("unit-", both),
        "rater": pa.concat_arrays([_names("rater-", rater), pa.array(["judge"] * units)]),
        "label": pa.array(np.concatenate([human, _labels(for_first, rng)]).astype(str)),
        "kind": pa.array(["human"] * len(unit) + ["machine"] * units),
        "criterion": pa.array(["preference"] * n),
        "instance": _names("item-", both),
        "system_a": pa.array(["first"] * n),
        "system_b": pa.array(["second"] * n),
        "category": pa.array(np.array(["news", "dialogue"])[both % 2]),
        "separability_raw": pa.array(separability[both]),
        "side_a": pa.array(np.where(rng.random(n) < 0.5, "left", "right")),
        "duration_ms": pa.array(rng.integers(2_000, 60_000, n)),
        "hit_position": pa.array(rng.integers(1, 11, n)),
    }
    if texts:
        lengths = rng.integers(20, 200, (2, units))
        for side, of_unit in zip("ab", lengths, strict=True):
            columns[f"text_{side}"] = pa.array([("word " * k)[: int(k)] for k in of_unit[both]])
    return pa.table(columns)


def _labels(for_first: Any, rng: np.random.Generator) -> Any:
    is_tie = rng.random(len(for_first)) < 0.15
    return np.where(is_tie, 0, np.where(rng.random(len(for_first)) < for_first, -1, 1))


def _names(prefix: str, codes: Any) -> pa.Array:
    return pa.array(np.char.add(prefix, codes.astype(str)))


def written(ratings: int, *, raters: int, texts: bool = False) -> Path:
    """Return the file of a made-up study, written by a process of its own.

    A new process starts with the peak memory of its parent, which therefore stays small.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_write, ratings, raters, texts=texts).result()


def _write(ratings: int, raters: int, *, texts: bool) -> Path:
    PREPARED.mkdir(parents=True, exist_ok=True)
    path = PREPARED / f"{ratings}.parquet"
    pq.write_table(study(ratings, raters=raters, texts=texts), path)
    return path


def prepare_core(path: Path) -> Callable[[], object]:
    """Prepare everything from the file to the report with the leading numbers and strata."""
    return lambda: build_report(read_source(path).table, replicates=REPLICATES, core=True)


def prepare_whole(path: Path) -> Callable[[], object]:
    return lambda: build_report(read_source(path).table, replicates=REPLICATES)


def prepare_naive(path: Path) -> Callable[[], object]:
    """Prepare some replicates of the five numbers, by loops over Python objects."""
    rows = pq.read_table(path).to_pylist()
    units = _by_unit(rows)

    def replicates() -> object:
        rng, names = np.random.default_rng(0), list(units)
        return [
            _five_numbers([units[names[k]] for k in rng.integers(0, len(names), len(names))])
            for _ in range(EXTRAPOLATED_FROM)
        ]

    return replicates


def _by_unit(rows: Rows) -> dict[str, Rows]:
    units: dict[str, Rows] = defaultdict(list)
    for row in rows:
        units[row["unit"]].append(row)
    return units


def _five_numbers(units: list[Rows]) -> tuple[float, ...]:
    """Return α, α of the machine with the majority, win rate, consistency, and its half width."""
    humans, beside, scores, sets = [], [], [], []
    for rows in units:
        labels = [int(row["label"]) for row in rows if row["kind"] == "human"]
        machine = [int(row["label"]) for row in rows if row["kind"] == "machine"]
        humans.append(labels)
        beside += [[Counter(labels).most_common(1)[0][0], label] for label in machine]
        scores += [(1 - label) / 2 for label in labels]
        sets += [abs(label) for label in labels]
    rate = sum(scores) / len(scores)
    spread = sum((score - rate) ** 2 for score in scores) ** 0.5 / len(scores)
    return _alpha(humans), _alpha(beside), rate, sum(sets) / len(sets), 1.96 * spread


def _alpha(units: list[list[int]]) -> float:
    apart, totals = 0.0, Counter[int]()
    for labels in units:
        if len(labels) > 1:
            counts = Counter(labels)
            totals.update(counts)
            differing = sum(n * (len(labels) - n) for n in counts.values())
            apart += differing / (len(labels) - 1)
    number = sum(totals.values())
    expected = number**2 - sum(n**2 for n in totals.values())
    return 1 - (number - 1) * apart / expected


def core_row(ratings: int, seconds: float, megabytes: float) -> Row:
    path = written(ratings, raters=300)
    cost = measured(partial(prepare_core, path), runs=1)
    by_loops = measured(partial(prepare_naive, path), runs=1).processor / EXTRAPOLATED_FROM
    return Row(
        f"core report from Parquet, {ratings:,} ratings",
        cost.seconds,
        cost.megabytes,
        f"five numbers by loops in Python, {EXTRAPOLATED_FROM} replicates extrapolated to 10,000",
        by_loops * REPLICATES / cost.processor,
        f"under {seconds:g} s, {megabytes:g} MB",
        cost.processor < seconds and cost.megabytes < megabytes,
        cost.processor,
    )


def plain_row(work: str, cost: Measured, seconds: float, megabytes: float) -> Row:
    return Row(
        work,
        cost.seconds,
        cost.megabytes,
        "",
        None,
        f"under {seconds:g} s, {megabytes:g} MB",
        cost.processor < seconds and cost.megabytes < megabytes,
        cost.processor,
    )


def prepare_section(path: Path, name: str) -> Callable[[], object]:
    table = read_source(path).table
    return lambda: build_section(table, name, replicates=REPLICATES)


def section_rows() -> Iterator[Row]:
    path = written(SMALL, raters=30, texts=True)
    for name in sorted(on_request()):
        cost = measured(partial(prepare_section, path, name), runs=1)
        yield plain_row(f"{name} on request, {SMALL:,} ratings", cost, 60, 1_000)


def prepare_warm(path: Path) -> Callable[[], object]:
    """Prepare reading a stored report; the numbers that lead it need nothing more."""
    stored = path.with_suffix(".json")
    report = build_report(read_source(path).table, replicates=100, core=True)
    stored.write_text(json.dumps(report.as_json()), encoding="utf-8")
    return lambda: from_json(Report, json.loads(stored.read_text(encoding="utf-8")))


def warm_row(ratings: int) -> Row:
    cost = measured(partial(prepare_warm, PREPARED / f"{ratings}.parquet"), runs=3)
    return plain_row(f"stored core report of {ratings:,} ratings", cost, 0.5, 1_000)


def many_values() -> Rows:
    """Return three ratings of each of 5,000 units on a criterion with 5,000 distinct values."""
    return [_row(i, f"r{(i + i // 3) % 40}", i % 5_000 + 0.5, "score") for i in range(15_000)]


def one_rater() -> Rows:
    return [_row(3 * i, "r", i % 3 - 1) for i in range(20_000)]


def many_raters() -> Rows:
    return [_row(i, f"r{i}", i * i % 3 - 1) for i in range(10_000)]


def small_probabilities() -> Rows:
    drawn = {"phase": "control", "inclusion_probability": 1e-9}
    return [_row(i, f"r{i % 7}", i * i % 3 - 1) | drawn for i in range(3_000)]


def _row(i: int, rater: str, label: float, criterion: str = "preference") -> dict[str, Any]:
    names = {"unit": f"u{i // 3}", "instance": f"i{i // 3}", "system_a": "x", "system_b": "y"}
    return names | {"rater": rater, "label": label, "criterion": criterion}


def prepare_bad(rows: Callable[[], Rows]) -> Callable[[], object]:
    # Sections that bad input does not allow are refused, and each refusal would be logged at length.
    logging.getLogger("tiebreak").setLevel(logging.ERROR)
    table = RatingTable.from_rows(rows())
    return lambda: build_report(table, replicates=REPLICATES, sections=on_request())


def bad_rows() -> Iterator[Row]:
    for work, rows in (
        ("5,000 distinct values, 15,000 ratings", many_values),
        ("one rater with all 20,000 ratings", one_rater),
        ("10,000 raters with one rating each", many_raters),
        ("probabilities of 1e-9, 3,000 ratings", small_probabilities),
    ):
        cost = measured(partial(prepare_bad, rows), runs=1)
        yield plain_row(f"every section: {work}", cost, 60, 500)


def main() -> int:
    rows = [
        core_row(100_000, 2, 700),
        core_row(1_000_000, 10, 700),
        warm_row(1_000_000),
        plain_row(
            "whole report from Parquet, 100,000 ratings",
            measured(partial(prepare_whole, PREPARED / "100000.parquet"), runs=1),
            60,
            1_000,
        ),
        *section_rows(),
        *bad_rows(),
        *peer_rows(),
    ]
    return publish("report", rows)


if __name__ == "__main__":
    sys.exit(main())
