"""What requests and responses about judges contain."""

from rest_framework import serializers

from annotation.judging.forms import JUDGE_SETTINGS
from annotation.models import Judge


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    id = serializers.CharField(source="public_id")
    criterion = serializers.CharField(source="criterion.name")
    answered_by = serializers.ChoiceField(Judge.AnsweredBy.choices)
    orders = serializers.ChoiceField(Judge.Orders.choices)
    answers = serializers.IntegerField(help_text="How many answers are stored.")
    unparsed = serializers.IntegerField(help_text="How many of them name no label.")

    class Meta:
        model = Judge
        fields = (
            "id",
            *JUDGE_SETTINGS,
            "steps",
            "steps_prompt",
            "answers",
            "unparsed",
            "created_at",
        )


class NewJudge(serializers.ModelSerializer[Judge]):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")
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
    orders = serializers.ChoiceField(Judge.Orders.choices, default=Judge.Orders.BOTH)

    class Meta:
        model = Judge
        fields = JUDGE_SETTINGS
        extra_kwargs = {
            "examples": {"default": 0},
            "writes_steps": {"default": False},
            "with_reference": {"default": False},
            "runs": {"default": 1},
            "temperature": {"default": 0.0},
            "max_tokens": {"default": 512},
            "seed": {"default": 0},
        }
