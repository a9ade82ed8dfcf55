import re
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from studies.models.bounds import (
    MAX_COUNT,
    MAX_HOURLY_RATE,
    MAX_LEASE_MINUTES,
    MAX_MINUTES_PER_HIT,
    MAX_POSITION,
    MAX_REWARD,
    between,
)
from studies.models.dataset import Dataset, System, validate_name
from tiebreak.errors import InvalidInput
from tiebreak.identifiers import new_public_id, new_seed
from tiebreak.scales import Scale

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def validate_scale(spec: str) -> None:
    try:
        Scale.parse(spec)
    except InvalidInput as error:
        raise ValidationError(error.message, code=error.code) from error


def validate_currency(code: str) -> None:
    if not re.fullmatch("[A-Z]{3}", code):
        sentence = "A currency is three capital letters, such as GBP or USD."
        raise ValidationError(sentence, code="not_a_currency")


class Study(models.Model):
    """A study: its design, its settings and its status (draft, open, paused or closed)."""

    class Status(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        PAUSED = "paused"
        CLOSED = "closed"

    class Abandoned(models.TextChoices):
        WHOLE_HIT = "whole_hit", "offer the whole HIT again"
        UNITS = "units", "offer only the missing units"

    class Bundling(models.TextChoices):
        INSTANCE = "instance", "one instance and one pair of systems per HIT"
        MIXED = "mixed", "several instances and pairs of systems per HIT"

    class UnitKind(models.TextChoices):
        COMPARISON = "comparison", "comparison of two generations"
        GENERATION = "generation", "a single generation"

    public_id = models.CharField(
        primary_key=True, max_length=22, default=new_public_id, editable=False
    )
    title = models.CharField(max_length=200, validators=[validate_name])
    status = models.CharField(
        max_length=10, choices=Status.choices, default=Status.DRAFT, editable=False
    )
    dataset = models.ForeignKey(
        Dataset, null=True, blank=True, on_delete=models.PROTECT, related_name="studies"
    )
    systems = models.ManyToManyField(System, through="StudySystem", related_name="studies")
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Membership", related_name="studies"
    )
    guidelines = models.TextField(
        blank=True, help_text="Text in Markdown that is shown before the first HIT."
    )
    consent = models.TextField(
        blank=True,
        help_text="Text in Markdown. Nothing is stored about annotators before they agree to it.",
    )
    unit_kind = models.CharField(
        max_length=10, choices=UnitKind.choices, default=UnitKind.COMPARISON
    )
    ratings_per_hit = models.PositiveSmallIntegerField(
        "ratings per HIT (R)",
        default=3,
        validators=between(1, 1000),
        help_text="How many annotators complete each HIT. The number can be increased later, but not"
        " decreased.",
    )
    comparisons_per_hit = models.PositiveSmallIntegerField(
        "comparisons per HIT (N)",
        default=5,
        validators=between(1, 100),
        help_text="How many comparisons an annotator rates in one task.",
    )
    bundling = models.CharField(
        "bundling",
        max_length=10,
        choices=Bundling.choices,
        default=Bundling.INSTANCE,
        help_text="With several instances per HIT, each pair of systems is compared once per"
        " instance. A HIT then contains each pair equally often (±1) and no instance twice.",
    )
    repeats_per_hit = models.PositiveSmallIntegerField(
        "repeats per HIT",
        default=0,
        validators=between(0, 100),
        help_text="How many units are shown a second time with the sides swapped, to measure"
        " self-agreement. Repeats are used for no other statistic.",
    )
    repeat_distance = models.PositiveSmallIntegerField(
        "minimum distance of a repeat, in units",
        default=3,
        validators=between(1, 100),
    )
    abandoned = models.CharField(
        "abandoned HITs", max_length=10, choices=Abandoned.choices, default=Abandoned.WHOLE_HIT
    )
    hits_per_annotator = models.PositiveIntegerField(
        "maximum HITs per annotator",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="Leave empty for no limit.",
    )
    hits_per_day = models.PositiveIntegerField(
        "maximum HITs per annotator per day",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="Leave empty for no limit. Days are in UTC.",
    )
    most_answers = models.PositiveIntegerField(
        "maximum responses in total",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="The study's budget in completed HITs, counted over all annotators. Leave empty"
        " to collect R responses for every HIT.",
    )
    most_answers_per_day = models.PositiveIntegerField(
        "maximum responses per day",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="Leave empty for no limit. Days are in UTC.",
    )
    annotators_per_address = models.PositiveIntegerField(
        "maximum annotators per internet address",
        null=True,
        blank=True,
        default=20,
        validators=between(1, MAX_COUNT),
        help_text="Only annotators whose identity no platform confirms are counted, each of them"
        " once. Leave empty for no limit, for example in a classroom.",
    )
    entries_per_address_per_hour = models.PositiveIntegerField(
        "maximum new annotators per internet address per hour",
        null=True,
        blank=True,
        default=20,
        validators=between(1, MAX_COUNT),
        help_text="Leave empty for no limit.",
    )
    unconfirmed_leases = models.PositiveIntegerField(
        "maximum unverified annotators at the same time",
        default=1000,
        validators=between(1, MAX_COUNT),
        help_text="How many annotators whose identity no platform confirms may have a HIT in"
        " progress.",
    )
    lease_minutes = models.FloatField(
        "minutes until an unfinished HIT is released",
        default=30,
        validators=between(0.1, MAX_LEASE_MINUTES),
        help_text="The time is counted from the annotator's last answer. When it is over, the HIT"
        " is offered to others.",
    )
    similarity = models.CharField(max_length=200, default="rouge1")
    minutes_per_hit = models.FloatField(
        "estimated minutes per HIT",
        null=True,
        blank=True,
        validators=between(0.1, MAX_MINUTES_PER_HIT),
        help_text="The estimate is shown to annotators and required by platforms.",
    )
    reward = models.DecimalField(
        "reward per annotator",
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=between(Decimal(0), MAX_REWARD),
    )
    currency = models.CharField(max_length=3, default="GBP", validators=[validate_currency])
    promised_hourly_rate = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=between(Decimal(0), MAX_HOURLY_RATE),
        help_text="The ledger warns if the median hourly pay falls below this rate.",
    )
    # The original study, if this is a copy that only bots rate, so that the original has no
    # simulated ratings.
    dry_run_of = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="dry_runs", editable=False
    )
    # The seed is secret, because it determines which system is shown on which side.
    seed = models.CharField(max_length=64, default=new_seed, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    def ordered_systems(self) -> list[System]:
        """Return the systems in canonical order; the first is system A."""
        return [row.system for row in self.study_systems.select_related("system")]

    def system_pairs(self) -> list[tuple[System, System]]:
        """Return all pairs of systems in canonical order."""
        return list(combinations(self.ordered_systems(), 2))


class StudySystem(models.Model):
    """A system's position in the study's canonical order. Position 0 is system A."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="study_systems")
    system = models.ForeignKey(System, on_delete=models.PROTECT)
    position = models.PositiveSmallIntegerField(validators=between(0, MAX_POSITION))

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "system"], name="system_once_per_study"),
            models.UniqueConstraint(fields=["study", "position"], name="position_once_per_study"),
        ]

    def __str__(self) -> str:
        return self.system.name


class StudyVersion(models.Model):
    """The texts and limits that applied to annotators from one moment on. Immutable."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    guidelines = models.TextField(blank=True)
    consent = models.TextField(blank=True)
    hits_per_annotator = models.PositiveIntegerField(null=True)
    hits_per_day = models.PositiveIntegerField(null=True)
    most_answers = models.PositiveIntegerField(null=True)
    most_answers_per_day = models.PositiveIntegerField(null=True)
    lease_minutes = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="version_once_per_study")
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


class Criterion(models.Model):
    """A question asked about each unit, with its rating scale."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="criteria")
    name = models.CharField(max_length=200, validators=[validate_name])
    question = models.CharField(max_length=500)
    scale = models.CharField(
        max_length=500,
        default="preference:tie",
        validators=[validate_scale],
        help_text="For example preference, preference:tie, preference:5, ordinal:1..5 or"
        " nominal:a,b.",
    )
    position = models.PositiveSmallIntegerField(default=0, validators=between(0, MAX_POSITION))

    class Meta:
        verbose_name_plural = "criteria"
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="criterion_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def parsed_scale(self) -> Scale:
        return _parsed(self.scale)


@lru_cache(maxsize=256)
def _parsed(spec: str) -> Scale:
    # Cached, because every page with a unit and every answer needs the scale several times.
    return Scale.parse(spec)


class Membership(models.Model):
    """A researcher's access to a study, which is invisible to researchers without access."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user: "models.ForeignKey[User, User]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="member_once_per_study")
        ]

    def __str__(self) -> str:
        return self.user.get_username()
