"""`manage.py analyze`: the library's command, which here also takes a study of this server."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.selectors import study_source
from tiebreak.cli import add_analyze_options, analyze
from tiebreak.errors import DomainError
from tiebreak.identifiers import looks_like_public_id
from tiebreak.report import read_source
from tiebreak.report.reading import Source


class Command(BaseCommand):
    help = "Write the report of a ratings file, a bundle (folder or .zip) or a study."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        add_analyze_options(parser, source="PATH_OR_STUDY")

    def handle(self, *args: Any, **options: Any) -> None:
        arguments = Namespace(**options)
        try:
            outcome = analyze(arguments, read=_source)
        except DomainError as refusal:
            raise CommandError(str(refusal)) from refusal
        for problem in outcome.problems:
            self.stderr.write(problem)
        self.stdout.write(outcome.shown(arguments))


def _source(path: Path) -> Source:
    if not path.exists() and looks_like_public_id(str(path)):
        return study_source(str(path))
    return read_source(path)
