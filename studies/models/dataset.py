from collections.abc import Callable
from functools import partial
from textwrap import shorten

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from jobs.clock import Moment
from studies.models.bounds import MAX_BIG_SEED, MAX_POSITION, MIN_BIG_SEED, between
from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_name
from tiebreak.identifiers import new_public_id

MAX_TEMPERATURE, MAX_TOKENS, MAX_STOPS, MAX_STOP_LENGTH = 2, 1_000_000, 16, 200
MAX_SAMPLES, MAX_SEED = 50, 2**31 - 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_temperature(value: object) -> bool:
    return _is_number(value) and 0 <= value <= MAX_TEMPERATURE  # type: ignore[operator]


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 < value <= 1  # type: ignore[operator]


def _is_whole(low: int, high: int, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_list_of_stops(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MAX_STOPS
        and all(isinstance(stop, str) and 0 < len(stop) <= MAX_STOP_LENGTH for stop in value)
    )


# For each decoding setting, its validator and a description of valid values.
DECODING: dict[str, tuple[Callable[[object], bool], str]] = {
    "temperature": (_is_temperature, f"a number from 0 to {MAX_TEMPERATURE}"),
    "top_p": (_is_share, "a number above 0 and up to 1"),
    "max_tokens": (
        partial(_is_whole, 1, MAX_TOKENS),
        f"a whole number from 1 to {MAX_TOKENS:,}",
    ),
    "stop": (_is_list_of_stops, f"a list of at most {MAX_STOPS} texts, none of them empty"),
    # In place of those of the job.
    "seed": (partial(_is_whole, 0, MAX_SEED), f"a whole number from 0 to {MAX_SEED:,}"),
    "samples": (partial(_is_whole, 1, MAX_SAMPLES), f"a whole number from 1 to {MAX_SAMPLES}"),
}


def validate_name(name: str) -> None:
    """Apply the rule for names in files so that the name can be exported and imported again."""
    try:
        check_name("The name", name)
    except InvalidInput as error:
        raise ValidationError(f"{error}.", code=error.code) from error


def validate_decoding(value: object) -> None:
    if not isinstance(value, dict) or value.keys() - DECODING.keys():
        allowed = ", ".join(sorted(DECODING))
        sentence = f"Decoding must be a JSON object with no settings other than {allowed}."
        raise ValidationError(sentence, code="unknown_setting")
    invalid = [name for name, setting in value.items() if not DECODING[name][0](setting)]
    if invalid:
        raise ValidationError(
            [
                ValidationError(f"{name} must be {DECODING[name][1]}.", code=f"bad_{name}")
                for name in invalid
            ]
        )


class Dataset(models.Model):
    """An imported, content-hashed set of instances with their generations."""

    public_id = models.CharField(
        primary_key=True, max_length=22, default=new_public_id, editable=False
    )
    name = models.CharField(max_length=200, validators=[validate_name])
    notes = models.TextField(blank=True)
    sha256 = models.CharField(max_length=64, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, editable=False
    )
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name


class SystemQuerySet(models.QuerySet["System"]):
    def competing(self) -> "SystemQuerySet":
        """Return the systems that studies compare, without copies and variants."""
        return self.for_studies().filter(perturbed_from=None)

    def for_studies(self) -> "SystemQuerySet":
        """Return the systems that may be in a study: those that compete, and perturbed copies."""
        return self.filter(is_control=False, variant_of=None)


class System(models.Model):
    """A language model with its prompt and decoding settings."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=200, validators=[validate_name])
    language_model = models.CharField(
        max_length=200, blank=True, help_text="The model's name on the model server."
    )
    prompt_template = models.TextField(
        blank=True,
        help_text="{source}, {reference} and {category} are replaced with the instance's values.",
    )
    decoding = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_decoding],
        help_text='For example {"temperature": 0.5, "top_p": 1.0, "max_tokens": 512}.',
    )
    server = models.CharField(
        max_length=50,
        blank=True,
        help_text="The name of the model server in this installation. Leave empty to use the"
        " server that is chosen when sampling starts.",
    )
    # The system of degraded copies in reference units; no study compares it.
    is_control = models.BooleanField(default=False, editable=False)
    # The system of which this one is a copy at another temperature. Copies show whether separability
    # (δ) depends on the temperature, and no study compares them.
    variant_of = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="variants", editable=False
    )
    # The system of which this one has perturbed copies, and how they were perturbed. They show whether
    # raters notice known damage, and are in a study only if a researcher added them.
    perturbed_from = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="perturbed", editable=False
    )
    perturbation = models.CharField(max_length=60, blank=True, editable=False)

    objects = SystemQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "name"], name="system_name_once_per_dataset")
        ]

    def __str__(self) -> str:
        return self.name


class RefusedCopy(models.Model):
    """An answer of a language model that is no perturbed copy, with the reason, kept to be looked at.

    The same text is not asked about again with the same seed.
    """

    # The system that the copy would have belonged to.
    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="refused_copies")
    original = models.ForeignKey(
        "studies.Generation", on_delete=models.CASCADE, related_name="refused_copies"
    )
    code = models.CharField(max_length=40)
    raw = models.TextField(blank=True)
    language_model = models.CharField(max_length=200)
    prompt_sha256 = models.CharField(max_length=64)
    seed = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "original", "seed"], name="refused_copy_once_per_seed"
            )
        ]

    def __str__(self) -> str:
        return f"{self.code}: no copy of {self.original_id}"


class Instance(models.Model):
    """One input on which systems are compared. The source text is optional."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="instances")
    key = models.CharField(max_length=200, validators=[validate_name])
    source = models.TextField(blank=True)
    messages = models.JSONField(default=list, blank=True)
    category = models.CharField(max_length=200, blank=True)
    reference = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="instance_key_once_per_dataset")
        ]

    def __str__(self) -> str:
        return self.key


class Generation(models.Model):
    """One output of one system for one instance: sample `sample_index` of K."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="generations")
    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="generations")
    sample_index = models.PositiveSmallIntegerField(validators=between(0, MAX_POSITION))
    text = models.TextField()
    seed = models.BigIntegerField(
        null=True, blank=True, validators=between(MIN_BIG_SEED, MAX_BIG_SEED)
    )
    params = models.JSONField(default=dict, blank=True)
    # Whether the text was invented to try out the platform. Such texts are never rated by people.
    is_dummy = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ["instance", "system", "sample_index"]
        indexes = [
            models.Index(fields=["instance"], condition=models.Q(is_dummy=True), name="dummy_texts")
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "system", "sample_index"], name="generation_once"
            )
        ]

    def __str__(self) -> str:
        return f"sample {self.sample_index}: {shorten(self.text, 60, placeholder='…')}"
