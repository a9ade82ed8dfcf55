"""Pages of lists."""

from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

BAD_CURSOR = "This cursor is not valid. Use the URL in `next` or `previous` as it is."


class TimePagination(CursorPagination):
    """Pages in an order by time, which is stable while rows are created."""

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


class StudyPagination(TimePagination):
    """Pages of studies, newest first."""

    ordering = ("-created_at", "public_id")
    page_size, max_page_size, page_size_query_param = 50, 200, "limit"


class ParticipantPagination(TimePagination):
    """Pages of participants, in the order in which they came."""

    ordering = ("created_at", "public_id")
    page_size, max_page_size, page_size_query_param = 100, 500, "limit"


def _is_time(text: str) -> bool:
    try:
        return parse_datetime(text) is not None
    except ValueError:
        return False


def _refused() -> ValidationError:
    return ValidationError({"cursor": [BAD_CURSOR]}, code="bad_cursor")
