"""`manage.py write_report`: the report of a study as HTML, PDF, LaTeX and JSON."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.exports.report_files import write_report_files
from studies.models import Study
from tiebreak.errors import DomainError


class Command(BaseCommand):
    help = "Write the report of a study as HTML, PDF, LaTeX tables, BibTeX and JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(pk=options["study"]).first()
        if study is None:
            raise CommandError(
                f"There is no study with the id {options['study']!r}. The id is in the address of"
                " the study's pages."
            )
        try:
            names = write_report_files(study=study, out=options["out"])
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Wrote {', '.join(names)} to {options['out']}.")
