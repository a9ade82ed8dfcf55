from django.db import models

from studies.models import Study


class ReportSnapshot(models.Model):
    """The newest report of a study or of a part of it, and the state of the ratings it was built from.

    `part` has the values of the filter that chooses the part, and `digest` is its name; both are
    empty for the whole study, whose row also has what its ratings can be filtered by (`choices`).
    `watermark` identifies that state. While a newer report is being built, `requested` identifies
    the state for which it was requested. `page_rows` is what pages show beside the report, as
    `metrics.page_rows` has it. Both lack what they have of each annotator, which is in `per_rater`.

    Only the whole study has the rest: `counted` are the numbers of its ratings, as
    `annotation.counts.CountedRatings` has them, `plan` is the size of its plan, as
    `annotation.counts.PlanCounts` has it, and `completed` is how many responses were complete at
    which times. `settled_rows` is its number of ratings up to the key `settled_key`, so that only
    newer ratings have to be counted.
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


class SectionSnapshot(models.Model):
    """A section of a report that was computed on request, and the state of the ratings it is of.

    `content` has the section, or the reason why there is none, for each criterion. The other fields
    are those of a report.
    """

    report = models.ForeignKey(ReportSnapshot, on_delete=models.CASCADE, related_name="sections")
    name = models.CharField(max_length=60)
    watermark = models.CharField(max_length=200, blank=True)
    content = models.JSONField(null=True)
    made_at = models.DateTimeField(null=True)
    requested = models.CharField(max_length=200, blank=True)
    requested_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["report", "name"], name="section_once_per_report")
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.report}"
