"""What requests and responses about jobs contain."""

from typing import Any

from rest_framework import serializers

from annotation.exports.study_export import FORMATS
from jobs.models import Job
from jobs.rows import JobRow
from recruitment.forms import MAX_RATERS
from recruitment.services.dry_runs import DryRunOptions
from studies.data.model_copies import COPY_TOKENS, MAX_PROMPT, TEMPERATURE
from studies.models.bounds import MAX_BIG_SEED
from studies.models.dataset import MAX_SEED, MAX_TEMPERATURE, MAX_TOKENS
from studies.systems.forms import FIELD_NAME
from tiebreak.asking.samples import DEFAULT_PROMPT
from tiebreak.formats.cells import MAX_FIELD_NAME
from tiebreak.formats.preferences import TIES
from tiebreak.perturbations import MODEL_PERTURBATIONS
from tiebreak.similarity import SIMILARITIES


class JobSerializer(serializers.Serializer[JobRow]):
    id = serializers.CharField(source="job.public_id")
    kind = serializers.CharField(source="job.kind")
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="What the job does, in words."
    )
    summary = serializers.CharField(help_text="The options that distinguish it, in words.")
    status = serializers.ChoiceField(Job.Status.choices, source="job.status")
    done = serializers.IntegerField(source="job.done")
    total = serializers.IntegerField(source="job.total")
    failed = serializers.IntegerField(source="job.failed")
    problem = serializers.CharField(source="job.problem")
    result = serializers.JSONField(source="job.result")
    seconds_left = serializers.FloatField(source="pace.seconds_left", allow_null=True)
    stuck = serializers.CharField(
        source="stuck.code",
        allow_null=True,
        default=None,
        help_text="Why the job makes no progress, as a code; null if it does.",
    )
    created_at = serializers.DateTimeField(source="job.created_at")
    started_at = serializers.DateTimeField(source="job.started_at", allow_null=True)
    finished_at = serializers.DateTimeField(source="job.finished_at", allow_null=True)


class SamplingOptions(serializers.Serializer[Any]):
    server = serializers.CharField(
        max_length=100, help_text="The name of a model server, or `fake` for dummy texts."
    )
    samples = serializers.IntegerField(min_value=2, max_value=50, default=5)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    prompt = serializers.CharField(
        default="", allow_blank=True, max_length=100_000, help_text="With {source} in it."
    )
    temperatures = serializers.ListField(child=serializers.FloatField(), default=list, max_length=8)
    instances = serializers.IntegerField(
        min_value=3, max_value=200, default=50, help_text="Instances at other temperatures."
    )


class TrialOptions(SamplingOptions):
    system = serializers.CharField(max_length=200, help_text="The name of the system to try.")


class TrialForecast(serializers.Serializer[Any]):
    """What all texts of a system would take at the pace of its trial."""

    job = serializers.CharField(source="job.public_id")
    system = serializers.CharField()
    texts = serializers.IntegerField(source="total", help_text="How many texts all would be.")
    minutes = serializers.FloatField(source="whole.minutes", help_text="One after the other.")
    prompt_tokens = serializers.IntegerField(source="whole.prompt_tokens", allow_null=True)
    tokens = serializers.IntegerField(source="whole.tokens", allow_null=True)
    amount = serializers.CharField(
        source="whole.amount",
        allow_null=True,
        help_text="In the study's currency, at the prices of a judge of the same model; null if unknown.",
    )
    unknown_because = serializers.CharField(source="whole.unknown_because")


class ModelCopiesOptions(serializers.Serializer[Any]):
    names = serializers.ListField(
        child=serializers.CharField(max_length=100),
        min_length=1,
        max_length=len(MODEL_PERTURBATIONS),
        help_text=f"What the model changes: {', '.join(MODEL_PERTURBATIONS)}.",
    )
    server = serializers.CharField(max_length=50, help_text="The name of a model server.")
    language_model = serializers.CharField(max_length=200, default="", allow_blank=True)
    prompts = serializers.DictField(
        child=serializers.CharField(max_length=MAX_PROMPT),
        default=dict,
        help_text="What the model is told, by the name of the change; by default as published."
        " Each copy has it in its `params`.",
    )
    temperature = serializers.FloatField(
        min_value=0, max_value=MAX_TEMPERATURE, default=TEMPERATURE
    )
    max_tokens = serializers.IntegerField(min_value=1, max_value=MAX_TOKENS, default=COPY_TOKENS)
    seed = serializers.IntegerField(min_value=0, max_value=MAX_BIG_SEED, default=0)


class FieldOptions(serializers.Serializer[Any]):
    """The name of a field, and how a language model writes it; what is left out is as of a system."""

    name = serializers.CharField(max_length=MAX_FIELD_NAME, help_text=FIELD_NAME)
    server = serializers.CharField(max_length=50, help_text="The name of a model server.")
    language_model = serializers.CharField(max_length=200, default="", allow_blank=True)
    prompt_template = serializers.CharField(
        max_length=100_000, default=DEFAULT_PROMPT, help_text="With {source} in it."
    )
    temperature = serializers.FloatField(required=False, min_value=0, max_value=MAX_TEMPERATURE)
    max_tokens = serializers.IntegerField(required=False, min_value=1, max_value=MAX_TOKENS)
    top_p = serializers.FloatField(required=False, min_value=0, max_value=1)
    seed = serializers.IntegerField(required=False, min_value=0, max_value=MAX_SEED)
    stop = serializers.CharField(required=False, help_text="Texts that end the answer, one a line.")


class ScoringOptions(serializers.Serializer[Any]):
    similarity = serializers.ChoiceField(
        sorted(SIMILARITIES), default="", help_text="By default the study's own."
    )


class ExportOptions(serializers.Serializer[Any]):
    formats = serializers.ListField(
        child=serializers.ChoiceField(FORMATS),
        default=["jsonl"],
        min_length=1,
        max_length=len(FORMATS),
    )
    ties = serializers.ChoiceField(
        TIES,
        default="drop",
        help_text="In the preference format, leave ties out, write half of them in each direction, or"
        " write each in both.",
    )
    with_texts = serializers.BooleanField(
        default=False,
        help_text="Whether ratings in jsonl, csv and parquet also have the source, both texts and the"
        " preferred system's name.",
    )
    with_comments = serializers.BooleanField(
        default=False, help_text="Whether there is also a table of annotators' comments."
    )


class BotOptions(serializers.Serializer[Any]):
    raters = serializers.IntegerField(
        min_value=1, max_value=MAX_RATERS, default=DryRunOptions.raters
    )
    accuracy = serializers.FloatField(min_value=0, max_value=1, default=DryRunOptions.accuracy)
    position_bias = serializers.FloatField(min_value=0, max_value=1, default=0.0)
    drop_out = serializers.FloatField(min_value=0, max_value=1, default=0.0)
