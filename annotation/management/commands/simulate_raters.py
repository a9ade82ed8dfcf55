"""`manage.py simulate_raters`: bots take a study through the annotators' pages."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.counts import study_counts
from annotation.simulation import Bot, simulate_raters
from studies.errors import DomainError
from studies.models import Study


class Command(BaseCommand):
    help = "Let bots rate an open study through the real pages; their ratings are marked simulated."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument("--raters", type=int, default=3)
        parser.add_argument("--hits", type=int, help="HITs per bot at most")
        parser.add_argument("--accuracy", type=float, default=0.8)
        parser.add_argument("--position-bias", type=float, default=0.0)
        parser.add_argument("--drop-out", type=float, default=0.0)
        parser.add_argument(
            "--malice", type=float, default=0.0, help="share of answers given without reading"
        )
        parser.add_argument("--seconds", type=float, default=8.0, help="median on a unit")
        parser.add_argument("--url", help="a running server, such as http://127.0.0.1:8000")
        parser.add_argument("--real-time", action="store_true", help="take those seconds")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--json", action="store_true", help="say what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(pk=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']!r}.")
        for name in ("accuracy", "position_bias", "drop_out", "malice"):
            if not 0 <= options[name] <= 1:
                raise CommandError(f"--{name.replace('_', '-')} must lie between 0 and 1.")
        bots = [
            Bot(
                name=f"bot-{number}",
                accuracy=options["accuracy"],
                position_bias=options["position_bias"],
                drop_out=options["drop_out"],
                malice=options["malice"],
                seconds=options["seconds"],
                hits=options["hits"],
            )
            for number in range(1, options["raters"] + 1)
        ]
        try:
            answers = simulate_raters(
                study=study,
                bots=bots,
                seed=options["seed"],
                url=options["url"],
                in_real_time=options["real_time"],
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        found = study_counts(study)
        counts = {
            "study": study.pk,
            "raters": len(bots),
            "answers": answers,
            "in_statistics": found.ratings,
        }
        sentence = (
            f"{len(bots)} bots gave {answers} answers, all marked simulated. The study has"
            f" {found.ratings} ratings in the statistics now, of {found.expected} expected."
        )
        self.stdout.write(json.dumps(counts) if options["json"] else sentence)
