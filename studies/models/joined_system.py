from django.db import models

from jobs.clock import Moment
from studies.models.dataset import System
from studies.models.study import Study


class JoinedSystem(models.Model):
    """A system that joined a study after it was opened, and that only machine raters judge.

    They do so in a study of its own, which has its pairs with the other systems and no places, so that
    nothing that people answer, and nothing that is counted of them, can change.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="joins")
    joined = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="joined_systems")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["joined", "system"], name="system_joins_a_study_once")
        ]

    def __str__(self) -> str:
        return f"{self.system} in {self.joined}"
