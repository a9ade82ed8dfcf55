"""What requests and responses about a study's design contain."""

from typing import Any

from rest_framework import serializers

from studies.models import ComprehensionQuestion, Criterion, Screening, Study
from studies.models.settings import SETTINGS

MAX_ROWS, MAX_SYSTEMS = 100, 1000


class CriterionRow(serializers.ModelSerializer[Criterion]):
    class Meta:
        model = Criterion
        fields = ("name", "question", "scale", "reason", "reason_length")


class ScreeningSerializer(serializers.ModelSerializer[Screening]):
    """The steps before an annotator's first task, and gold checks."""

    accepts_from = serializers.CharField(
        source="accepts_from_id",
        max_length=22,
        allow_null=True,
        required=False,
        help_text="The id of a study whose passed test also counts here.",
    )

    class Meta:
        model = Screening
        exclude = ("id", "study")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        screening = Screening(**{"pass_mark": 0} | values)
        screening.clean()
        return values | {"pass_mark": screening.pass_mark}


class QuestionSerializer(serializers.ModelSerializer[ComprehensionQuestion]):
    class Meta:
        model = ComprehensionQuestion
        fields = ("text", "choices", "answer", "explanation")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        ComprehensionQuestion(**values).clean()
        return values


class NewStudy(serializers.ModelSerializer[Study]):
    dataset = serializers.CharField(
        max_length=22, default=None, allow_null=True, help_text="The id of a dataset."
    )

    class Meta:
        model = Study
        fields = ("title", "dataset", "unit_kind")


class DesignChange(serializers.ModelSerializer[Study]):
    """Settings and parts of a design; settings that are left out stay as they are."""

    dataset = serializers.CharField(
        max_length=22, required=False, help_text="The id of a dataset that you may read."
    )
    criteria = serializers.ListField(
        child=CriterionRow(), required=False, max_length=MAX_ROWS, help_text="All criteria."
    )
    systems = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        max_length=MAX_SYSTEMS,
        help_text="All systems, in the order of the results; the first is system A.",
    )
    screening = ScreeningSerializer(required=False, allow_null=True)
    comprehension = serializers.ListField(
        child=QuestionSerializer(),
        required=False,
        max_length=MAX_ROWS,
        help_text="All questions about the guidelines.",
    )

    class Meta:
        model = Study
        fields = (
            *("title", "dataset", *SETTINGS),
            *("criteria", "systems", "screening", "comprehension"),
        )
        extra_kwargs = {"title": {"required": False}}


class CloneSerializer(serializers.Serializer[Any]):
    study = serializers.CharField(source="study.public_id", help_text="The id of the clone.")
    not_copied = serializers.ListField(child=serializers.CharField())


class SystemQuery(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200, help_text="The system's name.")


class SystemChange(serializers.Serializer[Any]):
    """A system of a dataset: which model writes its texts, and how."""

    name = serializers.CharField(max_length=200)
    language_model = serializers.CharField(max_length=200, allow_blank=True, required=False)
    prompt_template = serializers.CharField(
        max_length=100_000,
        allow_blank=True,
        required=False,
        help_text="With {source} or another placeholder.",
    )
    decoding = serializers.DictField(
        required=False,
        help_text="`temperature`, `top_p`, `max_tokens`, `stop`, `seed` and `samples`, as far as they"
        " differ from the job's.",
    )
    server = serializers.CharField(max_length=50, allow_blank=True, required=False)
