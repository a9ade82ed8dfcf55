"""`manage.py receive_study`: brings a study into this server that `manage.py move_study` has written."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.commands import as_command_error
from metrics.moving.receiving import receive_study
from studies.commands import user_named
from tiebreak.formats.limits import LIMITS, Limits

LEFT = "Left behind, because they need accounts or other studies that are not here: {}."
EMPTIED = "Empty here, because they named such accounts or studies: {}."
OTHER_KEY = (
    "TIEBREAK_SECRET_KEY is another one than where the study was, so personal links of annotators are void."
    " Put the former one into TIEBREAK_SECRET_KEY_FALLBACKS if they are to stay."
)


class Command(BaseCommand):
    help = "Store all of a study that `manage.py move_study` wrote on another server, or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, help="the file that `manage.py move_study` has written"
        )
        parser.add_argument(
            "--owner", metavar="USERNAME", help="an owner of the study on this server"
        )
        parser.add_argument(
            "--max-bytes",
            type=int,
            default=LIMITS.unpacked,
            metavar="N",
            help="maximum unpacked size of the file in bytes (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = user_named(options["owner"]) if options["owner"] else None
        limits = Limits(unpacked=options["max_bytes"], advice="Allow more with --max-bytes.")
        with as_command_error(with_code=True):
            received = receive_study(path=options["file"], owner=owner, limits=limits)
        study, manifest = received.study, received.manifest
        self.stdout.write(
            f"Received “{study.title}” as study {study.pk} ({study.status}), with the numbers of rows that its"
            f" file has."
        )
        for sentence, counts in ((LEFT, received.left), (EMPTIED, received.emptied)):
            if counts:
                names = ", ".join(f"{name} ({n})" for name, n in sorted(counts.items()))
                self.stdout.write(sentence.format(names))
        if not manifest.is_of_this_key:
            self.stdout.write(OTHER_KEY)
