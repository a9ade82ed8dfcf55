"""`manage.py add_perturbed_copies`: adds perturbed copies of its texts to a scoring study."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.commands import as_command_error
from studies.commands import study_named
from studies.data.copy_pages import made_in_words
from studies.data.perturbed_copies import add_perturbed_copies
from tiebreak.perturbations import PERTURBATIONS


class Command(BaseCommand):
    help = "Add perturbed copies of a scoring study's texts, which are scored like the originals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument("perturbation", nargs="+", choices=list(PERTURBATIONS))
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        with as_command_error():
            made = add_perturbed_copies(
                study=study, names=options["perturbation"], seed=options["seed"]
            )
        self.stdout.write(json.dumps(asdict(made)) if options["json"] else made_in_words(made))
