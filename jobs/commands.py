"""How commands of `manage.py` tell a refusal."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import CommandError

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.gateway import GatewayError


@contextmanager
def as_command_error(*, with_code: bool = False, first: str = "") -> Iterator[None]:
    try:
        yield
    except (DomainError, InvalidInput, GatewayError) as refusal:
        code = f"{refusal.code}: " if with_code else ""
        raise CommandError(f"{first}{code}{refusal.message}") from refusal
    except OSError as refusal:
        raise CommandError(f"{first}{refusal}") from refusal
