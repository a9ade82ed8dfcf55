from decimal import Decimal

from django.db import models
from django.db.models import Q

from annotation.models.hit import HIT
from studies.models import Study, StudyVersion, Unit
from studies.models.bounds import MAX_REWARD, between
from tiebreak.identifiers import new_public_id, new_seed


class Rater(models.Model):
    """Who rates, human or machine. Exports show the pseudonym, never the external id."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        MACHINE = "machine"

    kind = models.CharField(max_length=7, choices=Kind.choices, default=Kind.HUMAN)
    pseudonym = models.CharField(max_length=200, default=new_public_id)
    provider = models.CharField(max_length=100)
    external_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "external_id"], name="rater_once_per_provider"
            )
        ]

    def __str__(self) -> str:
        return self.pseudonym


class Recruitment(models.Model):
    """A study's way in through one provider: its settings there, and its own id of the study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="recruitments")
    provider = models.SlugField(max_length=100)
    settings = models.JSONField(default=dict, blank=True)
    # Encrypted; see annotation.models.crowd.
    secret = models.TextField(blank=True, editable=False)
    webhook_secret = models.TextField(blank=True, editable=False)
    external_id = models.CharField(max_length=200, blank=True)
    external_status = models.CharField(max_length=50, blank=True, editable=False)
    synced_at = models.DateTimeField(null=True, editable=False)
    # What the platform is being asked now, and what went wrong the last time.
    pending = models.CharField(max_length=200, blank=True, editable=False)
    pending_key = models.CharField(max_length=22, blank=True, editable=False)
    pending_at = models.DateTimeField(null=True, editable=False)
    problem = models.TextField(blank=True, editable=False)
    sync_problem = models.TextField(blank=True, editable=False)
    # From then on nobody new enters; who agreed before goes on.
    closed_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "provider"], name="provider_once_per_study")
        ]

    def __str__(self) -> str:
        return f"{self.provider}, a way into {self.study}"

    @property
    def is_unpublished(self) -> bool:
        """Whether its study there, if it has one, is a draft as far as we know."""
        return self.external_status in {"", "UNPUBLISHED"}


class Participation(models.Model):
    """One rater's entry to one study through one provider."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        FINISHED = "finished"
        NO_CONSENT = "no_consent"
        SCREENED_OUT = "screened_out"
        STOPPED = "stopped"
        # By their own wish, between two HITs; who finished found no more work.
        LEFT = "left", "left early"
        RETURNED = "returned"
        REJECTED = "rejected"
        TIMED_OUT = "timed_out"
        RELEASED = "released"
        EXCLUDED = "excluded"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="participations")
    provider = models.CharField(max_length=100)
    submission_id = models.CharField(max_length=200)
    status = models.CharField(max_length=15, choices=Status.choices, default=Status.ACTIVE)
    consented_version = models.ForeignKey(
        StudyVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    consented_at = models.DateTimeField(null=True)
    # The platform says that this person is there, or none has to.
    confirmed_at = models.DateTimeField(null=True)
    asked_platform_at = models.DateTimeField(null=True)
    guidelines_read_at = models.DateTimeField(null=True)
    # Nothing stands between them and their first place any more.
    cleared_at = models.DateTimeField(null=True)
    # They failed a test and asked for the next try.
    retries = models.BooleanField(default=False)
    warned_at = models.DateTimeField(null=True)
    # A hash of the word in the cookie of the browser that agreed, where an id is bound to it; and
    # when another browser came with the same id, which the researcher allows.
    browser = models.CharField(max_length=32, blank=True)
    reentered_at = models.DateTimeField(null=True)
    # A keyed hash of where somebody came from whom no platform confirms; "" of all others.
    address = models.CharField(max_length=32, blank=True)
    recruitment = models.ForeignKey(
        Recruitment, null=True, on_delete=models.PROTECT, related_name="participations"
    )
    # What the platform needs to hear from the browser in the end, as it said on arrival.
    way_back = models.JSONField(default=dict)
    # What somebody who left early was told they are owed, whatever becomes of them or the study.
    owed = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, validators=between(Decimal(0), MAX_REWARD)
    )
    # A researcher looked at what does not add up, and let it be.
    settled_at = models.DateTimeField(null=True)
    # The platform's own words on it, and when they were true.
    platform_status = models.CharField(max_length=50, blank=True)
    platform_seen_at = models.DateTimeField(null=True)
    entered_code = models.CharField(max_length=100, blank=True)
    completion_code = models.CharField(max_length=22, default=new_public_id)
    # Seeds this annotator's own order of HITs and of units inside them.
    order_seed = models.CharField(max_length=64, default=new_seed)
    simulated = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "provider", "submission_id"], name="participation_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["study", "address"], condition=~Q(address=""), name="from_one_address"
            )
        ]

    def __str__(self) -> str:
        return self.public_id


class Assignment(models.Model):
    """One rater's work on one HIT: made once, reopened on return.

    A human's has run "" and order ""; a machine's takes no place and is one per run and order.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        COMPLETED = "completed"
        ABANDONED = "abandoned"
        WITHDRAWN = "withdrawn"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    hit = models.ForeignKey(HIT, on_delete=models.PROTECT, related_name="assignments")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="assignments")
    participation = models.ForeignKey(
        Participation, null=True, on_delete=models.PROTECT, related_name="assignments"
    )
    study_version = models.ForeignKey(
        StudyVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    # The parity of the place it was made for: sides stay as they were shown.
    parity = models.PositiveSmallIntegerField(default=0)
    position = models.PositiveIntegerField(default=1)
    # A unit with a known answer that this HIT carries for this annotator alone.
    check_unit = models.ForeignKey(Unit, null=True, on_delete=models.PROTECT, related_name="+")
    run = models.CharField(max_length=100, blank=True)
    order = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
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

    def __str__(self) -> str:
        return self.public_id

    @property
    def stage(self) -> str:
        """`training` or `qualification` where this is one try at it, else empty."""
        return self.run.partition(":")[0] if self.participation_id is not None else ""

    @property
    def try_number(self) -> int:
        return int(self.run.partition(":")[2])
