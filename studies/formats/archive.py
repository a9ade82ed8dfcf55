"""Unpacking what a stranger sent: bounded, flat, nothing outside its folder."""

import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from studies.formats.errors import FormatError, Problem

MAX_FILES = 200
MAX_BYTES = 2 * 1024**3
MAX_RATIO = 200


def extract(archive: Path, folder: Path) -> Path:
    """Unpack a .zip into a folder and return where its study.toml lies."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [each for each in file.infolist() if not each.is_dir()]
            _check(archive.name, members)
            for member in members:
                target = folder / PurePosixPath(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(member) as source, target.open("wb") as out:
                    _copy(archive.name, member, source, out)
    except (zipfile.BadZipFile, OSError) as error:
        raise FormatError([Problem(archive.name, None, f"is not a .zip: {error}")]) from error
    tops = sorted(path.parent for path in folder.rglob("study.toml"))
    return tops[0] if tops else folder


def _check(name: str, members: list[zipfile.ZipInfo]) -> None:
    size = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_FILES or size > MAX_BYTES or size > MAX_RATIO * max(packed, 1024):
        raise FormatError([Problem(name, None, "unpacks to too much: too many files or bytes")])
    for member in members:
        path = PurePosixPath(member.filename)
        is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
        odd = "\\" in member.filename or "\x00" in member.filename or ":" in member.filename
        if path.is_absolute() or ".." in path.parts or is_link or odd:
            raise FormatError(
                [Problem(name, None, f"has an entry {member.filename!r} that points elsewhere")]
            )


def _copy(name: str, member: zipfile.ZipInfo, source: IO[bytes], out: IO[bytes]) -> None:
    """Copy at most what the entry said it holds: its header may lie."""
    left = member.file_size
    while chunk := source.read(min(1024 * 1024, left + 1)):
        left -= len(chunk)
        if left < 0:
            raise FormatError([Problem(name, None, f"{member.filename} is larger than it says")])
        out.write(chunk)
