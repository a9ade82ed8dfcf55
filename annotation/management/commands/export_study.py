"""`manage.py export_study`: exports a study as a bundle."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.exports.study_export import FORMATS, export_study
from studies.commands import study_named
from tiebreak.errors import DomainError
from tiebreak.formats.preferences import TIES


class Command(BaseCommand):
    help = "Write a study as a bundle: its design, instances, generations, ratings and codebook."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder"
        )
        parser.add_argument(
            "--format",
            default="jsonl",
            help=f"formats, separated by commas: any of {', '.join(FORMATS)} (default: %(default)s)",
        )
        parser.add_argument(
            "--ties",
            choices=TIES,
            default="drop",
            help="in the preference format, leave ties out, write half of them in each direction, or"
            " write each in both (default: %(default)s)",
        )
        parser.add_argument(
            "--with-texts",
            action="store_true",
            help="in jsonl, csv, xlsx and parquet, add the source, both texts and the preferred system's"
            " name to each rating",
        )
        parser.add_argument(
            "--with-comments",
            action="store_true",
            help="also write a table of annotators' comments, which may identify them",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        formats = [name.strip() for name in options["format"].split(",") if name.strip()]
        try:
            export = export_study(
                study=study,
                out=options["out"],
                formats=formats,
                ties=options["ties"],
                with_texts=options["with_texts"],
                with_comments=options["with_comments"],
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror}.") from error
        counts = {
            "out": str(options["out"]),
            "ratings": export.counts.rows,
            "in_statistics": export.counts.counted,
            "formats": formats,
            "left_out": {one.name: one.left_out for one in export.benchmarks},
        }
        sentence = (
            f"Wrote the study to {options['out']}, as {', '.join(formats)}. Number of"
            f" ratings: {export.counts.rows}. Ratings in the statistics: {export.counts.counted}."
        )
        for one in export.benchmarks:
            for left in one.left_out:
                sentence += f"\n{one.name}: {left['ratings']} left out. {left['reason']}"
        self.stdout.write(json.dumps(counts) if options["json"] else sentence)
