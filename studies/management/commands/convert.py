"""`manage.py convert`: the library's command of the same name."""

from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.commands import as_command_error
from tiebreak.cli import COMMANDS
from tiebreak.commands.files import add_convert_options, convert


class Command(BaseCommand):
    help = COMMANDS["convert"].help
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        add_convert_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        arguments = Namespace(**options)
        with as_command_error():
            outcome = convert(arguments)
        self.stdout.write(outcome.shown(arguments))
