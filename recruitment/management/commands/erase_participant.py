"""`manage.py erase_participant`: erase a person, or show everything that is stored about one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from annotation.models import Rater
from jobs.commands import as_command_error
from recruitment.services.erasure import erase_participant
from recruitment.services.personal_data import own_data
from studies.commands import study_named


class Command(BaseCommand):
    help = (
        "Erase a person from all studies of this server, as the button on the participant's page does."
        " This cannot be undone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the public id of a study in which the person took part")
        parser.add_argument("participant", help="the pseudonym in that study")
        parser.add_argument(
            "--show", action="store_true", help="print what is stored as JSON, and erase nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, name = study_named(options["study"]), options["participant"]
        in_study = Q(participations__study=study) | Q(ratings__unit__study=study)
        rater = Rater.objects.filter(in_study, pseudonym=name).first()
        if rater is None:
            raise CommandError(f"Nobody called {name!r} took part in this study.")
        if options["show"]:
            self.stdout.write(own_data(rater))
            return
        with as_command_error(with_code=True):
            titles = [f"{study.title} ({study.pk})" for study in erase_participant(rater=rater)]
        self.stdout.write("\n".join(["The person was erased from:", *titles]))
