"""Files that researchers upload through the web, within size limits."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from tiebreak.formats import FormatError
from tiebreak.formats.limits import Limits

if TYPE_CHECKING:
    Upload = UploadedFile[Any]
else:
    Upload = UploadedFile

ADVICE = (
    "Import larger files on the server with `manage.py import_study PATH --owner USERNAME`, or a"
    " table with `manage.py import_table FILE --owner USERNAME --title TITLE`."
)


def upload_limits() -> Limits:
    """Return the limits for uploads, which are checked while the researcher waits for the page."""
    return Limits(
        cell=settings.TIEBREAK_MAX_CELL_CHARACTERS,
        rows=settings.TIEBREAK_MAX_UPLOAD_ROWS,
        unpacked=settings.TIEBREAK_MAX_UNPACKED_BYTES,
        advice=ADVICE,
    )


def check_size(upload: Upload, name: str) -> None:
    """Raise `FormatError` if an upload is too large."""
    limit = settings.TIEBREAK_MAX_UPLOAD_BYTES
    if (upload.size or 0) > limit:
        reason = f"the file has {upload.size:,} bytes, but the limit for uploads is {limit:,}"
        raise FormatError.of(name, None, "upload_too_large", upload_limits().refusal(reason))


@contextmanager
def stored_upload(upload: Upload, name: str) -> Iterator[Path]:
    """Store an upload in a temporary file called ``name``. Raise `FormatError` if too large."""
    check_size(upload, name)
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        path = Path(folder) / name
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        yield path
