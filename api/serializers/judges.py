"""What requests and responses about judges contain."""

from typing import Any

from rest_framework import serializers

from machine_raters.judging.forms import JUDGE_SETTINGS
from machine_raters.models import ExampleSet, Judge
from machine_raters.models.judge import MAX_EXAMPLES


class JudgeCost(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField(allow_null=True)
    tokens = serializers.IntegerField(allow_null=True, help_text="Tokens of the answers.")
    amount = serializers.DecimalField(
        max_digits=None,
        decimal_places=4,
        allow_null=True,
        help_text="In the study's currency, without trials and failed requests; null if unknown.",
    )
    unknown_because = serializers.CharField(help_text="Why the amount is not known, or empty.")


class JudgeModelRow(serializers.Serializer[Any]):
    model = serializers.CharField(help_text="As the server named it with the answers.")
    revision = serializers.CharField(help_text="What the server told besides the name, or empty.")
    answers = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    constrained = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField(allow_null=True)
    tokens = serializers.IntegerField(allow_null=True)
    first = serializers.DateTimeField()
    last = serializers.DateTimeField()


class JudgeProblemExample(serializers.Serializer[Any]):
    unit = serializers.CharField()
    words = serializers.CharField(help_text="The beginning of the answer, or the error.")


class JudgeProblem(serializers.Serializer[Any]):
    kind = serializers.CharField()
    number = serializers.IntegerField()
    examples = JudgeProblemExample(many=True)


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    id = serializers.CharField(source="public_id")
    criterion = serializers.CharField(source="criterion.name")
    answered_by = serializers.ChoiceField(Judge.AnsweredBy.choices)
    constraint = serializers.ChoiceField(Judge.Constraint.choices)
    comparisons = serializers.ChoiceField(Judge.Schedule.choices)
    example_set = serializers.CharField(
        source="example_set.name", allow_null=True, default=None, help_text="The set's name."
    )
    examples_sha256 = serializers.CharField(
        help_text="Hash of the examples as the judge reads them."
    )
    answers = serializers.IntegerField(help_text="How many answers are stored.")
    unparsed = serializers.IntegerField(help_text="How many of them name no label.")
    cost = JudgeCost(source="progress.cost")
    models = JudgeModelRow(many=True, source="progress.models")
    unreadable = JudgeProblem(many=True, source="progress.unreadable")
    failures = JudgeProblem(
        many=True,
        source="progress.failures",
        help_text="Questions without an answer, by the error's code. They can be asked again.",
    )
    warnings = serializers.ListField(child=serializers.CharField(), source="progress.warnings")

    class Meta:
        model = Judge
        fields = (
            *("id", *JUDGE_SETTINGS, "examples_sha256", "steps", "steps_prompt"),
            *("answers", "unparsed", "cost", "models", "unreadable"),
            *("failures", "warnings", "created_at"),
        )


class NewJudges(serializers.ModelSerializer[Judge]):
    """The settings of new judges, without a criterion."""

    instructions = serializers.CharField(
        max_length=100_000,
        required=False,
        help_text="With {guidelines}, {question} and {answers} in it; by default the page's.",
    )
    answered_by = serializers.ChoiceField(
        Judge.AnsweredBy.choices,
        default=Judge.AnsweredBy.TEXT,
        help_text="Written answers, or the model's probability of each answer, of which the most"
        " probable is the rating.",
    )
    constraint = serializers.ChoiceField(
        Judge.Constraint.choices,
        default=Judge.Constraint.NONE,
        help_text="Whether the server lets the model write nothing but an allowed answer.",
    )
    example_set = serializers.CharField(
        max_length=200, required=False, help_text="The name of a set of examples."
    )
    comparisons = serializers.ChoiceField(
        Judge.Schedule.choices,
        default=Judge.Schedule.ALL,
        help_text="Which comparisons are asked for; all but `all` take a budget.",
    )

    class Meta:
        model = Judge
        fields: tuple[str, ...] = tuple(name for name in JUDGE_SETTINGS if name != "criterion")
        extra_kwargs = {
            "examples": {"default": 0},
            "writes_steps": {"default": False},
            "with_reference": {"default": False},
            "runs": {"default": 1},
            "temperature": {"default": 0.0},
            "max_tokens": {"default": 512},
            "seed": {"default": 0},
        }


class NewJudge(NewJudges):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")

    class Meta(NewJudges.Meta):
        fields = JUDGE_SETTINGS


class ExampleSetSerializer(serializers.ModelSerializer[ExampleSet]):
    id = serializers.CharField(source="public_id")
    items = serializers.ListField(child=serializers.CharField(), help_text="Keys, in order.")
    used = serializers.IntegerField(help_text="How many judges use it.")

    class Meta:
        model = ExampleSet
        fields = ("id", "name", "items", "used", "created_at")


class NewExampleSet(serializers.Serializer[ExampleSet]):
    name = serializers.CharField(max_length=200)
    items = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MAX_EXAMPLES,
        help_text="Keys of training items, in the order in which judges read them.",
    )
