"""Files that researchers send through the web, within bounds."""

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

ELSEWHERE = "Larger ones are imported on the server: manage.py import_study PATH --owner USERNAME"


def upload_limits() -> Limits:
    """What is read of an upload at most: it is read while somebody waits for the page."""
    return Limits(
        cell=settings.TIEBREAK_MAX_CELL_CHARACTERS,
        rows=settings.TIEBREAK_MAX_UPLOAD_ROWS,
        unpacked=settings.TIEBREAK_MAX_UNPACKED_BYTES,
        advice=ELSEWHERE,
    )


@contextmanager
def stored_upload(upload: Upload, name: str) -> Iterator[Path]:
    """An upload as a file, under a name of ours. Raises `FormatError` if it is too large."""
    most = settings.TIEBREAK_MAX_UPLOAD_BYTES
    if (upload.size or 0) > most:
        reason = f"has {upload.size:,} bytes, and the limit of an upload is {most:,}"
        raise FormatError.of(name, None, "upload_too_large", upload_limits().refusal(reason))
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        path = Path(folder) / name
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        yield path
