"""`manage.py push_to_hub`: uploads a closed study to the Hugging Face Hub."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotation.exports.hub import push_to_hub
from jobs.commands import as_command_error
from studies.commands import study_named
from tiebreak.formats.preferences import TIES


class Command(BaseCommand):
    help = "Upload a closed study to the Hugging Face Hub as a dataset with its card."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument("--repo", required=True, metavar="OWNER/NAME")
        seen = parser.add_mutually_exclusive_group()
        seen.add_argument(
            "--private",
            dest="public",
            action="store_false",
            help="only the owner reads it (default)",
        )
        seen.add_argument("--public", action="store_true", help="everybody reads it")
        parser.set_defaults(public=False)
        parser.add_argument("--ties", choices=TIES, default="drop", help="as for export_study")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        with as_command_error():
            pushed = push_to_hub(
                study=study, repo=options["repo"], public=options["public"], ties=options["ties"]
            )
        seen = "private" if pushed.is_private else "public"
        sentence = f"Uploaded {pushed.ratings} ratings to the {seen} dataset {pushed.url}."
        self.stdout.write(json.dumps(asdict(pushed)) if options["json"] else sentence)
