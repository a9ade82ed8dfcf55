"""`manage.py check_licences`: compares new labels with licensed machine raters' labels."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from metrics.licensing.services import check_licences, in_force, studies_with_licences
from studies.commands import study_named
from studies.models import Study


class Command(BaseCommand):
    help = (
        "Compare labels that came after a licence was granted with the machine rater's labels, and"
        " revoke the licence if agreement has dropped. Workers do this every two minutes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "study", nargs="?", help="the study's public id; all studies by default"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = options["study"]
        for study in [study_named(chosen)] if chosen else studies_with_licences():
            self._check(study)

    def _check(self, study: Study) -> None:
        for licence in check_licences(study=study):
            self.stdout.write(f"Revoked: {licence}. {licence.reason}")
        for licence in in_force(study):
            self.stdout.write(f"In force: {licence}. {licence.drift}")
