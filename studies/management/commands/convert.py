"""`manage.py convert`: the library's command of the same name."""

from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tiebreak.cli import COMMANDS
from tiebreak.commands.files import add_convert_options, convert
from tiebreak.errors import DomainError


class Command(BaseCommand):
    help = COMMANDS["convert"].help
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        add_convert_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        arguments = Namespace(**options)
        try:
            outcome = convert(arguments)
        except DomainError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(outcome.shown(arguments))
