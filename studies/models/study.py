from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from jobs.clock import Moment
from studies.models.bounds import MAX_POSITION, MAX_REASON, between
from studies.models.choices import OpenChoiceField
from studies.models.dataset import Dataset, System, validate_name
from studies.models.settings import FreeSettings, FrozenSettings, VersionedSettings
from tiebreak.errors import InvalidInput
from tiebreak.identifiers import new_public_id, new_seed
from tiebreak.nonresponse import NONRESPONSES
from tiebreak.scales import Scale
from tiebreak.stats.design.design_grid import further_tasks

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def validate_scale(spec: str) -> None:
    try:
        Scale.parse(spec)
    except InvalidInput as error:
        raise ValidationError(error.message, code=error.code) from error


def ratings_in_words(ratings: int, further_share: float, further_ratings: int = 1) -> str:
    """Return R in words, such as "1 (2 for 15% of the tasks)"."""
    if not further_share:
        return str(ratings)
    return f"{ratings} ({ratings + further_ratings} for {100 * further_share:g}% of the tasks)"


class Study(VersionedSettings, FrozenSettings, FreeSettings):
    """A study: its design, its settings and its status (draft, open, paused or closed)."""

    class Status(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        PAUSED = "paused"
        CLOSED = "closed"

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
    # The original study, if this is a copy that only bots rate so that the original has no
    # simulated ratings.
    dry_run_of = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="dry_runs", editable=False
    )
    # The survey whose votes weigh the criteria of discernment scores.
    weights_from = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="weighs", editable=False
    )
    # The study of single texts whose scores are shown with pairwise comparisons.
    scores_from = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="scores", editable=False
    )
    # The scoring study from which this survey of experts was made.
    survey_for = models.OneToOneField(
        "self", null=True, on_delete=models.SET_NULL, related_name="expert_survey", editable=False
    )
    # The seed is secret, because it determines which system is shown on which side.
    seed = models.CharField(max_length=64, default=new_seed, editable=False)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    opened_at = models.DateTimeField(null=True, blank=True, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def is_imported(self) -> bool:
        """Whether the ratings came from a file, so annotators were never served here."""
        return self.opened_at is not None and self.opened_at == self.closed_at

    @property
    def allowed_nonresponses(self) -> tuple[str, ...]:
        """The answers that annotators may give in place of a label."""
        allowed = self.nonresponses
        return tuple(n for n in NONRESPONSES if allowed in (n, self.Nonresponses.BOTH))

    @property
    def most_ratings(self) -> int:
        """The number of ratings of the HITs that get the most of them."""
        return self.ratings_per_hit + (self.further_ratings if self.further_share else 0)

    @property
    def mean_ratings(self) -> float:
        return self.ratings_per_hit + self.further_share * self.further_ratings

    @property
    def planned_ratings(self) -> str:
        """R in words."""
        return ratings_in_words(self.ratings_per_hit, self.further_share, self.further_ratings)

    @property
    def shares_instance(self) -> bool:
        """Whether all comparisons of a HIT, of which there are several, are about one instance."""
        return self.bundling == self.Bundling.INSTANCE and self.comparisons_per_hit > 1

    @property
    def shows_orders_alike(self) -> bool:
        """Whether each HIT is shown as often in either order, if the design asks for that."""
        further = self.further_ratings if self.further_share else 0
        is_even = self.ratings_per_hit % 2 == further % 2 == 0
        return is_even or self.pairing != self.Pairing.SYMMETRIC

    def further_hits(self, hits: int) -> int:
        """Return how many of a number of HITs get additional ratings: at least the share of them."""
        return further_tasks(self.further_share, hits)

    def places_of(self, hits: int) -> int:
        """Return the number of places that a number of HITs have in all."""
        return hits * self.ratings_per_hit + self.further_hits(hits) * self.further_ratings

    def hits_each(self, hits: int) -> int:
        """Return how many of a number of HITs one annotator may complete."""
        return min(self.hits_per_annotator or hits, hits)

    def ordered_systems(self) -> list[System]:
        """Return the systems in canonical order; the first is system A."""
        return [row.system for row in self.study_systems.select_related("system")]

    def system_pairs(self) -> list[tuple[System, System]]:
        """Return the pairs of systems that the design may compare, in canonical order."""
        systems = self.ordered_systems()
        pairs = list(combinations(systems, 2))
        if self.pairing != self.Pairing.BASELINE:
            return pairs
        baseline = self.baseline_system or (systems[0].name if systems else "")
        return [pair for pair in pairs if baseline in {system.name for system in pair}]


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


class StudyVersion(VersionedSettings):
    """The texts, limits and reward that applied to annotators from one moment on. Immutable."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="version_once_per_study")
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


class Criterion(models.Model):
    """A question asked about each unit, with its rating scale."""

    class Reason(models.TextChoices):
        NONE = "none", "not asked for"
        OPTIONAL = "optional", "optional"
        REQUIRED = "required", "required"

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
    reason = OpenChoiceField(
        "reason",
        choices=Reason.choices,
        default=Reason.NONE,
        db_default="none",
        help_text="Whether annotators say in their own words why they chose their answer.",
    )
    reason_length = models.PositiveSmallIntegerField(
        "minimum length of a required reason, in characters",
        default=20,
        db_default=20,
        validators=between(1, MAX_REASON),
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
    """A researcher's access to a study, which is invisible to researchers without access.

    `studies.access` decides what each role may do.
    """

    class Role(models.TextChoices):
        OWNER = "owner", "owner: everything, including paying, members and deleting"
        EDITOR = "editor", "editor: changes and runs the study"
        ANALYST = "analyst", "analyst: sees and downloads everything, changes nothing"
        VIEWER = "viewer", "viewer: sees progress and results, no participants"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user: "models.ForeignKey[User, User]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.OWNER)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="member_once_per_study")
        ]

    def __str__(self) -> str:
        return self.user.get_username()
