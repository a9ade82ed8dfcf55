from django.db import models

from studies.models import Study


class ReportSnapshot(models.Model):
    """The newest report of a study, and the state of its ratings that it was made from.

    `watermark` names that state; `requested` is the state that a newer report was asked for, until
    one is made. `settled_rows` is how many ratings the study has up to the key `settled_key`, so
    that only newer ones are counted to know the state.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="report_snapshot")
    watermark = models.CharField(max_length=200, blank=True)
    report = models.JSONField(null=True)
    made_at = models.DateTimeField(null=True)
    requested = models.CharField(max_length=200, blank=True)
    requested_at = models.DateTimeField(null=True)
    settled_key = models.PositiveBigIntegerField(default=0)
    settled_rows = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"report of {self.study_id}"
