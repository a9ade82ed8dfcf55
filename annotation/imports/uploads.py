"""Files that researchers upload through the web, within size limits."""

import fcntl
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile

from tiebreak.errors import DomainError
from tiebreak.file_names import file_name
from tiebreak.formats import FormatError
from tiebreak.formats.confined import FULL, Bounds, Read, read_confined
from tiebreak.formats.limits import Limits

if TYPE_CHECKING:
    Upload = UploadedFile[Any]
else:
    Upload = UploadedFile

ADVICE = (
    "Import larger files on the server with `manage.py import_study PATH --owner USERNAME`, or a"
    " table with `manage.py import_table FILE --owner USERNAME --title TITLE`."
)
# Rows of a large file that are read for the page on which its columns are chosen.
PREVIEW_ROWS = 2000
OWN_QUOTA = (
    "Your uploads that are not imported yet would take more than {:,} bytes, which is the limit."
    " Import them, or wait until they are deleted."
)
FOLDER_FULL = (
    "The server has no room for more files at the moment. Older files are deleted over time. Please"
    " try again later, or ask the server's administrator for more room."
)
DISK_FULL = "The server's disk is full, so nothing was stored. Ask the server's administrator."
READERS_BUSY = "The server is reading other uploads at the moment. Please try again in a minute."


def upload_limits() -> Limits:
    """Return the limits for uploads, which are checked while the researcher waits for the page."""
    return Limits(
        cell=settings.TIEBREAK_MAX_CELL_CHARACTERS,
        rows=settings.TIEBREAK_MAX_UPLOAD_ROWS,
        unpacked=settings.TIEBREAK_MAX_UNPACKED_BYTES,
        advice=ADVICE,
    )


def name_of(upload: Upload) -> str:
    """Return the name of an uploaded file, without folders, in a length that any disk takes."""
    return file_name(Path(upload.name or "").name, "table")


def check_size(upload: Upload, name: str) -> None:
    """Raise `FormatError` if an upload is too large."""
    limit = settings.TIEBREAK_MAX_UPLOAD_BYTES
    if (upload.size or 0) > limit:
        reason = f"the file has {upload.size:,} bytes, but the limit for uploads is {limit:,}"
        raise FormatError.of(name, None, "upload_too_large", upload_limits().refusal(reason))


def as_one(files: Sequence[Upload]) -> Upload:
    """Return the only file, or a .zip of several files."""
    if len(files) == 1:
        return files[0]
    packed = TemporaryUploadedFile("files.zip", "application/zip", 0, None)
    with zipfile.ZipFile(packed, "w") as archive:
        for file in files:
            with archive.open(Path(file.name or "").name, "w") as member:
                member.writelines(file.chunks())
    packed.size = packed.tell()
    return packed


def check_room(folder: Path, size: int, *, of: str = "") -> None:
    """Raise `DomainError` if a file would exceed what one person, or all, may keep in a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    sizes = [(file.relative_to(folder), file.stat().st_size) for file in files]
    of_one = sum(n for path, n in sizes if of and str(path).startswith(of))
    if of_one + size > settings.TIEBREAK_UPLOAD_QUOTA_BYTES:
        raise DomainError("upload_quota", OWN_QUOTA.format(settings.TIEBREAK_UPLOAD_QUOTA_BYTES))
    if sum(n for _, n in sizes) + size > settings.TIEBREAK_FOLDER_QUOTA_BYTES:
        raise DomainError("folder_full", FOLDER_FULL, status=507)


def write_upload(upload: Upload, path: Path) -> None:
    """Write an upload. If the disk is full, nothing of it stays there."""
    try:
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    except OSError as error:
        shutil.rmtree(path.parent, ignore_errors=True)
        if error.errno not in FULL:
            raise
        raise DomainError("disk_full", DISK_FULL, status=507) from error


@contextmanager
def stored_upload(upload: Upload, task: str) -> Iterator[Path]:
    """Store an upload in a temporary file, after a confined process could read it as this task.

    Raises `FormatError` if it is too large to be read while the researcher waits.
    """
    name = name_of(upload)
    check_size(upload, name)
    limit = settings.TIEBREAK_IMPORT_AT_ONCE_BYTES
    if (upload.size or 0) > limit:
        reason = f"the file has {upload.size:,} bytes, but the limit here is {limit:,}"
        raise FormatError.of(name, None, "upload_too_large", f"{reason}. Split the file")
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        path = Path(folder) / name
        write_upload(upload, path)
        confined(task, path, in_web=True)
        yield path


def confined(
    task: str,
    path: Path,
    *,
    in_web: bool,
    into: Path | None = None,
    sheet: str = "",
    more: Mapping[str, Any] | None = None,
) -> Read:
    """Read an untrusted file in a separate process; a web process waits for a short time only."""
    if not in_web:
        bounds = Bounds(settings.TIEBREAK_READER_SECONDS, settings.TIEBREAK_READER_BYTES)
        return read_confined(
            task, path, into=into, limits=upload_limits(), bounds=bounds, sheet=sheet, more=more
        )
    bounds = Bounds(
        settings.TIEBREAK_READER_SECONDS_IN_WEB,
        settings.TIEBREAK_READER_BYTES,
        settings.TIEBREAK_IMPORT_AT_ONCE_BYTES,
        PREVIEW_ROWS,
    )
    with _slot():
        return read_confined(
            task, path, into=into, limits=upload_limits(), bounds=bounds, sheet=sheet, more=more
        )


@contextmanager
def _slot() -> Iterator[None]:
    """Wait for one of the few places for readers that this server has, or raise `DomainError`."""
    until = time.monotonic() + settings.TIEBREAK_READER_SECONDS_IN_WEB
    folder = Path(f"{settings.TIEBREAK_UPLOAD_FOLDER}-readers")
    folder.mkdir(parents=True, exist_ok=True)
    names = [folder / str(number) for number in range(settings.TIEBREAK_READERS)]
    with ExitStack() as stack:
        files = [stack.enter_context(name.open("w")) for name in names]
        while not any(map(_is_locked, files)):
            if time.monotonic() > until:
                raise DomainError("readers_busy", READERS_BUSY, status=503)
            time.sleep(0.05)
        yield


def _is_locked(file: IO[str]) -> bool:
    """Lock a file until it is closed, or return False if another process or thread has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
