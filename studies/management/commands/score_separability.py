"""`manage.py score_separability`: scores the separability of a study's instances."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.commands import as_command_error
from studies.commands import study_named
from studies.instance_selection.scoring import score_separability
from tiebreak.reading.terminal import progress_bar
from tiebreak.similarity import SIMILARITIES


class Command(BaseCommand):
    help = "Score how separable the systems are on each instance of a study that has no score yet."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument(
            "--similarity",
            choices=sorted(SIMILARITIES),
            help="the text similarity (default: the study's)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        with as_command_error():
            n = score_separability(
                study=study, similarity_name=options["similarity"], report=self._bar
            )
        name = options["similarity"] or study.similarity
        counts = {"study": study.pk, "similarity": name, "scores": n}
        sentence = f"Computed {n} scores with {name}."
        self.stdout.write(json.dumps(counts) if options["json"] else sentence)

    def _bar(self, done: int, of: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(progress_bar(done, of, "instances"), ending="")
