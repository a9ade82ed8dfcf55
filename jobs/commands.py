"""How commands of `manage.py` tell a refusal."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import CommandError

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.gateway import GatewayError

FILE_UNUSABLE = "{} cannot be used: {}. Name another, or change who may read and write it."


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
