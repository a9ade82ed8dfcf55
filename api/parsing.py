"""The one parser of the JSON that programs send."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.parsers import JSONParser

from api.messages import BAD_JSON, BODY_TOO_LARGE
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.cells import bounded_json


class BoundedJSONParser(JSONParser):
    """JSON of limited size, depth and number of values, whose texts a database can store."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,  # noqa: ARG002  the signature is DRF's
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise RequestDataTooBig(BODY_TOO_LARGE)
        try:
            return bounded_json(body)
        except InvalidInput as error:
            code = "parse_error" if error.code in {"not_json", "not_utf8"} else error.code
            raise DomainError(code, BAD_JSON.format(error.message), status=400) from error
