"""Inspect's evaluation logs: .eval, which is a .zip of JSON, and .json."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tiebreak.formats import FormatError
from tiebreak.formats.archive import ZIP_ERRORS, opened
from tiebreak.formats.readers.converted import Converted, files_of
from tiebreak.formats.readers.logs.samples import (
    ERROR,
    MEDIA,
    HasMedia,
    Log,
    LoggedText,
    study_of,
    text_of_content,
    turns_of,
)
from tiebreak.formats.readers.recognition import Reader

KIND = "Inspect log"
VERSION = 2
HEADER, START = "header.json", "_journal/start.json"  # a run that did not end has only the second
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
# A newer, experimental layout has a folder for each sample.
SAMPLE_FOLDER = re.compile(r"samples/.+_epoch_\d+/sample\.json")
MAX_FILES = 200_000
BEGINNING = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:')
ATTACHMENT = "attachment://"


def is_inspect_log(path: Path) -> bool:
    """Whether a file is an Inspect log, of any version."""
    with path.open("rb") as file:
        beginning = file.read(1000)
    if not beginning.startswith(b"PK"):
        return BEGINNING.match(beginning) is not None
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
    except ZIP_ERRORS:
        return False
    return START in names or (HEADER in names and any(n.startswith("samples/") for n in names))


def read_inspect(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read logs of version 2: an input and the model's last answer for each sample and epoch.

    Epochs are sample indices. Samples of several logs are the same if ids and inputs are. Scores
    are counted as left out.
    """
    return study_of(KIND, [_log(path) for path in files_of(paths, "*.eval")], systems)


def _log(path: Path) -> Log:
    parts = _parts(path)
    header = next(parts)
    version = header["version"]
    if version != VERSION:
        reason = f"is an Inspect log of version {version!r}; version {VERSION} can be read. Convert"
        raise FormatError.of(
            path.name, None, "other_version", f"{reason} it with inspect log convert"
        )
    log, model = Log(path.name, header["eval"]["task"]), header["eval"]["model"]
    for sample in parts:
        for scorer in sample.get("scores") or {}:
            log.left_out[f"scores of {scorer}"] += 1
        if sample.get("error"):
            log.left_out[ERROR] += 1
            continue
        try:
            log.add(_text(sample, model))
        except HasMedia:
            log.left_out[MEDIA] += 1
    return log


def _parts(path: Path) -> Iterator[Any]:
    """Yield a log's header, and each of its samples."""
    with path.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    if not is_zip:
        whole = _parsed(path.read_bytes(), path, path.name)
        samples = whole.pop("samples", None) or []
        yield whole
        yield from samples
        return
    with opened(path, most=MAX_FILES) as archive:
        members = {member.filename: member for member in archive.members}
        header = members.get(HEADER) or members.get(START)
        if header is None or any(map(SAMPLE_FOLDER.fullmatch, members)):
            reason = f"is a log in another layout than Inspect's .eval of version {VERSION}"
            raise FormatError.of(path.name, None, "other_version", reason)
        yield _parsed(archive.read(header), path, header.filename)
        for name, member in members.items():
            if SAMPLE.fullmatch(name):
                yield _parsed(archive.read(member), path, name)


def _parsed(raw: bytes, path: Path, part: str) -> Any:
    """Return JSON as Python writes it, in which a score may be NaN."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        reason = f"{part} is not valid JSON ({error})"
        raise FormatError.of(path.name, None, "not_json", reason) from error


def _text(sample: dict[str, Any], model: str) -> LoggedText:
    sample = _attached(sample, sample.get("attachments") or {})
    given, choices, target = sample["input"], sample.get("choices") or [], sample["target"]
    prompt = given if isinstance(given, str) else turns_of(given)
    if isinstance(prompt, str):
        prompt = "\n".join([prompt, *(f"{chr(65 + i)}) {text}" for i, text in enumerate(choices))])
    identity = json.dumps([prompt, choices])
    target = target if isinstance(target, str) else "\n".join(target)
    return LoggedText(
        str(sample["id"]),
        model,
        _answer(sample["output"]),
        prompt,
        sample["epoch"] - 1,
        identity,
        {"target": target} if target else {},
    )


def _answer(output: dict[str, Any]) -> str:
    """Return the model's last answer; `completion` is empty in logs that leave it to the reader."""
    choices = output.get("choices") or [{}]
    content = choices[0].get("message", {}).get("content")
    return output.get("completion") or text_of_content(content)


def _attached(value: Any, attachments: dict[str, str]) -> Any:
    """Return a value with the long texts that it refers to in their places."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    if isinstance(value, list):
        return [_attached(item, attachments) for item in value]
    if isinstance(value, dict):
        skipped = ("events", "events_data", "attachments")
        return {k: _attached(v, attachments) for k, v in value.items() if k not in skipped}
    return value


READER: Reader = Reader(read_inspect)
