"""`manage.py backup`: the database, uploads and exports in one file."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.backup import back_up
from jobs.commands import as_command_error

KEEP_APART = (
    "The file has everything that the server stores about people, and no settings and no keys. Keep"
    " these of this environment apart from it: {}. Without TIEBREAK_SECRET_KEY, sessions, personal links"
    " and stored tokens of platforms are void."
)


class Command(BaseCommand):
    help = "Back up the database, uploads and exports to one file, while the server runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write, such as backup.zip")

    def handle(self, *args: Any, **options: Any) -> None:
        with as_command_error(with_code=True):
            manifest = back_up(path=options["file"])
        self.stdout.write(
            f"Backed up {len(manifest.rows)} tables with {sum(manifest.rows.values()):,} rows, and"
            f" {len(manifest.files) - 1:,} files of uploads and exports, to {options['file']}."
        )
        names = sorted(name for name in os.environ if name.startswith("TIEBREAK_"))
        self.stdout.write(KEEP_APART.format(", ".join(names) or "none is set"))
