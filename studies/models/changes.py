from django.db import models

from studies.models.study import Study


class ReportChanges(models.Model):
    """The number of changes, other than new ratings, that make a stored report out of date.

    The counter has its own row, because updates of the study's row would block annotators.
    """

    study = models.OneToOneField(
        Study, primary_key=True, on_delete=models.CASCADE, related_name="report_changes"
    )
    n = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "report changes"

    def __str__(self) -> str:
        return f"{self.n} changes in {self.study_id}"
