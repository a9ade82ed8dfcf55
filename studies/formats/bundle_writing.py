"""Writes bundles: a folder that appears under its name when it is whole."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from studies.formats.atomic import atomic_folder
from studies.formats.bundle import GENERATIONS_FILE, INSTANCES_FILE, Bundle
from studies.formats.bundle_rows import GenerationRow, InstanceRow
from studies.formats.problems import refusal
from studies.formats.ratings import write_ratings
from studies.formats.study_spec import STUDY_FILE, StudySpec, study_toml


def write_bundle(path: Path, bundle: Bundle, *, replace: bool = False) -> None:
    """Write `bundle` as a folder; raise FormatError where `path` exists and is not replaced."""
    if path.exists() and not replace:
        raise refusal(path.name, "it exists already; choose another name, or replace it.")
    with atomic_folder(path) as folder:
        write_study(folder, bundle.study)
        write_instances(folder / INSTANCES_FILE, bundle.instances)
        write_generations(folder / GENERATIONS_FILE, bundle.generations)
        if bundle.ratings is not None:
            names = [*bundle.ratings.columns]
            write_ratings(folder / "ratings.jsonl", bundle.ratings.rows(), columns=names)


def write_study(folder: Path, spec: StudySpec) -> None:
    """study.toml, and its long texts as Markdown files beside it."""
    files: dict[str, str] = {}
    for key in ("guidelines", "consent"):
        if text := getattr(spec, key):
            files[key] = f"{key}.md"
            (folder / files[key]).write_text(text, encoding="utf-8", newline="")
    text = study_toml(spec, files=files)
    (folder / STUDY_FILE).write_text(text, encoding="utf-8", newline="\n")


def write_instances(path: Path, rows: Iterable[InstanceRow]) -> int:
    """One line each; keys without a value are left out. Returns how many."""
    keys = ("id", "source", "messages", "category", "reference", "metadata")
    return _write_lines(path, ({key: getattr(row, key) for key in keys} for row in rows))


def write_generations(path: Path, rows: Iterable[GenerationRow]) -> int:
    """One line each; keys without a value are left out. Returns how many."""
    keys = ("instance", "system", "sample_index", "text", "seed", "params")
    return _write_lines(path, ({key: getattr(row, key) for key in keys} for row in rows))


def _write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> int:
    n_rows = 0
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            kept = {key: value for key, value in row.items() if value not in (None, "", (), {})}
            stream.write(json.dumps(kept, ensure_ascii=False, allow_nan=False) + "\n")
            n_rows += 1
    return n_rows
