"""Refuses a request whose files are too large before anything of it is written to the disk."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

# Bytes beside the file: other fields, and what separates them.
BESIDE = 3_000_000


class UploadLimit(FileUploadHandler):
    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *_: Any) -> None:  # noqa: ARG002, N803
        if content_length > settings.TIEBREAK_MAX_UPLOAD_BYTES + BESIDE:
            raise RequestDataTooBig("The files of this request are too large.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:  # noqa: ARG002
        return raw_data

    def file_complete(self, file_size: int) -> None:  # noqa: ARG002
        return None
