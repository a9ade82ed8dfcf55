from django.db import models

from annotation.models.rater import Rater
from machine_raters.models.machine_rater import MachineRater
from studies.models import Criterion
from studies.models.choices import OpenChoiceField


class Jury(MachineRater):
    """A machine rater whose label of an item combines other machine raters' labels."""

    class Rule(models.TextChoices):
        # The names are the library's names of its rules.
        VOTE = "vote", "one vote for each member"
        MEAN = "mean_probability", "the mean of probabilities"
        DAWID_SKENE = "dawid_skene", "votes weighted by consistency"
        # Not of the library: it needs annotators' ratings.
        COMPOSITE = "composite", "the member that agrees best with annotators on such items"

    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="+")
    members = models.ManyToManyField(Rater, related_name="+")
    rule = OpenChoiceField(
        choices=Rule.choices,
        default=Rule.VOTE,
        help_text="A member whose preference changes when the texts are swapped has no vote. In the mean"
        " of probabilities, or of the shares of its answers, it counts as half for each text.",
    )

    class Meta:
        verbose_name_plural = "juries"
