"""`manage.py write_report`: the report of a study as HTML, PDF, LaTeX and JSON."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.commands import as_command_error
from metrics.exports.report_files import write_report_files
from studies.commands import study_named


class Command(BaseCommand):
    help = "Write the report of a study as HTML, PDF, LaTeX tables, BibTeX and JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        with as_command_error():
            names = write_report_files(study=study, out=options["out"])
        self.stdout.write(f"Wrote {', '.join(names)} to {options['out']}.")
