from django.db import models

from annotation.models.rater import Rater
from jobs.clock import Moment
from studies.models import Study
from studies.models.choices import OpenChoiceField
from studies.models.dataset import validate_name
from tiebreak.identifiers import new_public_id

MAX_REASON = 200
MAX_SEED = 2**31 - 1


class MachineRater(models.Model):
    """What machines contribute to a study: a judge, a jury, a baseline or a synthetic set.

    A synthetic set rates nothing, so it has no rater. It is here because the same things are done
    with it: it is created, started, excluded, reinstated and deleted. None of them changes its
    settings once it exists, so all its answers are made in the same way.
    """

    class Kind(models.TextChoices):
        JUDGE = "judge", "judge"
        BASELINE = "baseline", "simple rater"
        JURY = "jury", "jury"
        SYNTHETIC_SET = "synthetic-set", "synthetic set"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="machine_raters")
    kind = OpenChoiceField(choices=Kind.choices)
    # The rater whose ratings are this machine's; null if it rates nothing.
    rater = models.OneToOneField(
        Rater, on_delete=models.PROTECT, null=True, related_name="machine_rater", editable=False
    )
    name = models.CharField(
        max_length=200,
        validators=[validate_name],
        help_text="Its name in exports and results.",
    )
    excluded = models.BooleanField(default=False, editable=False)
    # As long as in a rating, which repeats it.
    excluded_reason = models.CharField(max_length=MAX_REASON, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="machine_rater_name_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.name
