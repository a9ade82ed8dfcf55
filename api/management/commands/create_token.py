"""`manage.py create_token`: a token for programs, without the page of tokens."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from api.models import ApiToken
from api.services.tokens import create_token
from jobs.commands import as_command_error
from studies.commands import study_named


class Command(BaseCommand):
    help = "Create a token of a researcher for the REST interface, and print it once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the researcher's user name")
        parser.add_argument("name", help="what the token is for, such as the program's name")
        parser.add_argument("--write", action="store_true", help="also let it change things")
        parser.add_argument(
            "--study",
            action="append",
            metavar="ID",
            help="open only this study; may be repeated (default: all of the researcher's)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_staff=True).first()
        if user is None:
            raise CommandError(f"There is no researcher with the user name {options['user']!r}.")
        access = ApiToken.Access.WRITE if options["write"] else ApiToken.Access.READ
        ids = options["study"]
        with as_command_error():
            _, text = create_token(
                user=user,
                name=options["name"],
                access=access,
                studies=None if ids is None else [study_named(one) for one in ids],
            )
        self.stdout.write(text)
