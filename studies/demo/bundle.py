"""Writes the demo study as a bundle with its texts, generations, guidelines and design."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from studies.demo.sources import Source, load_sources
from studies.demo.systems import DEFAULT_TEMPERATURE, SYSTEMS, generate

SAMPLES = 5
BASE_SEED = 20_000
GUIDELINES_FILE = Path(__file__).with_name("guidelines.md")
CONSENT_FILE = Path(__file__).with_name("consent.md")

STUDY_TOML = """\
title = "Dialogues and news in brief"
guidelines = "guidelines.md"
consent = "consent.md"
systems = [{systems}]
ratings_per_hit = 3
comparisons_per_hit = {samples}
abandoned = "whole_hit"

[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which summary do you prefer?"
"""


def write_demo_bundle(path: Path) -> None:
    """Write the bundle to the folder `path`, always with the same bytes. Creates the folder."""
    path.mkdir(parents=True, exist_ok=True)
    sources = load_sources()
    systems = ", ".join(json.dumps(name) for name in SYSTEMS)
    study = STUDY_TOML.format(systems=systems, samples=SAMPLES)
    _write_text(path / "study.toml", study)
    _write_text(path / "guidelines.md", GUIDELINES_FILE.read_text(encoding="utf-8"))
    _write_text(path / "consent.md", CONSENT_FILE.read_text(encoding="utf-8"))
    _write_rows(path / "instances.jsonl", map(_instance_row, sources))
    _write_rows(path / "generations.jsonl", generation_rows(sources))


def generation_rows(sources: Iterable[Source]) -> Iterator[Mapping[str, object]]:
    """Yield K generations of each system for each source, with the seeds that reproduce them."""
    for source in sources:
        for name in SYSTEMS:
            for index in range(SAMPLES):
                yield _generation_row(source, name, index)


def _instance_row(source: Source) -> Mapping[str, object]:
    return {"id": source.id, "category": source.category, "source": source.text}


def _generation_row(source: Source, name: str, index: int) -> Mapping[str, object]:
    seed = BASE_SEED + index
    return {
        "instance": source.id,
        "system": name,
        "sample_index": index,
        "text": generate(name, source.text, seed=seed),
        "seed": seed,
        "params": {"temperature": DEFAULT_TEMPERATURE},
    }


def _write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    _write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
