"""The settings of a study, grouped by when they may change.

A setting is declared here once. Study versions, bundles, imports, exports, clones and the table in
`docs/formats.md` take the names, types and limits from these classes.
"""

from decimal import Decimal
from typing import Any

from django.db import models

from studies.models.bounds import (
    MAX_BUDGET,
    MAX_COUNT,
    MAX_HOURLY_RATE,
    MAX_LEASE_MINUTES,
    MAX_MINUTES_PER_HIT,
    MAX_REWARD,
    between,
)
from studies.models.choices import OpenChoiceField
from studies.models.currencies import CurrencyField, validate_currency  # noqa: F401 (migrations)
from studies.models.shown_fields import validate_families, validate_fields
from studies.rendering.renderers import PLAIN, text_formats
from tiebreak.nonresponse import BROKEN, CANNOT_SAY
from tiebreak.stats import EloConstants
from tiebreak.stats.rankings.elo import ELO_LIMITS

MAX_PLAN = 10_000


class VersionedSettings(models.Model):
    """Settings that may change in an open study. A change creates a version for new assignments."""

    guidelines = models.TextField(
        blank=True, help_text="Text in Markdown that is shown before the first task."
    )
    consent = models.TextField(
        blank=True,
        help_text="Text in Markdown. Nothing is stored about annotators before they agree to it.",
    )
    source_label = models.CharField(
        "label of the source",
        max_length=40,
        blank=True,
        help_text="Such as “Article” or “Question”. Leave empty for “Source text” or “Conversation”.",
    )
    left_label = models.CharField(
        "label of the left text",
        max_length=40,
        blank=True,
        help_text="Such as “A”. Leave empty for “Left”, or “First” on a narrow screen. Never name a"
        " system here: which system is on the left changes.",
    )
    right_label = models.CharField(
        "label of the right text",
        max_length=40,
        blank=True,
        help_text="Leave empty for “Right”, or “Second” on a narrow screen.",
    )
    hits_per_annotator = models.PositiveIntegerField(
        "maximum tasks per annotator",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="Leave empty for no limit.",
    )
    reward = models.DecimalField(
        "reward per annotator",
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=between(Decimal(0), MAX_REWARD),
    )
    hits_per_day = models.PositiveIntegerField(
        "maximum tasks per annotator per day",
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
        help_text="The study's budget in completed tasks, counted over all annotators. Leave empty"
        " to collect R responses for every task.",
    )
    most_answers_per_day = models.PositiveIntegerField(
        "maximum responses per day",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="Leave empty for no limit. Days are in UTC.",
    )
    lease_minutes = models.FloatField(
        "minutes until an unfinished task is released",
        default=30,
        validators=between(0.1, MAX_LEASE_MINUTES),
        help_text="The time is counted from the annotator's last answer. When it is up, the task is"
        " offered to others.",
    )

    class Meta:
        abstract = True


class FrozenSettings(models.Model):
    """Settings that determine what a rating means, and the currency. They stay as they were when the study opened."""

    class Translation(models.TextChoices):
        REFUSED = "refused", "are shown as they were written"
        ALLOWED = "allowed", "may be translated by the browser"

    class Pairing(models.TextChoices):
        ALL = "all", "all pairs of systems"
        BASELINE = "baseline", "a baseline and each other system"
        RANDOM = "random", "drawn at random for each instance"
        NO_REPEAT = "no-repeat", "drawn, no pair again before all pairs have been"
        SYMMETRIC = "symmetric", "drawn like that, each order the same number of times (even R)"

    class SampleChoice(models.TextChoices):
        RANDOM = "random", "at random"
        BALANCED = "balanced", "so that neither system's texts are longer on average"

    class StoppingRule(models.TextChoices):
        COMPLETE = "complete", "at the planned number of responses"
        EXCLUDES = "excludes-half", "when the confidence sequence excludes ½"
        WIDTH = "width", "when the confidence sequence has the target width"

    class UnitKind(models.TextChoices):
        COMPARISON = "comparison", "comparison of two generations"
        GENERATION = "generation", "a single generation"

    class Bundling(models.TextChoices):
        INSTANCE = "instance", "one instance and one pair of systems per task"
        MIXED = "mixed", "several instances and pairs of systems per task"

    class Abandoned(models.TextChoices):
        WHOLE_HIT = "whole_hit", "offer the whole task again"
        UNITS = "units", "offer only the missing items"

    class Nonresponses(models.TextChoices):
        NONE = "none", "every item gets a label"
        CANNOT_SAY = CANNOT_SAY, "annotators may answer “I cannot say”"
        BROKEN = BROKEN, "annotators may report an item as broken or harmful"
        BOTH = "both", "annotators may answer “I cannot say” or report an item as broken or harmful"

    class Erasure(models.TextChoices):
        KEEP = "keep", "stay, without anything that says whose they are"
        DELETE = "delete", "are deleted, and the work is offered to others"

    class UnlabelledTasks(models.TextChoices):
        COMPLETE = "complete", "count as rated"
        REPLACED = "replaced", "are offered to another annotator"

    unit_kind = models.CharField(
        "what an item is", max_length=10, choices=UnitKind.choices, default=UnitKind.COMPARISON
    )
    comparisons_per_hit = models.PositiveSmallIntegerField(
        "comparisons per task (N)",
        default=5,
        validators=between(1, 100),
        help_text="How many comparisons an annotator rates in one task.",
    )
    further_share = models.FloatField(
        "share of tasks with further ratings",
        default=0.0,
        validators=between(0.0, 1.0),
        help_text="This share of tasks is drawn at random, the same share for each pair of systems, and gets"
        " ratings beyond R. With R = 1 and a share of 0.15, agreement is known at little cost.",
    )
    further_ratings = models.PositiveSmallIntegerField(
        "further ratings of these tasks",
        default=1,
        validators=between(1, 1000),
        help_text="How many ratings each of these tasks gets beyond R. Raising R raises all tasks alike.",
    )
    bundling = models.CharField(
        "bundling",
        max_length=10,
        choices=Bundling.choices,
        default=Bundling.INSTANCE,
        help_text="With several instances per task, each pair of systems is compared once per"
        " instance. A task then contains each pair the same number of times (±1), and no instance twice.",
    )
    repeats_per_hit = models.PositiveSmallIntegerField(
        "repeats per task",
        default=0,
        validators=between(0, 100),
        help_text="How many items are shown a second time with the sides swapped, to measure"
        " self-agreement. Repeats are used for no other statistic.",
    )
    repeat_distance = models.PositiveSmallIntegerField(
        "minimum distance of a repeat, in items",
        default=3,
        validators=between(1, 100),
    )
    abandoned = models.CharField(
        "abandoned tasks", max_length=10, choices=Abandoned.choices, default=Abandoned.WHOLE_HIT
    )
    nonresponses = OpenChoiceField(
        "answers without a label",
        choices=Nonresponses.choices,
        default=Nonresponses.NONE,
        db_default="none",
        help_text="Such answers complete an item, are paid like any other answer, and are not used in any"
        " statistic. The results show how many there are, who gave them, and for which items.",
    )
    unlabelled_tasks = OpenChoiceField(
        "tasks in which no item got a label",
        choices=UnlabelledTasks.choices,
        default=UnlabelledTasks.COMPLETE,
        db_default="complete",
        help_text="If a task is offered again, every annotator who completes it is paid.",
    )
    similarity = models.CharField(max_length=200, default="rouge1")
    pairing = OpenChoiceField(
        "pairs of systems to compare",
        choices=Pairing.choices,
        default=Pairing.ALL,
        help_text="With more than two systems, an instance need not be compared in every pair. In"
        " designs with a budget, every system is compared the same number of times (±1).",
    )
    baseline_system = models.CharField(
        "baseline",
        max_length=200,
        blank=True,
        help_text="Name of the system that all others are compared with. Leave empty for the first"
        " system. Used only with a baseline.",
    )
    pairs_per_instance = models.PositiveIntegerField(
        "pairs per instance",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="The budget of a design with drawn pairs. Leave empty for half as many pairs as"
        " there are systems.",
    )
    sample_choice = OpenChoiceField(
        "which samples are compared",
        choices=SampleChoice.choices,
        default=SampleChoice.RANDOM,
        help_text="If each system has several texts for an instance. Balanced lengths keep annotators"
        " from preferring a system because it writes more. The results are then about the chosen"
        " texts: they say less about a system whose usual texts are longer or shorter.",
    )
    main_criteria = models.CharField(
        "main criteria",
        max_length=2000,
        blank=True,
        help_text="Names of the criteria on which the study decides, separated by semicolons. The"
        " error level is split over these and the pairs of systems. Leave empty for all.",
    )
    estimands = models.TextField(
        "what is estimated",
        max_length=MAX_PLAN,
        blank=True,
        help_text="Which number answers your question, which instances and people it applies to, and"
        " what you will conclude from which value.",
    )
    planned_exclusions = models.TextField(
        "who will be excluded",
        max_length=MAX_PLAN,
        blank=True,
        help_text="The rule by which people or ratings will be left out, decided before any answer.",
    )
    stopping_rule = OpenChoiceField(
        "when collecting ends",
        choices=StoppingRule.choices,
        default=StoppingRule.COMPLETE,
        help_text="Any rule other than the planned number uses confidence sequences, which stay valid"
        " however often you look.",
    )
    target_width = models.FloatField(
        "target width of the interval",
        null=True,
        blank=True,
        validators=between(0.01, 0.99),
        help_text="Such as 0.1 for a win rate that is known to ±0.05. Used if collecting ends at a"
        " width, and shown on the Stopping page.",
    )
    known_order = models.CharField(
        "known order of the systems",
        max_length=2000,
        blank=True,
        help_text="Names of systems, best first, separated by semicolons, if their order is known from"
        " elsewhere, as where they were made to differ. Results say how far win rates or success rates agree with it.",
    )
    source_format = OpenChoiceField(
        "source texts are shown as",
        choices=text_formats,
        default=PLAIN,
    )
    generation_format = OpenChoiceField(
        "generations are shown as",
        choices=text_formats,
        default=PLAIN,
        help_text="Images and links are replaced with text, and nothing is loaded from other servers."
        " Exports and statistics use the original text.",
    )
    translation = models.CharField(
        "judged texts",
        max_length=20,
        choices=Translation.choices,
        default=Translation.REFUSED,
        help_text="Browsers are asked not to translate judged texts unless you allow it. Answers on a"
        " translated page are marked in any case.",
    )
    currency = CurrencyField(default="GBP")
    reference_format = OpenChoiceField(
        "reference texts are shown as",
        choices=text_formats,
        default=PLAIN,
        help_text="Annotators do not see reference texts.",
    )
    fields = models.TextField(
        "further texts of each instance",
        max_length=MAX_PLAN,
        blank=True,
        default="",
        db_default="",
        validators=[validate_fields],
        help_text="Such as a passage or background: one column of your table, or key of the metadata,"
        " in each line, as in “passage | Retrieved passage | raters and judges | before”. All but the"
        " name may be left out. They are shown to raters, judges or both, before or after the source.",
    )

    erasure = OpenChoiceField(
        "ratings of a person who is erased",
        choices=Erasure.choices,
        default=Erasure.KEEP,
        db_default="keep",
        help_text="Annotators may ask you to erase what is stored about them. Identity and everything they"
        " wrote are then deleted in any case. The page with the consent tells them what happens to their ratings.",
    )

    class Meta:
        abstract = True


def _elo_constant(name: str, title: str, help_text: str) -> "models.FloatField[float, float]":
    published = getattr(EloConstants(), name)
    return models.FloatField(
        title,
        default=published,
        db_default=published,
        validators=between(*ELO_LIMITS[name]),
        help_text=f"{help_text} Published with SEP-Elo: {published:g}.",
    )


class FreeSettings(models.Model):
    """Settings that may change at any time."""

    ratings_per_hit = models.PositiveSmallIntegerField(
        "ratings per task (R)",
        default=3,
        validators=between(1, 1000),
        help_text="Each task is completed by exactly this many annotators, apart from further ratings"
        " that are planned for a share. To get more answers later, raise R, which also works while the"
        " study runs; it cannot then be lowered.",
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
        help_text="How many annotators whose identity no platform confirms may have a task in"
        " progress.",
    )
    minutes_per_hit = models.FloatField(
        "estimated minutes per task",
        null=True,
        blank=True,
        validators=between(0.1, MAX_MINUTES_PER_HIT),
        help_text="The estimate is shown to annotators before they agree, and required by platforms.",
    )
    budget = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        validators=between(Decimal(0), MAX_BUDGET),
        help_text="What the study may cost at most, with fees. Nothing can then raise its maximum cost"
        " above this: opening it, more people or ratings, another channel or a higher reward. Leave"
        " empty for no budget.",
    )
    promised_hourly_rate = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=between(Decimal(0), MAX_HOURLY_RATE),
        help_text="The Participants & payments page warns if the median hourly pay falls below this"
        " rate.",
    )
    main_machine = models.CharField(
        "main machine rater",
        max_length=200,
        blank=True,
        help_text="The machine rater whose agreement with annotators is a leading number. Leave empty for"
        " the one with the most answers. Once the study has been opened, the log and the report say who chose it when.",
    )
    elo_step = _elo_constant(
        "step", "step size of Elo ratings (K)", "How far one comparison moves them."
    )
    elo_alpha = _elo_constant(
        "alpha",
        "α of SEP-Elo",
        "The step size is at most α times K, for the most separable instances.",
    )
    elo_beta = _elo_constant(
        "beta",
        "β of SEP-Elo",
        "How steeply the step size rises with separability δ; 0 is not at all.",
    )
    elo_threshold = _elo_constant(
        "threshold", "T of SEP-Elo", "The separability at which the step size is half of α times K."
    )
    families = models.TextField(
        "families of models",
        max_length=MAX_PLAN,
        blank=True,
        default="",
        db_default="",
        validators=[validate_families],
        help_text="A system or machine rater and its model family in each line, as in “gpt-4o | GPT”. A section"
        " of the results then says whether a judge prefers its own family more than people do.",
    )
    comments = models.BooleanField(
        "annotators can leave a comment",
        default=True,
        db_default=True,
        help_text="At every item and at the end of the study. The Comments page shows them.",
    )

    class Meta:
        abstract = True


def fields_of(*groups: type[models.Model]) -> "dict[str, models.Field[Any, Any]]":
    """Return the settings of these groups by name, in the order of their declaration."""
    return {field.name: field for group in groups for field in group._meta.local_fields}


SETTINGS = fields_of(VersionedSettings, FrozenSettings, FreeSettings)
