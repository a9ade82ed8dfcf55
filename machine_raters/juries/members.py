"""Who may be a member of a jury."""

from django.db.models import QuerySet

from annotation.models import Rater
from annotation.services.rating_writer import provider_of
from machine_raters.models import MachineRater
from studies.models import Study


def possible_members(study: Study) -> QuerySet[Rater]:
    """Return the study's machine raters that are no juries themselves, and are not excluded."""
    machines = Rater.objects.filter(provider=provider_of(study), kind=Rater.Kind.MACHINE)
    members = machines.exclude(machine_rater__kind=MachineRater.Kind.JURY)
    return members.exclude(machine_rater__excluded=True).order_by("pseudonym")
