from django.db import models
from django.db.models import Q

from annotation.models.hit import HIT
from jobs.clock import Moment
from studies.models import Study, StudyVersion, Unit
from tiebreak.identifiers import new_public_id, new_seed


class Rater(models.Model):
    """A human or machine rater. Exports contain the pseudonym, never the external id."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        MACHINE = "machine"

    kind = models.CharField(max_length=7, choices=Kind.choices, default=Kind.HUMAN)
    pseudonym = models.CharField(max_length=200, default=new_public_id)
    provider = models.CharField(max_length=100)
    external_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    # When the ids were removed: the row then says nothing about who it was.
    erased_at = models.DateTimeField(null=True)
    # For how many days this server had kept the ids then; None if the person asked to be erased.
    kept_days = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "external_id"], name="rater_once_per_provider"
            )
        ]

    def __str__(self) -> str:
        return self.pseudonym

    @property
    def is_erased(self) -> bool:
        """Whether the person was erased at their request, and did not only lose ids."""
        return self.erased_at is not None and self.kept_days is None


class Participation(models.Model):
    """One rater's part in one study, entered through one provider."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        FINISHED = "finished"
        NO_CONSENT = "no_consent"
        SCREENED_OUT = "screened_out"
        STOPPED = "stopped"
        # The annotator chose to stop. `finished` means that no work was left.
        LEFT = "left", "left early"
        RETURNED = "returned"
        REJECTED = "rejected"
        TIMED_OUT = "timed_out"
        RELEASED = "released"
        EXCLUDED = "excluded"
        # The person was erased, and the study's rule is that the ratings go too.
        ERASED = "erased"

    class PaidPer(models.TextChoices):
        HIT = "hit", "each completed task"
        # If the number of HITs is limited, one payment covers the whole visit.
        VISIT = "visit", "one visit"
        STUDY = "study", "all tasks together"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="participations")
    provider = models.CharField(max_length=100)
    submission_id = models.CharField(max_length=200)
    status = models.CharField(max_length=15, choices=Status.choices, default=Status.ACTIVE)
    # What it was before an exclusion, to which reinstating leads back.
    earlier_status = models.CharField(max_length=15, blank=True)
    consented_version = models.ForeignKey(
        StudyVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    consented_at = models.DateTimeField(null=True)
    # The time of the platform's confirmation, or of entry if no confirmation is needed.
    confirmed_at = models.DateTimeField(null=True)
    guidelines_read_at = models.DateTimeField(null=True)
    # When the annotator completed all steps before the first place.
    cleared_at = models.DateTimeField(null=True)
    # Whether the annotator failed a test and asked for another attempt.
    retries = models.BooleanField(default=False)
    warned_at = models.DateTimeField(null=True)
    # HMAC of the client's IP address for unverified participants; empty for all others.
    address = models.CharField(max_length=32, blank=True)
    # What one payment covers, which decides whether an annotator may leave early.
    paid_per = models.CharField(max_length=5, choices=PaidPer.choices, default=PaidPer.HIT)
    # Seed for the order of units within this annotator's HITs and for the draw of gold checks.
    order_seed = models.CharField(max_length=64, default=new_seed)
    simulated = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    finished_at = models.DateTimeField(null=True)
    # When the annotator chose to leave early; kept if the status changes later.
    left_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "rater", "submission_id"], name="participation_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["study", "address"], condition=~Q(address=""), name="from_one_address"
            )
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def agreed(self) -> Study | StudyVersion:
        """The terms of the pay: those that they agreed to, or the study's if they promised none."""
        version = self.consented_version
        return self.study if version is None or version.reward is None else version

    @property
    def most_tasks(self) -> int | None:
        """How many tasks the annotator may do, which is never more than they agreed to for their pay."""
        limits = (self.agreed.hits_per_annotator, self.study.hits_per_annotator)
        return min(filter(None, limits), default=None)

    @property
    def may_leave_early(self) -> bool:
        """Whether the annotator may stop at any time and be paid for the completed tasks."""
        if self.paid_per == self.PaidPer.VISIT:
            return self.agreed.hits_per_annotator is None
        return self.paid_per == self.PaidPer.HIT

    @property
    def may_stop(self) -> bool:
        """Whether pages offer to stop: at every unit alike, or it would show where a gold check is."""
        is_over = self.status != self.Status.ACTIVE or self.study.status == Study.Status.CLOSED
        return not is_over and self.may_leave_early


class Assignment(models.Model):
    """One rater's work on one HIT, created once and reopened if the rater returns to it.

    A machine has one assignment per run and presentation order, and takes no place. For a human,
    `order` is empty, and `run` is empty except in training and tests, where it is the stage and the
    number of the attempt.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        COMPLETED = "completed"
        ABANDONED = "abandoned"
        EXCLUDED = "excluded"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    hit = models.ForeignKey(HIT, on_delete=models.PROTECT, related_name="assignments")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="assignments")
    # An index below begins with it.
    participation = models.ForeignKey(
        Participation,
        null=True,
        on_delete=models.PROTECT,
        related_name="assignments",
        db_index=False,
    )
    study_version = models.ForeignKey(
        StudyVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    # What it was before an exclusion, to which reinstating leads back.
    earlier_status = models.CharField(max_length=10, blank=True)
    # The parity of the place for which the assignment was created, so the sides never change.
    parity = models.PositiveSmallIntegerField(default=0)
    position = models.PositiveIntegerField(default=1)
    # The gold check that was added to this HIT for this annotator only.
    check_unit = models.ForeignKey(Unit, null=True, on_delete=models.PROTECT, related_name="+")
    # The last position that was opened, noted in studies with gold checks only.
    opened = models.PositiveSmallIntegerField(default=0)
    run = models.CharField(max_length=100, blank=True)
    order = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hit", "rater", "run", "order"], name="assignment_once"
            ),
            models.UniqueConstraint(
                fields=["participation"],
                condition=Q(status="active", participation__isnull=False),
                name="one_active_assignment_per_participation",
            ),
        ]
        indexes = [
            # Answers how many tasks somebody has completed, and when the last one.
            models.Index(
                fields=["participation", "completed_at", "run"],
                condition=Q(participation__isnull=False),
                name="work_of_participation",
            )
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def stage(self) -> str:
        """`training` or `qualification` if this is an attempt at that stage, otherwise empty."""
        return self.run.partition(":")[0] if self.participation_id is not None else ""

    @property
    def try_number(self) -> int:
        return int(self.run.partition(":")[2])
