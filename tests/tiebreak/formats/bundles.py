"""A small valid bundle on disk, which tests break."""

import json
from pathlib import Path
from typing import Any

STUDY = """\
title = "Notes"
guidelines = "guidelines.md"
systems = ["old", "new"]
ratings_per_hit = 2
comparisons_per_hit = 2

[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which is better?"
"""


def instances() -> list[dict[str, Any]]:
    return [{"id": f"i{i}", "source": f"Source {i}."} for i in range(3)]


def generations() -> list[dict[str, Any]]:
    return [
        {"instance": f"i{i}", "system": system, "sample_index": k, "text": f"{system} {i} {k}"}
        for i in range(3)
        for system in ("old", "new")
        for k in range(2)
    ]


def ratings() -> list[dict[str, Any]]:
    return [
        {
            "unit": f"i{i}/{k}",
            "rater": f"r{r}",
            "label": (i + k + r) % 3 - 1,
            "instance": f"i{i}",
            "system_a": "old",
            "system_b": "new",
            "sample_index": k,
        }
        for i in range(3)
        for k in range(2)
        for r in range(2)
    ]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def make_bundle(path: Path, *, with_ratings: bool = False) -> Path:
    path.mkdir()
    (path / "study.toml").write_text(STUDY, encoding="utf-8")
    (path / "guidelines.md").write_text("Read both.", encoding="utf-8")
    write_lines(path / "instances.jsonl", instances())
    write_lines(path / "generations.jsonl", generations())
    if with_ratings:
        write_lines(path / "ratings.jsonl", ratings())
    return path


def append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


# Changes to a valid bundle, with the first problem that is reported: its file, line and code.
FLAWS = {
    "no study.toml": (lambda b: (b / "study.toml").unlink(), ("study.toml", None, "file_missing")),
    "no instances": (
        lambda b: (b / "instances.jsonl").unlink(),
        ("instances.jsonl", None, "file_missing"),
    ),
    "no generations": (
        lambda b: (b / "generations.jsonl").unlink(),
        ("generations.jsonl", None, "file_missing"),
    ),
    "no guidelines": (
        lambda b: (b / "guidelines.md").unlink(),
        ("guidelines.md", None, "file_missing"),
    ),
    "broken line": (
        lambda b: append(b / "generations.jsonl", '{"instance": '),
        ("generations.jsonl", 13, "not_json"),
    ),
    "unknown system": (
        lambda b: append(b / "generations.jsonl", '{"instance":"i0","system":"other","text":"x"}'),
        ("generations.jsonl", 13, "unknown_system"),
    ),
    "unknown instance": (
        lambda b: append(b / "generations.jsonl", '{"instance":"i9","system":"old","text":"x"}'),
        ("generations.jsonl", 13, "unknown_instance"),
    ),
    "duplicate id": (
        lambda b: append(b / "instances.jsonl", '{"id": "i1"}'),
        ("instances.jsonl", 4, "duplicate_id"),
    ),
    "duplicate sample": (
        lambda b: append(
            b / "generations.jsonl", '{"instance":"i0","system":"old","sample_index":1,"text":"x"}'
        ),
        ("generations.jsonl", 13, "duplicate_sample"),
    ),
    "empty text": (
        lambda b: append(
            b / "generations.jsonl", '{"instance":"i0","system":"old","sample_index":7,"text":" "}'
        ),
        ("generations.jsonl", 13, "empty"),
    ),
    "50 MB cell": (
        lambda b: append(
            b / "instances.jsonl", '{"id": "big", "source": "%s"}' % ("x" * 50_000_000)
        ),
        ("instances.jsonl", 4, "line_too_long"),
    ),
    "long cell": (
        lambda b: append(
            b / "instances.jsonl", '{"id": "big", "source": "%s"}' % ("x" * 1_000_001)
        ),
        ("instances.jsonl", 4, "text_too_long"),
    ),
    "NaN": (
        lambda b: append(b / "instances.jsonl", '{"id": "n", "metadata": {"x": NaN}}'),
        ("instances.jsonl", 4, "not_finite"),
    ),
    "NUL": (
        lambda b: append(b / "instances.jsonl", '{"id": "n", "source": "a\\u0000b"}'),
        ("instances.jsonl", 4, "unstorable_character"),
    ),
    "control character in an id": (
        lambda b: append(b / "instances.jsonl", '{"id": "a\\nb"}'),
        ("instances.jsonl", 4, "unprintable_character"),
    ),
    "deep JSON": (
        lambda b: append(
            b / "instances.jsonl", '{"id": "d", "metadata": ' + '{"x":' * 30 + "1" + "}" * 31
        ),
        ("instances.jsonl", 4, "nested_too_deep"),
    ),
    "not UTF-8": (
        lambda b: (b / "instances.jsonl").write_bytes(b'{"id": "\xff"}\n'),
        ("instances.jsonl", 1, "not_utf8"),
    ),
    "odd scale": (
        lambda b: (b / "study.toml").write_text(STUDY.replace("preference:tie", "stars")),
        ("study.toml", 7, "unknown_scale"),
    ),
    "guidelines elsewhere": (
        lambda b: (b / "study.toml").write_text(STUDY.replace("guidelines.md", "../secret.md")),
        ("study.toml", 2, "unsafe_path"),
    ),
    "label off the scale": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), {"unit": "u", "rater": "r", "label": 4}]
        ),
        ("ratings.jsonl", 13, "label_not_on_scale"),
    ),
    "rating twice": (
        lambda b: write_lines(b / "ratings.jsonl", [*ratings(), ratings()[2]]),
        ("ratings.jsonl", 13, "duplicate_rating"),
    ),
    "a human without a label": (
        lambda b: write_lines(b / "ratings.jsonl", [{"unit": "u", "rater": "r", "label": None}]),
        ("ratings.jsonl", 1, "label_missing"),
    ),
    "unknown criterion": (
        lambda b: write_lines(b / "ratings.jsonl", [{**ratings()[0], "criterion": "style"}]),
        ("ratings.jsonl", 1, "unknown_criterion"),
    ),
    "repeated key": (
        lambda b: append(b / "instances.jsonl", '{"id": "x", "id": "y"}'),
        ("instances.jsonl", 4, "repeated_key"),
    ),
    "a unit of two instances": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), {**ratings()[0], "rater": "x", "instance": "i2"}]
        ),
        ("ratings.jsonl", 13, "contradiction"),
    ),
    "a rater of two kinds": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), {**ratings()[0], "kind": "machine", "run": "1"}]
        ),
        ("ratings.jsonl", 13, "contradiction"),
    ),
    "a probability of zero": (
        lambda b: write_lines(b / "ratings.jsonl", [{**ratings()[0], "inclusion_probability": 0}]),
        ("ratings.jsonl", 1, "not_a_probability"),
    ),
}
