"""Uploads that wait on the server between two pages, or for a worker."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing

from annotation.imports.uploads import (
    Upload,
    check_room,
    check_size,
    confined,
    name_of,
    write_upload,
)
from jobs.clock import database_now
from tiebreak.errors import DomainError
from tiebreak.formats import FormatError, atomic_path
from tiebreak.formats.confined import EXISTING, RATINGS, TABLE, UPLOAD, Read
from tiebreak.formats.layouts import Choice, Seen
from tiebreak.identifiers import new_public_id

SALT = "annotation.kept_uploads"
KEPT_FOR = timedelta(hours=settings.TIEBREAK_UPLOADS_KEPT_HOURS)
GONE = "The uploaded file is no longer there. Please upload it again."


@dataclass(frozen=True)
class KeptUpload:
    """A file that a researcher uploaded; its token opens it for this researcher only."""

    id: str
    name: str
    token: str

    @property
    def path(self) -> Path:
        return _folder() / self.id / self.name

    def read(self, *, in_web: bool, sheet: str = "", reader: str = "") -> Read:
        """Return what a confined process has read of the file, once and for all later pages.

        In a web process, only the first rows of a large table are read. Raises `FormatError`, unless
        ``reader`` names one of ratings, which may read what is neither a table nor a bundle.
        """
        try:
            return self._read(in_web=in_web, sheet=sheet)
        except FormatError:
            if not reader:
                raise
            return Read(RATINGS, str(self.path), self.path.stat().st_size)

    def _read(self, *, in_web: bool, sheet: str) -> Read:
        folder = self.path.parent
        key = hashlib.sha256(sheet.encode(errors="surrogatepass")).hexdigest()[:16] if sheet else ""
        whole, preview = folder / f"whole{key}.json", folder / f"preview{key}.json"
        facts = preview if in_web else whole
        for known in (whole, preview):
            if known.is_file():
                reading = Read(**json.loads(known.read_text()))
                if in_web or reading.is_whole:
                    return reading
        into = Path(tempfile.mkdtemp(dir=folder))
        try:
            reading = confined(UPLOAD, self.path, into=into, in_web=in_web, sheet=sheet)
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise
        with atomic_path(facts) as partial:
            partial.write_text(json.dumps(asdict(reading)))
        return reading

    def read_ratings(
        self, choice: Choice, *, in_web: bool, title: str = "", into: Path | None = None
    ) -> tuple[Read, Seen]:
        """Return what a confined process sees of ratings; write them into a folder if there is one.

        Of a large table, a web process reads the first rows. Raises `FormatError` if the file cannot
        be read, and `DomainError` if ratings that are to be written are not clear.
        """
        # What is written must not be the first rows only.
        reading = self.read(
            in_web=in_web and into is None, sheet=choice.sheet, reader=choice.reader
        )
        rows = asdict(reading) if reading.kind == TABLE else None
        more = {"choice": asdict(choice), "rows": rows, "title": title}
        read = confined(EXISTING, self.path, into=into, in_web=in_web, more=more)
        seen = Seen(**read.seen)
        if into is not None and seen.code:
            raise DomainError(seen.code, seen.refusal, status=400)
        return read, seen

    def is_small(self, reading: Read) -> bool:
        """Whether what was read can be imported while the researcher waits."""
        return reading.is_whole and reading.size <= settings.TIEBREAK_IMPORT_AT_ONCE_BYTES

    def remove(self) -> None:
        shutil.rmtree(_folder() / self.id, ignore_errors=True)


def keep_upload(*, upload: Upload, by: User) -> KeptUpload:
    """Store an upload until it expires. Raises `DomainError` if it or all of them are too large."""
    name = name_of(upload)
    check_size(upload, name)
    remove_expired_uploads()
    check_room(_folder(), upload.size or 0, of=f"{by.pk}-")
    upload_id = f"{by.pk}-{new_public_id()}"
    kept = KeptUpload(upload_id, name, signing.dumps([by.pk, upload_id, name], salt=SALT))
    kept.path.parent.mkdir(parents=True)
    write_upload(upload, kept.path)
    return kept


def kept_upload(*, token: str, by: User) -> KeptUpload:
    """Return an upload of this researcher, or raise `DomainError` if it is not there."""
    try:
        owner, upload_id, name = signing.loads(token, salt=SALT, max_age=KEPT_FOR)
    except signing.BadSignature:
        raise DomainError("upload_gone", GONE, status=404) from None
    kept = KeptUpload(upload_id, name, token)
    if owner != by.pk or not kept.path.is_file():
        raise DomainError("upload_gone", GONE, status=404)
    return kept


def remove_expired_uploads() -> None:
    """Delete uploads whose tokens have expired."""
    limit = database_now().timestamp() - KEPT_FOR.total_seconds()
    for folder in _folder().glob("*"):
        if folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def remove_uploads(users: Iterable[int]) -> None:
    """Delete what these researchers uploaded and have not imported yet."""
    for user in users:
        for folder in _folder().glob(f"{user}-*"):
            shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    return Path(settings.TIEBREAK_UPLOAD_FOLDER)
