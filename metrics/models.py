from django.db import models

from studies.models import Study


class ReportSnapshot(models.Model):
    """The newest report of a study or of a part of it, and the state of the ratings it was built from.

    `part` has the values of the filter that chooses the part, and `digest` is its name; both are
    empty for the whole study, whose row also has what its ratings can be filtered by (`choices`).
    `watermark` identifies that state. While a newer report is being built, `requested` identifies
    the state for which it was requested. `counted` are the numbers of the whole study's ratings in that state, as
    `annotation.counts.CountedRatings` has them, and `page_rows` what pages show beside the report,
    as `metrics.page_rows` has it. Both lack what they have of each annotator, which is in `per_rater`.
    `plan` is the size of the plan, as `annotation.counts.PlanCounts`
    has it, and `completed` how many responses were complete at which times. `settled_rows` is the
    study's number of ratings up to the key `settled_key`, so that only newer ratings have to be
    counted.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="report_snapshots")
    part = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True)
    choices = models.JSONField(default=dict)
    watermark = models.CharField(max_length=200, blank=True)
    report = models.JSONField(null=True)
    counted = models.JSONField(null=True)
    page_rows = models.JSONField(default=dict)
    per_rater = models.JSONField(default=dict)
    plan = models.JSONField(null=True)
    completed = models.JSONField(default=list)
    made_at = models.DateTimeField(null=True)
    requested = models.CharField(max_length=200, blank=True)
    requested_at = models.DateTimeField(null=True)
    settled_key = models.PositiveBigIntegerField(default=0)
    settled_rows = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "digest"], name="one_report_per_part")
        ]

    def __str__(self) -> str:
        return f"report of {self.study_id}"
