"""`manage.py move_study`: a study with everything that belongs to it in one file, for another server."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.commands import as_command_error
from metrics.moving.sending import move_study
from studies.commands import study_named

NOT_IN_IT = (
    "It has everything that is stored about people, and neither accounts nor the tokens of platforms and the"
    " secrets of webhooks: enter those again on the other server. Bring it there with"
    " `manage.py receive_study {}`. The study is over here: do not open it again."
)


class Command(BaseCommand):
    help = (
        "Write a study with people, payments and log to one file for `manage.py receive_study` on another"
        " server, and close it here."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument("file", type=Path, help="the file to write, such as study.zip")

    def handle(self, *args: Any, **options: Any) -> None:
        study, path = study_named(options["study"]), options["file"]
        with as_command_error(with_code=True):
            manifest, digest = move_study(study=study, path=path)
        self.stdout.write(
            f"Wrote “{manifest.title}” with {sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables"
            f" to {path}, SHA-256 {digest}.\n{NOT_IN_IT.format(path.name)}"
        )
