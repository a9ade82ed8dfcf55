from django.db import models

from studies.models.study import Study


class ReportChanges(models.Model):
    """How often something changed that a study's report is made of, other than by a new rating.

    A row of its own: on the study's row a bump would make annotators wait for one another.
    """

    study = models.OneToOneField(
        Study, primary_key=True, on_delete=models.CASCADE, related_name="report_changes"
    )
    n = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "report changes"

    def __str__(self) -> str:
        return f"{self.n} changes in {self.study_id}"
