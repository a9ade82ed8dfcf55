from django.db import models

from jobs.clock import Moment
from studies.models import Study
from studies.models.dataset import validate_name
from tiebreak.identifiers import new_public_id


class ExampleSet(models.Model):
    """A named list of a study's training items, which judges read as examples before each question.

    It never changes once it exists.
    """

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="example_sets")
    name = models.CharField(max_length=200, validators=[validate_name])
    # Keys of training items, in the order in which a judge reads them.
    items = models.JSONField()
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="example_set_name_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.name
