"""`manage.py revoke_token`: ends a token, such as one that leaked."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from api.models import ApiToken
from api.services.tokens import SHOWN, revoke_token


class Command(BaseCommand):
    help = "Revoke the tokens that begin with these characters, which their list shows."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "beginning", help="the first characters of the token, such as tb_1a2B3c"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tokens = ApiToken.objects.filter(prefix=options["beginning"][:SHOWN], revoked_at=None)
        if not tokens or len(options["beginning"]) < SHOWN:
            raise CommandError("There is no valid token that begins like this.")
        for token in tokens:
            revoke_token(user=token.user, public_id=token.public_id)
            self.stdout.write(f"Revoked “{token.name}” of {token.user}.")
