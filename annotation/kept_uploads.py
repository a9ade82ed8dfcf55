"""Uploads that wait on the server between two pages, or for a worker."""

import shutil
import zipfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing

from annotation.uploads import Upload, check_size
from jobs.clock import database_now
from tiebreak.errors import DomainError
from tiebreak.formats.archive import ZIP_ERRORS
from tiebreak.formats.spec import STUDY_FILE
from tiebreak.identifiers import new_public_id

SALT = "annotation.kept_uploads"
KEPT_FOR = timedelta(hours=24)
GONE = "The uploaded file is not there any more. Please upload it again."
MAX_NAME = 100


@dataclass(frozen=True)
class KeptUpload:
    """A file that a researcher uploaded; its token opens it for this researcher only."""

    id: str
    name: str
    token: str

    @property
    def path(self) -> Path:
        return _folder() / self.id / self.name

    @property
    def is_bundle(self) -> bool:
        """Whether the file is a .zip with the design of a study."""
        try:
            with zipfile.ZipFile(self.path) as file:
                return any(Path(name).name == STUDY_FILE for name in file.namelist())
        except ZIP_ERRORS:
            return False

    @property
    def is_small(self) -> bool:
        """Whether the file can be imported while the researcher waits."""
        return self.path.stat().st_size <= settings.TIEBREAK_IMPORT_AT_ONCE_BYTES

    def remove(self) -> None:
        shutil.rmtree(_folder() / self.id, ignore_errors=True)


def keep_upload(*, upload: Upload, by: User) -> KeptUpload:
    """Store an upload for a day. Raises `FormatError` if it is too large."""
    name = name_of(upload)
    check_size(upload, name)
    remove_expired_uploads()
    upload_id = new_public_id()
    kept = KeptUpload(upload_id, name, signing.dumps([by.pk, upload_id, name], salt=SALT))
    kept.path.parent.mkdir(parents=True)
    with kept.path.open("wb") as file:
        for chunk in upload.chunks():
            file.write(chunk)
    return kept


def name_of(upload: Upload) -> str:
    """Return the name of an uploaded file, without folders, in a length that any disk takes."""
    return Path(upload.name or "table").name[-MAX_NAME:].lstrip(".") or "table"


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
        if folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    return Path(settings.TIEBREAK_UPLOAD_FOLDER)
