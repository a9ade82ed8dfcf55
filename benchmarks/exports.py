"""Speed and memory of exports beside loading everything: `make bench-export`.

Two studies of different sizes are imported into a PostgreSQL database each. Every measurement runs in
a process of its own, so that its peak memory is its own.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import django

from benchmarks.harness import Measured, Row, measured, publish
from benchmarks.servers import postgresql

SIZES = (12_000, 120_000)
TABULAR = ("jsonl", "csv", "parquet")
MIN_RATE = 50_000
# How much more memory the larger export may take: the keys of its ratings, and noise.
MAX_MORE_MEGABYTES = 40
SAMPLES, RATERS = 5, 3
TEXT = "The committee met on Tuesday and agreed on most of what had been proposed before. " * 4


def main() -> int:
    with postgresql() as server, tempfile.TemporaryDirectory(prefix="tiebreak-bench-") as name:
        folder = Path(name)
        urls = [server.url(f"ratings_{size}") for size in SIZES]
        for size, url in zip(SIZES, urls, strict=True):
            server.run(f"CREATE DATABASE ratings_{size}")
            _in_a_process(partial(_import, folder, size, url))
        server.run("CHECKPOINT")
        naive = measured(partial(_load_all, folder, urls[1]), runs=1)
        rows = [row for kind in TABULAR for row in _rows(folder, urls, kind, naive)]
    return publish("exports", rows)


def _rows(folder: Path, urls: list[str], kind: str, naive: Measured) -> list[Row]:
    small, large = (measured(partial(_export, folder, url, kind), runs=3) for url in urls)
    return [
        _rate(kind, SIZES[0], small, None),
        _rate(kind, SIZES[1], large, naive),
        Row(
            f"{kind}: {SIZES[1]:,} ratings take as much memory as {SIZES[0]:,}",
            large.seconds,
            large.megabytes - small.megabytes,
            "",
            None,
            f"at most {MAX_MORE_MEGABYTES} MB more",
            large.megabytes - small.megabytes <= MAX_MORE_MEGABYTES,
        ),
    ]


def _rate(kind: str, size: int, result: Measured, naive: Measured | None) -> Row:
    rate = size / result.seconds
    compared = ""
    if naive is not None and kind == TABULAR[0]:
        took = f"{naive.seconds:.1f} s and {naive.megabytes:.0f} MB"
        compared = f"JSON from one list of ORM objects, which took {took}"
    return Row(
        f"{kind}: {size:,} ratings at {rate:,.0f} rows/s",
        result.seconds,
        result.megabytes,
        compared,
        naive.seconds / result.seconds if naive else None,
        f"{MIN_RATE:,} rows/s",
        rate >= MIN_RATE,
    )


def _in_a_process(work: Callable[[], None]) -> None:
    process = get_context("spawn").Process(target=work)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


def _use_database(folder: Path, url: str) -> None:
    os.environ["TIEBREAK_VAR_DIR"] = str(folder)
    os.environ["TIEBREAK_DATABASE_URL"] = url
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()


def _import(folder: Path, size: int, url: str) -> None:
    bundle = folder / f"bundle-{size}"
    _write_bundle(bundle, size // (SAMPLES * RATERS))
    _use_database(folder, url)
    from django.core.management import call_command  # noqa: PLC0415  after the set-up

    call_command("migrate", verbosity=0)
    call_command("import_study", str(bundle), verbosity=0)


def _write_bundle(folder: Path, instances: int) -> None:
    folder.mkdir()
    (folder / "study.toml").write_text(
        'title = "Export"\nsystems = ["old", "new"]\n[[criteria]]\nname = "preference"\n'
        'scale = "preference:tie"\nquestion = "Which?"\n',
        encoding="utf-8",
    )
    keys = [f"instance-{i}" for i in range(instances)]
    _write(folder / "instances.jsonl", [{"id": key, "source": TEXT} for key in keys])
    _write(
        folder / "generations.jsonl",
        [
            {"instance": key, "system": system, "sample_index": k, "text": f"{system} {k} {TEXT}"}
            for key in keys
            for system in ("old", "new")
            for k in range(SAMPLES)
        ],
    )
    _write(
        folder / "ratings.jsonl",
        [
            _rating(i, key, r, k)
            for i, key in enumerate(keys)
            for r in range(RATERS)
            for k in range(5)
        ],
    )


def _rating(i: int, key: str, rater: int, sample: int) -> dict[str, object]:
    return {
        "unit": f"{key}#{sample}",
        "rater": f"rater-{(i + rater) % 97}",
        "label": (i + rater + sample) % 3 - 1,
        "instance": key,
        "system_a": "old",
        "system_b": "new",
        "sample_index": sample,
        "separability_raw": 0.2,
        "separability": 0.4,
        "similarity": "rouge1",
        "side_a": "left",
        "layout": "side_by_side",
        "position": sample + 1,
        "duration_ms": 12_345,
    }


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _export(folder: Path, url: str, kind: str) -> Callable[[], object]:
    _use_database(folder, url)
    from annotation.exports.study_export import StudyExport  # noqa: PLC0415  after the set-up
    from studies.models import Study  # noqa: PLC0415

    export = StudyExport(Study.objects.get(), [kind])
    return lambda: list(export.write_ratings(folder / f"out.{kind}"))


def _load_all(folder: Path, url: str) -> Callable[[], object]:
    """What an export is without care: all objects at once, and one JSON text of them."""
    _use_database(folder, url)
    from annotation.models import Rating  # noqa: PLC0415  after the set-up

    related = ("rater", "criterion", "study_version", "assignment__participation")
    texts = (f"text_{side}__{name}" for side in "ab" for name in ("system", "generation"))
    units = ("instance", *texts)
    ratings = Rating.objects.select_related(*related, *(f"unit__{name}" for name in units))

    def write() -> None:
        rows = [
            {
                "unit": rating.unit.key,
                "rater": rating.rater.pseudonym,
                "label": rating.label,
                "instance": str(rating.unit.instance),
                "chars_a": len(rating.unit.text_a.generation.text),
                "chars_b": len(rating.unit.text_b.generation.text),
                "created_at": rating.created_at.isoformat(),
                "excluded": rating.excluded,
            }
            for rating in list(ratings)
        ]
        (folder / "naive.json").write_text(json.dumps(rows), encoding="utf-8")

    return write


if __name__ == "__main__":
    sys.exit(main())
