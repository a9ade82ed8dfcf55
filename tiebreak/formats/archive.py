"""Safe extraction of untrusted .zip files, limited in size and to one folder."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from tiebreak import optional
from tiebreak.formats.errors import FormatError
from tiebreak.formats.limits import LIMITS, Limits

MAX_FILES = 200
MAX_RATIO = 200
# Zstandard, which `zipfile` reads since Python 3.14 only.
ZSTANDARD = 93
# Size of the data descriptor that follows each file in an archive written as a stream.
MAX_DATA_DESCRIPTOR = 24
# Errors raised for damaged or encrypted archives, and for unsupported compression methods.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def is_bundle(path: Path) -> bool:
    """Whether the file is a .zip with the design of a study."""
    try:
        with zipfile.ZipFile(path) as file:
            return any(PurePosixPath(name).name == "study.toml" for name in file.namelist())
    except ZIP_ERRORS:
        return False


def holds(path: Path, *endings: str) -> bool:
    """Whether the file is a .zip with a file that ends in one of these ways."""
    try:
        with zipfile.ZipFile(path) as file:
            return any(name.endswith(endings) for name in file.namelist())
    except ZIP_ERRORS:
        return False


class Archive:
    """A .zip whose files may be read: their sizes, as its directory has them, are within the limits."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self.file = path, file
        self.members = [member for member in file.infolist() if not member.is_dir()]

    def open(self, member: zipfile.ZipInfo) -> IO[bytes]:
        if member.compress_type != ZSTANDARD:
            return self.file.open(member)
        pa = optional.load("pyarrow")
        with self.path.open("rb") as raw:
            raw.seek(_data_offset(raw, member))
            packed = pa.BufferReader(raw.read(member.compress_size))
        return cast("IO[bytes]", pa.CompressedInputStream(packed, "zstd"))

    def read(self, member: zipfile.ZipInfo) -> bytes:
        """Return a file's content, or raise `FormatError` if it is not what its header says."""
        with self.open(member) as source:
            content = bytes(source.read(member.file_size + 1))
        if len(content) > member.file_size:
            raise _larger_than_said(self.path.name, member)
        if zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {member.filename!r}")
        return content


@contextmanager
def opened(path: Path, limits: Limits = LIMITS, *, most: int = MAX_FILES) -> Iterator[Archive]:
    """Open a .zip of at most so many files; raise `FormatError` if it is unreadable or too large."""
    try:
        with zipfile.ZipFile(path) as file:
            archive = Archive(path, file)
            check_sizes(path.name, archive.members, limits, most)
            _check_for_gaps(path, file.infolist(), file.start_dir)
            yield archive
    except FormatError:
        raise
    except ZIP_ERRORS as error:
        reason = f"is not a readable .zip file ({error})"
        raise FormatError.of(path.name, None, "not_a_zip", reason) from error


def extract(archive: Path, folder: Path, limits: Limits = LIMITS) -> Path:
    """Extract a .zip into a folder, and return the folder that contains study.toml."""
    with opened(archive, limits) as file:
        for member in file.members:
            _check_name(archive.name, member)
        for member in file.members:
            target = folder / PurePosixPath(member.filename)
            target.parent.mkdir(parents=True, exist_ok=True)
            with file.open(member) as source, target.open("xb") as out:
                _copy(archive.name, member, source, out)
    roots = sorted(path.parent for path in folder.rglob("study.toml"))
    if len(roots) > 1:
        reason = "contains more than one study.toml"
        raise FormatError.of(archive.name, None, "several_studies", reason)
    return roots[0] if roots else folder


def check_members(name: str, members: list[zipfile.ZipInfo], limits: Limits) -> None:
    """Raise `FormatError` if the files are too many or too large, or do not stay in one folder."""
    check_sizes(name, members, limits, MAX_FILES)
    for member in members:
        _check_name(name, member)


def check_sizes(name: str, members: list[zipfile.ZipInfo], limits: Limits, most: int) -> None:
    size = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > most:
        reason = f"contains {len(members)} files, but the limit is {most}"
        raise FormatError.of(name, None, "too_many_files", reason)
    if size > limits.unpacked:
        reason = f"unpacks to {size:,} bytes, but the limit is {limits.unpacked:,} bytes"
        raise FormatError.of(name, None, "unpacks_too_large", limits.refusal(reason))
    if size > MAX_RATIO * max(packed, 1024):
        reason = f"unpacks to more than {MAX_RATIO} times its compressed size, which is the limit"
        raise FormatError.of(name, None, "packed_too_tight", reason)
    if len({member.filename for member in members}) < len(members):
        raise FormatError.of(name, None, "repeated_file", "contains two files with the same name")


def _check_for_gaps(archive: Path, entries: list[zipfile.ZipInfo], end: int) -> None:
    """Refuse an archive with bytes that belong to no entry of its central directory.

    If a damaged directory lacks an entry, its data lies between the data of other entries.
    """
    with archive.open("rb") as raw:
        expected = None
        for entry in sorted(entries, key=lambda member: member.header_offset):
            if expected is not None and entry.header_offset - expected > MAX_DATA_DESCRIPTOR:
                break
            expected = _data_offset(raw, entry) + entry.compress_size
        else:
            if expected is None or end - expected <= MAX_DATA_DESCRIPTOR:
                return
    reason = "is damaged, because it contains a file that its directory does not list"
    raise FormatError.of(archive.name, None, "hidden_file", reason)


def _data_offset(raw: IO[bytes], entry: zipfile.ZipInfo) -> int:
    """Return where a file's data begin: after its header, its name and its extra fields."""
    raw.seek(entry.header_offset + 26)
    name, extra = struct.unpack("<HH", raw.read(4).ljust(4, b"\0"))
    return entry.header_offset + 30 + int(name + extra)


def _check_name(name: str, member: zipfile.ZipInfo) -> None:
    path = PurePosixPath(member.filename)
    is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
    has_bad_character = any(character in member.filename for character in "\\\x00:")
    if path.is_absolute() or ".." in path.parts or is_link or has_bad_character:
        reason = f"contains the unsafe path {member.filename!r}"
        raise FormatError.of(name, None, "unsafe_path", reason)


def _copy(name: str, member: zipfile.ZipInfo, source: IO[bytes], out: IO[bytes]) -> None:
    """Copy a file, and refuse it if it is larger than its header says."""
    left = member.file_size
    while chunk := source.read(min(1024 * 1024, left + 1)):
        left -= len(chunk)
        if left < 0:
            raise _larger_than_said(name, member)
        out.write(chunk)


def _larger_than_said(name: str, member: zipfile.ZipInfo) -> FormatError:
    reason = f"{member.filename} is larger than its header says"
    return FormatError.of(name, None, "larger_than_said", reason)
