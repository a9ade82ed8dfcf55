from django.db import models

from annotation.models.rater import Rater
from jobs.clock import Moment
from studies.models import Criterion, Study
from studies.models.choices import OpenChoiceField
from studies.models.dataset import validate_name
from tiebreak.identifiers import new_public_id


class Jury(models.Model):
    """A machine rater whose label of an item combines those of other machine raters.

    Like a judge, it never changes once it exists.
    """

    class Rule(models.TextChoices):
        # The names are those of the library's rules.
        VOTE = "vote", "one vote for each member"
        MEAN = "mean_probability", "the mean of probabilities"
        DAWID_SKENE = "dawid_skene", "votes weighted by consistency"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="juries")
    # The machine rater whose ratings are this jury's.
    rater = models.OneToOneField(
        Rater, on_delete=models.PROTECT, related_name="jury", editable=False
    )
    name = models.CharField(
        max_length=200,
        validators=[validate_name],
        help_text="Its name as a rater, in exports and results.",
    )
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="juries")
    members = models.ManyToManyField(Rater, related_name="+")
    rule = OpenChoiceField(
        choices=Rule.choices,
        default=Rule.VOTE,
        help_text="A member whose preference turns with the order of the texts has no vote. In the mean"
        " of probabilities, or of the shares of its answers, it counts half for either text.",
    )
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "juries"
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="jury_name_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name
