"""`manage.py import_study`: imports a bundle, or ratings in any layout, all or nothing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.counts import study_counts
from annotation.imports.study_import import import_study
from jobs.commands import as_command_error
from studies.commands import user_named
from tiebreak.commands.files import add_choice_options
from tiebreak.formats.archive import is_bundle
from tiebreak.formats.layouts import TABLE, Choice, read_existing
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.readers import READERS, recognised


class Command(BaseCommand):
    help = (
        "Import all of a study bundle (a folder or a .zip file of it), or nothing. Ratings in any layout,"
        " or a file of an annotation platform, become a closed study."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="the bundle, or the file with ratings")
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
        ratings = parser.add_argument_group("ratings that were collected elsewhere")
        ratings.add_argument("--title", default="", help="the study's title (default: FILE's name)")
        add_choice_options(ratings)
        ratings.add_argument(
            "--scale",
            action="append",
            default=[],
            metavar="CRITERION=SCALE",
            help="the scale of a criterion (others are inferred)",
        )
        ratings.add_argument(
            "--reader", default="", choices=[*READERS, TABLE], help="reader of the file"
        )
        ratings.add_argument("--sheet", default="", help="the sheet of a workbook")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        if not path.exists():
            raise CommandError(f"{path} does not exist. Name a bundle's folder or .zip file.")
        owner = None if options["owner"] is None else user_named(options["owner"])
        limits = _limits(options)
        with (
            as_command_error(first="Nothing was imported.\n"),
            self._bundle(path, limits, options) as bundle,
        ):
            imported = import_study(
                path=bundle,
                owner=owner,
                limits=limits,
                known_dataset=options["known_dataset"],
            )
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

    @contextmanager
    def _bundle(self, path: Path, limits: Limits, options: dict[str, Any]) -> Iterator[Path]:
        """Yield a bundle: the path itself, or one of its ratings, after a sentence on what was read."""
        if _is_bundle(path):
            yield path
            return
        choice = Choice.parse(
            options["columns"],
            options["leave_out"],
            options["scale"],
            reader=options["reader"],
            sheet=options["sheet"],
        )
        existing = read_existing(path, choice=choice, limits=limits)
        if not options["json"]:
            self.stdout.write("\n".join([existing.sentence, *existing.notes]))
        with TemporaryDirectory(prefix="tiebreak-") as folder:
            existing.converted(options["title"] or path.stem).write(Path(folder) / "bundle")
            yield Path(folder) / "bundle"


def _is_bundle(path: Path) -> bool:
    """Whether a path is a bundle, or would be one if it were complete."""
    is_packed = path.is_dir() or path.suffix == ".zip"
    return (
        is_bundle(path) or (path / "study.toml").is_file() or (is_packed and not recognised(path))
    )


def _limits(options: dict[str, Any]) -> Limits:
    if options["max_rows"] < 1 or options["max_bytes"] < 1:
        raise CommandError("--max-rows and --max-bytes must be 1 or more.")
    return Limits(
        cell=settings.TIEBREAK_MAX_CELL_CHARACTERS,
        rows=options["max_rows"],
        unpacked=options["max_bytes"],
        advice="Allow more with --max-rows and --max-bytes.",
    )


def _sentence(counts: dict[str, Any]) -> str:
    return (
        f"Imported {counts['title']!r} as study {counts['study']} ({counts['status']})."
        f" Instances: {counts['instances']}. Generations: {counts['generations']}."
        f" Ratings: {counts['ratings']}. Ratings in the statistics: {counts['in_statistics']}."
    )
