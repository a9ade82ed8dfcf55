"""Unpacking what a stranger sent: bounded, flat, nothing outside its folder."""

import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from tiebreak.formats.errors import FormatError
from tiebreak.formats.limits import LIMITS, Limits

MAX_FILES = 200
MAX_RATIO = 200
# Bytes that may follow a file in an archive that was written as a stream.
DESCRIPTOR = 24
# What reading a damaged, encrypted or oddly packed archive raises.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def extract(archive: Path, folder: Path, limits: Limits = LIMITS) -> Path:
    """Unpack a .zip into a folder and return where its study.toml lies."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [each for each in file.infolist() if not each.is_dir()]
            _check(archive.name, members, limits)
            _refuse_gaps(archive, file.infolist(), file.start_dir)
            for member in members:
                target = folder / PurePosixPath(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(member) as source, target.open("xb") as out:
                    _copy(archive.name, member, source, out)
    except FormatError:
        raise
    except _UNREADABLE as error:
        reason = f"is not a .zip that can be read: {error}"
        raise FormatError.of(archive.name, None, "not_a_zip", reason) from error
    tops = sorted(path.parent for path in folder.rglob("study.toml"))
    if len(tops) > 1:
        reason = "holds more than one study.toml"
        raise FormatError.of(archive.name, None, "several_studies", reason)
    return tops[0] if tops else folder


def _check(name: str, members: list[zipfile.ZipInfo], limits: Limits) -> None:
    size = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_FILES:
        reason = f"holds {len(members)} files; at most {MAX_FILES} are read"
        raise FormatError.of(name, None, "too_many_files", reason)
    if size > limits.unpacked:
        reason = f"unpacks to too much: {size:,} bytes, and the limit is {limits.unpacked:,}"
        raise FormatError.of(name, None, "unpacks_too_large", limits.refusal(reason))
    if size > MAX_RATIO * max(packed, 1024):
        reason = f"unpacks to too much: more than {MAX_RATIO} times its size"
        raise FormatError.of(name, None, "packed_too_tight", reason)
    if len({member.filename for member in members}) < len(members):
        raise FormatError.of(name, None, "repeated_file", "holds two files of one name")
    for member in members:
        _check_name(name, member)


def _refuse_gaps(archive: Path, entries: list[zipfile.ZipInfo], end: int) -> None:
    """A damaged list of files may leave one out: its bytes are then between those of others."""
    with archive.open("rb") as raw:
        expected = None
        for entry in sorted(entries, key=lambda each: each.header_offset):
            if expected is not None and entry.header_offset - expected > DESCRIPTOR:
                break
            raw.seek(entry.header_offset + 26)
            names = struct.unpack("<HH", raw.read(4).ljust(4, b"\0"))
            expected = entry.header_offset + 30 + sum(names) + entry.compress_size
        else:
            if expected is None or end - expected <= DESCRIPTOR:
                return
    reason = "is damaged: it holds a file that its own list does not name"
    raise FormatError.of(archive.name, None, "hidden_file", reason)


def _check_name(name: str, member: zipfile.ZipInfo) -> None:
    path = PurePosixPath(member.filename)
    is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
    odd = "\\" in member.filename or "\x00" in member.filename or ":" in member.filename
    if path.is_absolute() or ".." in path.parts or is_link or odd:
        reason = f"has an entry {member.filename!r} that points elsewhere"
        raise FormatError.of(name, None, "unsafe_path", reason)


def _copy(name: str, member: zipfile.ZipInfo, source: IO[bytes], out: IO[bytes]) -> None:
    """Copy at most what the entry said it holds: its header may lie."""
    left = member.file_size
    while chunk := source.read(min(1024 * 1024, left + 1)):
        left -= len(chunk)
        if left < 0:
            reason = f"{member.filename} is larger than it says"
            raise FormatError.of(name, None, "larger_than_said", reason)
        out.write(chunk)
