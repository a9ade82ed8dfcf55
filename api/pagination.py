"""Pages of lists."""

from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

BAD_CURSOR = "This cursor is not valid. Use the URL in `next` or `previous` as it is."


class StudyPagination(CursorPagination):
    """Pages of studies, newest first, whose order is stable while studies are created."""

    ordering = ("-created_at", "public_id")
    page_size, max_page_size, page_size_query_param = 50, 200, "limit"

    def decode_cursor(self, request: Request) -> Cursor | None:
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            raise _refused() from None
        if (
            cursor is not None
            and cursor.position is not None
            and not _is_time(str(cursor.position))
        ):
            raise _refused()
        return cursor


def _is_time(text: str) -> bool:
    try:
        return parse_datetime(text) is not None
    except ValueError:
        return False


def _refused() -> ValidationError:
    return ValidationError({"cursor": [BAD_CURSOR]}, code="bad_cursor")
