"""Valid bundles that are corrupted at random. A seed always gives the same bundle."""

import csv
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

from tests.tiebreak.formats.bundles import STUDY, generations, instances, ratings

Files = dict[str, bytes]
NUMBERS = [
    0,
    -1,
    1,
    2,
    1.5,
    -0.0,
    32_767,
    32_768,
    65_536,
    1_000_000,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**70,
    10**400,
    1e22,
    1e-320,
    0.1,
]
TEXTS = [
    "",
    " ",
    " a ",
    "a",
    "i0",
    "old",
    "x" * 101,
    "x" * 201,
    "x" * 501,
    "é" * 200,
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud800",
    "a\nb",
    "a\r\nb",
    "\u2028",
    "\u202e",
    "🙂",
    "👩\u200d🔬",
    "می\u200cخواهم",
    "../../x",
    "=1+1",
    "'=1",
    "''",
    "-1",
    "1_000",
    "٣",
    "1e999",
    "nan",
    "Infinity",
    "true",
    "yes",
    "null",
    "main",
    "machine",
    "gold",
    "repeat",
    "2024-02-30",
    "2024-01-01T00:00:00.123456789Z",
    "0001-01-01T00:00+10:00",
    "2026-03-01T14:05:09+02:00",
    "left",
    "human",
    "ab",
    "{{7*7}}",
    "a.md",
    "%2F",
]
OTHERS: list[Any] = [None, True, False, [], {}, [1], {"a": 1}, [[]], {"": ""}, {"a": {"b": [None]}}]
# Literals for a file that `json.dumps` writes for no Python value.
LITERALS = [
    "1e999",
    "-1e999",
    "1e-999",
    "NaN",
    "Infinity",
    "-Infinity",
    "9" * 5000,
    "[" * 30 + "]" * 30,
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 25 + "1" + "}" * 25,
    '"\\ud800"',
    '"\\u0000"',
    '{"a\\u0000": 1}',
    '{"\\udc00": 1}',
    '{"a": 1, "a": 2}',
    '"' + "y" * 1_000_001 + '"',
    "0x10",
    "1.",
    "-0",
    "1E5",
]
COLUMNS = [
    *("unit", "rater", "label", "kind", "role", "criterion", "run", "order", "instance"),
    *("system_a", "system_b", "sample_a", "sample_b", "category", "similarity", "phase"),
    *("side_a", "layout", "created_at", "participation", "excluded_reason", "raw", "repeat"),
    *("position", "duration_ms", "separability", "separability_raw", "inclusion_probability"),
    *("surplus", "superseded", "partial", "late", "excluded", "simulated", "sample_index", "odd"),
]
SETTINGS = [
    *("title", "guidelines", "consent", "systems", "controls", "ratings_per_hit", "bundling"),
    *("comparisons_per_hit", "repeats_per_hit", "repeat_distance", "abandoned", "unit_kind"),
    *("hits_per_annotator", "hits_per_day", "most_answers", "most_answers_per_day"),
    *("lease_minutes", "similarity", "criteria", "odd"),
]
TOML = [
    "1e999",
    "inf",
    "nan",
    "true",
    "-1",
    "0",
    "1001",
    "1000000",
    str(2**70),
    "9" * 5000,
    "0.05",
    "1e300",
    '""',
    '" x"',
    '"a\\u0000b"',
    '"' + "z" * 201 + '"',
    '"\\n"',
    "[" * 40 + "]" * 40,
    "[" * 5000 + "]" * 5000,
    "[]",
    "[1, 2]",
    '["old", "old"]',
    '["old", "new", "third"]',
    '"all-pairs"',
    "{a = 1}",
    "1979-05-27",
    "07:32:00",
    '"mixed"',
    '"units"',
    '"../x.md"',
    '"none.md"',
    "'''a\r\nb'''",
]


def good_files(rng: random.Random) -> Files:
    rows = [
        {
            **row,
            "position": i % 2 + 1,
            "duration_ms": 900 + i,
            "created_at": f"2026-03-01T10:00:{i:02}Z",
            "side_a": "left",
            "separability": 0.25,
        }
        for i, row in enumerate(ratings())
    ]
    if rng.random() < 0.3:
        rows.append({**rows[0], "rater": "judge", "kind": "machine", "run": "1", "order": "ab"})
    about = [
        {**row, "category": "c", "metadata": {"n": 1}, "lang": "en", "sample": [1.5, "é"]}
        for row in instances()
    ]
    files = {
        "study.toml": STUDY.encode(),
        "guidelines.md": "Read both.\r\nThen choose — calmly.".encode(),
        "instances.jsonl": _lines(about),
        "generations.jsonl": _lines([{**row, "seed": 7} for row in generations()]),
    }
    kind = rng.random()
    if kind < 0.6:
        files["ratings.jsonl"] = _lines(rows)
    elif kind < 0.8:
        files["ratings.csv"] = _csv(rows)
    return files


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _csv(rows: list[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def _value(rng: random.Random) -> str:
    """Return the JSON text of a random value, which is usually an unusual one."""
    kind = rng.random()
    if kind < 0.35:
        return json.dumps(rng.choice(TEXTS))
    if kind < 0.65:
        return json.dumps(rng.choice(NUMBERS))
    return json.dumps(rng.choice(OTHERS)) if kind < 0.8 else rng.choice(LITERALS)


def _cell(rng: random.Random, files: Files) -> None:
    """Put a random value into an existing or new column of one row of a JSONL file."""
    name = rng.choice([file for file in files if file.endswith(".jsonl")])
    lines = files[name].decode(errors="replace").splitlines()
    at = rng.randrange(len(lines)) if lines else 0
    try:
        row = json.loads(lines[at])
    except (ValueError, RecursionError, IndexError):
        return
    if not isinstance(row, dict):
        return
    keys = [*row, *rng.sample(COLUMNS, 3), "metadata", "params", "messages", "text", "seed", "id"]
    key = rng.choice(keys)
    row[key] = "@here@"
    value = _value(rng)
    if rng.random() < 0.2:
        value = f'{{"k": {value}}}'
    lines[at] = json.dumps(row).replace('"@here@"', value)
    files[name] = ("\n".join(lines) + "\n").encode(errors="replace")


def _everywhere(rng: random.Random, files: Files) -> None:
    """Put one value into a column of every row, so that no rows contradict each other."""
    name = rng.choice([file for file in files if file.endswith(".jsonl")])
    key, value = rng.choice(COLUMNS), _value(rng)
    lines = []
    for line in files[name].decode(errors="replace").splitlines():
        try:
            row = json.loads(line)
            row[key] = "@here@"
        except (ValueError, TypeError, RecursionError):
            return
        lines.append(json.dumps(row).replace('"@here@"', value))
    files[name] = ("\n".join(lines) + "\n").encode(errors="replace")


def _csv_cell(rng: random.Random, files: Files) -> None:
    if "ratings.csv" not in files:
        return _cell(rng, files)
    rows = list(csv.reader(io.StringIO(files["ratings.csv"].decode(errors="replace"))))
    if not rows:
        return None
    row = rng.choice(rows)
    if row:
        text = rng.choice([*TEXTS, *map(str, NUMBERS)])
        row[rng.randrange(len(row))] = text.encode("utf-8", "replace").decode()
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    files["ratings.csv"] = out.getvalue().encode()
    return None


def _setting(rng: random.Random, files: Files) -> None:
    name, value = rng.choice(SETTINGS), rng.choice(TOML)
    kept = [
        line
        for line in files.get("study.toml", b"").decode(errors="replace").split("\n")
        if not line.startswith(f"{name} ")
    ]
    files["study.toml"] = "\n".join([f"{name} = {value}", *kept]).encode()


def _criterion(rng: random.Random, files: Files) -> None:
    name = rng.choice(["name", "scale", "question", "odd"])
    value = rng.choice([*TOML, '"ordinal:1..5"', '"nominal:-1,0,1"', '"interval"', '"a/b c?"'])
    lines = files.get("study.toml", b"").decode(errors="replace").split("\n")
    kept = [line for line in lines if not line.startswith(f"{name} =")]
    files["study.toml"] = "\n".join([*kept, f"{name} = {value}"]).encode()


def _bytes(rng: random.Random, files: Files) -> None:
    name = rng.choice(list(files))
    raw = bytearray(files[name])
    if not raw:
        return
    at = rng.randrange(len(raw))
    kind = rng.randrange(4)
    if kind == 0:
        raw[at] = rng.randrange(256)
    elif kind == 1:
        raw[at:at] = rng.choice([b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\n", b'"', b"}", b"\r"])
    elif kind == 2:
        del raw[at : at + rng.randrange(1, 40)]
    else:
        del raw[at:]
    files[name] = bytes(raw)


def _whole_lines(rng: random.Random, files: Files) -> None:
    name = rng.choice(list(files))
    lines = files[name].splitlines(keepends=True)
    if len(lines) < 2:
        return
    a, b = rng.sample(range(len(lines)), 2)
    kind = rng.randrange(4)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        lines.insert(b, lines[a])
    elif kind == 2:
        del lines[a]
    else:
        other = rng.choice(list(files))
        lines.insert(a, b"".join(files[other].splitlines(keepends=True)[:1]))
    files[name] = b"".join(lines)


def _file(rng: random.Random, files: Files) -> None:
    name = rng.choice(list(files))
    kind = rng.randrange(4)
    if kind == 0:
        del files[name]
    elif kind == 1:
        files[name] = rng.choice(
            [b"", b"\xff\xfe\x00", b"[]", b"{}\n", b"\x00" * 10, b"\xef\xbb\xbf"]
        )
    elif kind == 2:
        files["ratings.parquet"] = rng.choice([b"", b"PAR1", files[name]])
        files.pop("ratings.jsonl", None)
        files.pop("ratings.csv", None)
    else:
        files[rng.choice(["ratings.jsonl", "instances.jsonl"])] = files[name]


MUTATIONS = (
    *[_cell] * 6,
    *[_everywhere] * 3,
    *[_csv_cell] * 2,
    *[_setting] * 2,
    _criterion,
    _bytes,
    _whole_lines,
    _file,
)
NAMES = ["../x", "/x", "a\\b", "c:x", "a/b/c/d", "a" * 300, "é.txt", "study.toml/x", "x\u202e", " "]


def corrupted_files(rng: random.Random) -> Files:
    files = good_files(rng)
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3])):
        if any(name.endswith(".jsonl") for name in files):
            rng.choice(MUTATIONS)(rng, files)
    return files


def written(files: Files, folder: Path) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def corrupted_archive(files: Files, path: Path, rng: random.Random) -> Path:
    """Write a .zip of the files that may be damaged or truncated, or have odd names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for _ in range(rng.choice([0, 0, 1, 2])):
            archive.writestr(rng.choice(NAMES), b"x")
    raw = bytearray(path.read_bytes())
    kind = rng.randrange(5)
    if kind == 0:
        del raw[rng.randrange(len(raw)) :]
    elif kind == 1:
        for _ in range(3):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    elif kind == 2:
        raw[: rng.randrange(50)] = b""
    path.write_bytes(bytes(raw))
    return path
