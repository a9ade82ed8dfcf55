"""`manage.py restore`: what `manage.py backup` has written, into an empty database and empty folders."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.backup import known_migrations, restore
from jobs.commands import as_command_error

OTHER_KEY = (
    "TIEBREAK_SECRET_KEY is another one than where the backup was made, so sessions, personal links and"
    " stored tokens of platforms are void. Set the former one, or put it into TIEBREAK_SECRET_KEY_FALLBACKS."
)
TO_MIGRATE = (
    "This version is newer than the backup: run `manage.py migrate` before you start the server."
)


class Command(BaseCommand):
    help = "Restore a backup into an empty database and empty folders, and compare it with its manifest."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file that `manage.py backup` has written")

    def handle(self, *args: Any, **options: Any) -> None:
        with as_command_error(with_code=True):
            manifest = restore(path=options["file"])
        self.stdout.write(
            f"Restored {len(manifest.rows)} tables with {sum(manifest.rows.values()):,} rows, and"
            f" {len(manifest.files) - 1:,} files; the numbers are those of the backup of"
            f" {manifest.made_at}."
        )
        if not manifest.is_of_this_key:
            self.stdout.write(OTHER_KEY)
        if known_migrations() - set(manifest.migrations):
            self.stdout.write(TO_MIGRATE)
