"""How commands of `manage.py` tell a refusal."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import CommandError

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.gateway import GatewayError

FILE_UNUSABLE = "{} cannot be used: {}. Name another, or change who may read and write it."
NOT_UTF8 = "not_utf8: An argument has bytes that are no text in UTF-8. Type it again."
NOT_MIGRATED = (
    "not_migrated: The database has other tables than this version. Run `manage.py migrate`, or name another in"
    " TIEBREAK_DATABASE_URL."
)
UNUSABLE = "database_unusable: {}. Check that the database runs, and TIEBREAK_DATABASE_URL."


def said_of(error: Exception) -> str:
    """Return what is wrong with the arguments or the database of a command; "" if that is not known."""
    first = (str(error).splitlines() or [""])[0].rstrip(".")
    if isinstance(error, UnicodeEncodeError):
        return NOT_UTF8 if "surrogates" in first else ""
    if re.search("(relation|column) .* does not exist|no such (table|column)", first):
        return NOT_MIGRATED
    # Those of PostgreSQL that tell of a statement, such as a deadlock, are of other classes.
    is_unusable = type(error.__cause__).__name__ in {"OperationalError", "PoolTimeout"}
    return UNUSABLE.format(first) if is_unusable else ""


@contextmanager
def as_command_error(*, with_code: bool = False, first: str = "") -> Iterator[None]:
    try:
        yield
    except (DomainError, InvalidInput, GatewayError) as refusal:
        code = f"{refusal.code}: " if with_code else ""
        raise CommandError(f"{first}{code}{refusal.message}") from refusal
    except BrokenPipeError:  # whoever reads what is written has gone
        raise
    except OSError as refusal:
        code = "file_unusable: " if with_code else ""
        sentence = FILE_UNUSABLE.format(refusal.filename2 or refusal.filename, refusal.strerror)
        raise CommandError(f"{first}{code}{sentence}") from refusal
