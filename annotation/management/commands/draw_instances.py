"""`manage.py draw_instances`: draws the instances of a draft and plans their tasks."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.services.planning import draw_and_plan
from jobs.commands import as_command_error
from studies.commands import study_named
from studies.models import InstanceSelection

_DESIGN = InstanceSelection()
DEFAULTS = {
    name: getattr(_DESIGN, name) for name in ("design", "control_share", "weights", "floor", "seed")
}


class Command(BaseCommand):
    help = (
        "Draw the instances of a draft, as the Generate & select page does, and plan their tasks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument("--instances", type=int, required=True, help="per pair of systems")
        parser.add_argument("--design", choices=InstanceSelection.Design.values)
        parser.add_argument("--control-share", type=float)
        parser.add_argument("--weights", choices=InstanceSelection.Weights.values)
        parser.add_argument("--floor", type=float)
        parser.add_argument("--seed", type=int)
        parser.add_argument("--pilot", help="a pilot's public id, for the design doubt")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.set_defaults(**DEFAULTS)

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        values = {name: options[name] for name in ("instances", *DEFAULTS)}
        pilot = study_named(options["pilot"]) if options["pilot"] else None
        design = InstanceSelection(study=study, pilot=pilot, **values)
        try:
            design.clean_fields()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        with as_command_error():
            drawn, plan = draw_and_plan(study=study, design=design)
        counts = {"study": study.pk, "design": design.design, "drawn": drawn, "tasks": plan.hits}
        sentence = f"Drew {drawn} instances and planned {plan.summary}"
        self.stdout.write(json.dumps(counts) if options["json"] else sentence)
