"""`manage.py import_study`: imports a bundle, all or nothing."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.counts import study_counts
from annotation.imports.study_import import import_study
from tiebreak.errors import DomainError
from tiebreak.formats.limits import LIMITS, Limits


class Command(BaseCommand):
    help = "Import all of a study bundle (a folder or a .zip file of it), or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="the bundle's folder or .zip file")
        parser.add_argument(
            "--owner", metavar="USERNAME", help="the researcher who will own the study"
        )
        parser.add_argument(
            "--known-dataset",
            choices=["use", "refuse"],
            default="use",
            help="what to do if this owner has already imported the dataset: `use` it for the study"
            " and say so, or `refuse` the import (default: %(default)s)",
        )
        parser.add_argument(
            "--max-rows",
            type=int,
            default=LIMITS.rows,
            metavar="N",
            help="maximum number of rows in one file (default: %(default)s)",
        )
        parser.add_argument(
            "--max-bytes",
            type=int,
            default=LIMITS.unpacked,
            metavar="N",
            help="maximum unpacked size of a .zip file in bytes (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        if not path.exists():
            raise CommandError(f"{path} does not exist. Name a bundle's folder or .zip file.")
        owner = _owner(options["owner"])
        try:
            imported = import_study(
                path=path,
                owner=owner,
                limits=_limits(options),
                known_dataset=options["known_dataset"],
            )
        except DomainError as error:
            raise CommandError(f"Nothing was imported.\n{error.message}") from error
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        counts = {
            "study": imported.study.pk,
            "title": imported.study.title,
            "status": str(imported.study.status),
            "instances": imported.instances,
            "generations": imported.generations,
            "ratings": imported.ratings,
            "in_statistics": study_counts(imported.study).ratings,
            "dataset": imported.study.dataset_id,
            "dataset_was_known": imported.dataset_was_known,
            "not_stored": imported.not_stored,
        }
        if options["json"]:
            self.stdout.write(json.dumps(counts))
        else:
            self.stdout.write("\n".join([_sentence(counts), *imported.remarks]))


def _limits(options: dict[str, Any]) -> Limits:
    if options["max_rows"] < 1 or options["max_bytes"] < 1:
        raise CommandError("--max-rows and --max-bytes must be 1 or more.")
    return Limits(
        cell=settings.TIEBREAK_MAX_CELL_CHARACTERS,
        rows=options["max_rows"],
        unpacked=options["max_bytes"],
        advice="Allow more with --max-rows and --max-bytes.",
    )


def _owner(username: str | None) -> User | None:
    if username is None:
        return None
    owner = User.objects.filter(username=username).first()
    if owner is None:
        raise CommandError(
            f"There is no user {username!r}. Create the user with `manage.py createsuperuser`."
        )
    return owner


def _sentence(counts: dict[str, Any]) -> str:
    return (
        f"Imported {counts['title']!r} as study {counts['study']} ({counts['status']})."
        f" Instances: {counts['instances']}. Generations: {counts['generations']}."
        f" Ratings: {counts['ratings']}. Ratings in the statistics: {counts['in_statistics']}."
    )
