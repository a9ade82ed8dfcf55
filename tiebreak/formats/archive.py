"""Safe extraction of untrusted .zip files, limited in size and to one folder."""

import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from tiebreak.formats.errors import FormatError
from tiebreak.formats.limits import LIMITS, Limits

MAX_FILES = 200
MAX_RATIO = 200
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


def extract(archive: Path, folder: Path, limits: Limits = LIMITS) -> Path:
    """Extract a .zip into a folder, and return the folder that contains study.toml."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
            check_members(archive.name, members, limits)
            _check_for_gaps(archive, file.infolist(), file.start_dir)
            for member in members:
                target = folder / PurePosixPath(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(member) as source, target.open("xb") as out:
                    _copy(archive.name, member, source, out)
    except FormatError:
        raise
    except ZIP_ERRORS as error:
        reason = f"is not a readable .zip file ({error})"
        raise FormatError.of(archive.name, None, "not_a_zip", reason) from error
    roots = sorted(path.parent for path in folder.rglob("study.toml"))
    if len(roots) > 1:
        reason = "contains more than one study.toml"
        raise FormatError.of(archive.name, None, "several_studies", reason)
    return roots[0] if roots else folder


def check_members(name: str, members: list[zipfile.ZipInfo], limits: Limits) -> None:
    size = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_FILES:
        reason = f"contains {len(members)} files, but the limit is {MAX_FILES}"
        raise FormatError.of(name, None, "too_many_files", reason)
    if size > limits.unpacked:
        reason = f"unpacks to {size:,} bytes, but the limit is {limits.unpacked:,} bytes"
        raise FormatError.of(name, None, "unpacks_too_large", limits.refusal(reason))
    if size > MAX_RATIO * max(packed, 1024):
        reason = f"unpacks to more than {MAX_RATIO} times its compressed size, which is the limit"
        raise FormatError.of(name, None, "packed_too_tight", reason)
    if len({member.filename for member in members}) < len(members):
        raise FormatError.of(name, None, "repeated_file", "contains two files with the same name")
    for member in members:
        _check_name(name, member)


def _check_for_gaps(archive: Path, entries: list[zipfile.ZipInfo], end: int) -> None:
    """Refuse an archive with bytes that belong to no entry of its central directory.

    If a damaged directory lacks an entry, its data lies between the data of other entries.
    """
    with archive.open("rb") as raw:
        expected = None
        for entry in sorted(entries, key=lambda member: member.header_offset):
            if expected is not None and entry.header_offset - expected > MAX_DATA_DESCRIPTOR:
                break
            raw.seek(entry.header_offset + 26)
            name_and_extra = struct.unpack("<HH", raw.read(4).ljust(4, b"\0"))
            expected = entry.header_offset + 30 + sum(name_and_extra) + entry.compress_size
        else:
            if expected is None or end - expected <= MAX_DATA_DESCRIPTOR:
                return
    reason = "is damaged, because it contains a file that its directory does not list"
    raise FormatError.of(archive.name, None, "hidden_file", reason)


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
            reason = f"{member.filename} is larger than its header says"
            raise FormatError.of(name, None, "larger_than_said", reason)
        out.write(chunk)
