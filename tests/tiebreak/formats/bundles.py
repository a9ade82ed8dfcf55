"""A small good bundle on disk, for tests to break."""

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


# What is done to a good bundle, and what the refusal must say, line and reason.
FLAWS = {
    "no study.toml": (lambda b: (b / "study.toml").unlink(), r"study\.toml: is missing"),
    "no instances": (lambda b: (b / "instances.jsonl").unlink(), r"instances\.jsonl: is missing"),
    "no generations": (
        lambda b: (b / "generations.jsonl").unlink(),
        r"generations\.jsonl: is missing",
    ),
    "no guidelines": (lambda b: (b / "guidelines.md").unlink(), r"guidelines\.md: is missing"),
    "broken line": (
        lambda b: append(b / "generations.jsonl", '{"instance": '),
        r"generations\.jsonl, line 13: is not JSON",
    ),
    "unknown system": (
        lambda b: append(b / "generations.jsonl", '{"instance":"i0","system":"other","text":"x"}'),
        r"generations\.jsonl, line 13: system 'other' is unknown",
    ),
    "unknown instance": (
        lambda b: append(b / "generations.jsonl", '{"instance":"i9","system":"old","text":"x"}'),
        r"generations\.jsonl, line 13: instance 'i9' is not in",
    ),
    "duplicate id": (
        lambda b: append(b / "instances.jsonl", '{"id": "i1"}'),
        r"instances\.jsonl, line 4: id 'i1' stands in line 2 already",
    ),
    "duplicate sample": (
        lambda b: append(
            b / "generations.jsonl", '{"instance":"i0","system":"old","sample_index":1,"text":"x"}'
        ),
        r"generations\.jsonl, line 13: sample .* stands in line 2 already",
    ),
    "empty text": (
        lambda b: append(
            b / "generations.jsonl", '{"instance":"i0","system":"old","sample_index":7,"text":" "}'
        ),
        r"generations\.jsonl, line 13: text is empty",
    ),
    "50 MB cell": (
        lambda b: append(
            b / "instances.jsonl", '{"id": "big", "source": "%s"}' % ("x" * 50_000_000)
        ),
        r"instances\.jsonl, line 4: the line is longer than",
    ),
    "long cell": (
        lambda b: append(
            b / "instances.jsonl", '{"id": "big", "source": "%s"}' % ("x" * 1_000_001)
        ),
        r"instances\.jsonl, line 4: source has 1000001 characters",
    ),
    "NaN": (
        lambda b: append(b / "instances.jsonl", '{"id": "n", "metadata": {"x": NaN}}'),
        r"line 4: NaN is not a finite number",
    ),
    "NUL": (
        lambda b: append(b / "instances.jsonl", '{"id": "n", "source": "a\\u0000b"}'),
        r"line 4: source contains a NUL",
    ),
    "control character in an id": (
        lambda b: append(b / "instances.jsonl", '{"id": "a\\nb"}'),
        r"line 4: id contains a control character",
    ),
    "deep JSON": (
        lambda b: append(
            b / "instances.jsonl", '{"id": "d", "metadata": ' + '{"x":' * 30 + "1" + "}" * 31
        ),
        r"line 4: metadata is nested deeper",
    ),
    "not UTF-8": (
        lambda b: (b / "instances.jsonl").write_bytes(b'{"id": "\xff"}\n'),
        r"instances\.jsonl, line 1: is not UTF-8",
    ),
    "odd setting": (
        lambda b: (b / "study.toml").write_text("colour = 1\n" + STUDY),
        r"colour is not a setting",
    ),
    "odd scale": (
        lambda b: (b / "study.toml").write_text(STUDY.replace("preference:tie", "stars")),
        r"'stars' is not known",
    ),
    "guidelines elsewhere": (
        lambda b: (b / "study.toml").write_text(STUDY.replace("guidelines.md", "../secret.md")),
        r"must name a file of the bundle itself",
    ),
    "label off the scale": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), {"unit": "u", "rater": "r", "label": 4}]
        ),
        r"ratings\.jsonl, line 13: .*4 is not on the scale",
    ),
    "rating twice": (
        lambda b: write_lines(b / "ratings.jsonl", [*ratings(), ratings()[2]]),
        r"ratings\.jsonl, line 13: .* line 3 does already",
    ),
    "a human without a label": (
        lambda b: write_lines(b / "ratings.jsonl", [{"unit": "u", "rater": "r", "label": None}]),
        r"ratings\.jsonl, line 1: a human's label may not be empty",
    ),
    "unknown criterion": (
        lambda b: write_lines(b / "ratings.jsonl", [{**ratings()[0], "criterion": "style"}]),
        r"ratings\.jsonl, line 1: criterion 'style' is not in study\.toml",
    ),
    "repeated key": (
        lambda b: append(b / "instances.jsonl", '{"id": "x", "id": "y"}'),
        r"instances\.jsonl, line 4: names a key twice",
    ),
    "a unit of two instances": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), {**ratings()[0], "rater": "x", "instance": "i2"}]
        ),
        r"line 13: unit i0/0 has instance i2, and i0 in an earlier line",
    ),
    "a rater of two kinds": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), {**ratings()[0], "kind": "machine", "run": "1"}]
        ),
        r"line 13: rater r0 has kind machine, and human in an earlier line",
    ),
    "a probability of zero": (
        lambda b: write_lines(b / "ratings.jsonl", [{**ratings()[0], "inclusion_probability": 0}]),
        r"line 1: inclusion_probability must lie above 0",
    ),
}
