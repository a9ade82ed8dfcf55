from typing import Any

from django.conf import settings
from django.db import models

from annotation.models import Rater
from jobs.clock import database_now
from studies.models import Criterion, Study
from studies.models.bounds import between
from tiebreak.digits import counted, percent
from tiebreak.identifiers import new_public_id

# How much of a board may be hidden.
MIN_PERCENT, MAX_PERCENT = 5, 90
MAX_SEED = 2**31 - 1


class ReportSnapshot(models.Model):
    """The newest report of a study or of a part of it, and the state of the ratings it was built from.

    `part` has the values of the filter that chooses the part, and `digest` is its name; both are
    empty for the whole study, whose row also has what its ratings can be filtered by (`choices`).
    `watermark` identifies that state. While a newer report is being built, `requested` identifies
    the state for which it was requested. `page_rows` is what pages show next to the report, as
    `metrics.results.rater_rows` has it. Both lack what they have of each annotator, which is in `per_rater`.

    `counted` are the numbers of its ratings, as `annotation.counts.CountedRatings` has them.
    Only the whole study has the rest: `plan` is the size of its plan, as
    `annotation.counts.PlanCounts` has it, and `completed` is how many responses were complete at
    which times. `settled_rows` is its number of ratings up to the key `settled_key` so that only
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


class Board(models.Model):
    """What was decided about a study's board of systems: its hidden part, and its public page.

    The part is null if nothing is hidden, and is never changed. The page is public while `published_at` is
    set and the study is closed.
    """

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="board")
    hidden_percent = models.PositiveSmallIntegerField(
        null=True, validators=between(MIN_PERCENT, MAX_PERCENT)
    )
    hidden_seed = models.PositiveIntegerField(default=0, validators=between(0, MAX_SEED))
    fixed_at = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"board of {self.study_id}"


class Licence(models.Model):
    """The recorded decision that a machine rater may stand in for an annotator, and how it ended.

    It changes nothing else in the study. `category` is empty for all items. `evidence` has the
    numbers on which it was granted, and `checked` what the newest test of drift compared: how many
    labels (`labels`), their `agreement`, when (`at`), and the `watermark` of the ratings.
    """

    class Annotators(models.TextChoices):
        EXPERTS = "experts", "experts"
        TRAINED = "trained", "trained annotators"
        CROWD = "crowd", "crowd workers"

    class Ending(models.TextChoices):
        REVOKED = "revoked", "revoked"
        DRIFT = "drift", "revoked by drift"
        # Of a licence whose date had passed when another was granted for the same.
        EXPIRED = "expired", "expired"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="licences")
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="licences")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="licences")
    category = models.CharField(max_length=200, blank=True)
    annotators = models.CharField(max_length=7, choices=Annotators.choices)
    valid_until = models.DateField()
    evidence = models.JSONField()
    granted_at = models.DateTimeField()
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    checked: Any = models.JSONField(default=dict)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    ending = models.CharField(max_length=7, choices=Ending.choices, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["criterion", "rater", "category"],
                condition=models.Q(ended_at=None),
                name="one_licence_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.rater}, {self.criterion}, {self.items}"

    @property
    def items(self) -> str:
        return items_of(self.category)

    @property
    def state(self) -> str:
        """Whether it is in force, in words."""
        if self.ended_at is not None:
            return self.get_ending_display()
        # Lists read the time with their rows.
        now = getattr(self, "read_at", None) or database_now()
        return "in force" if self.valid_until >= now.date() else "expired"

    @property
    def is_in_force(self) -> bool:
        return self.state == "in force"

    @property
    def proposed_follow_up(self) -> int:
        """How many instances the page proposes for a follow-up study."""
        return min(USUAL_FOLLOW_UP, int(self.evidence["instances"]))

    @property
    def drift(self) -> str:
        """What the newest test of drift compared, in a sentence."""
        labels = self.checked.get("labels")
        if not labels:
            return "No new label has been compared yet."
        return (
            f"{counted(labels, 'new label')} compared: agreement {percent(self.checked['agreement'])}, and"
            f" {percent(self.evidence['unweighted_agreement'])} when it was granted."
        )


def valid_licence() -> models.Q:
    """Return the condition that a licence has not ended and is still valid."""
    return models.Q(ended_at__isnull=True, valid_until__gte=database_now().date())


# So many new labels show a drop by 10 points in half of the cases, if agreement was about 0.75.
USUAL_FOLLOW_UP = 150


class FollowUp(models.Model):
    """A study that goes on comparing a licensed machine rater with annotators, on a few items."""

    licence = models.ForeignKey(Licence, on_delete=models.CASCADE, related_name="follow_ups")
    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="follows")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.study} of {self.licence}"


def items_of(category: str) -> str:
    """Return the items of a licence in words: one category, or all."""
    return f"category {category}" if category else "all items"
