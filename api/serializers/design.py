"""What requests and responses about a study's design contain."""

from typing import Any

from rest_framework import serializers

from annotation.services.reference_units import OBVIOUS, ROLES
from studies.data.model_copies import COPY_TOKENS, TEMPERATURE
from studies.models import ComprehensionQuestion, Criterion, Dataset, Instance, Screening, Study
from studies.models.bounds import MAX_BIG_SEED
from studies.models.dataset import MAX_TEMPERATURE, MAX_TOKENS
from studies.models.settings import SETTINGS
from tiebreak.perturbations import MODEL_PERTURBATIONS, PERTURBATIONS

MAX_ROWS = 100
PERTURBATION_CHOICES = [(p.name, p.change) for p in PERTURBATIONS.values()]


class CriterionRow(serializers.ModelSerializer[Criterion]):
    class Meta:
        model = Criterion
        fields = ("name", "question", "scale")


class ScreeningSerializer(serializers.ModelSerializer[Screening]):
    """The steps before an annotator's first task, and gold checks."""

    accepts_from = serializers.CharField(
        source="accepts_from_id",
        max_length=22,
        allow_null=True,
        required=False,
        help_text="The id of a study whose passed test counts here, too.",
    )

    class Meta:
        model = Screening
        exclude = ("id", "study")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        Screening(**values).clean()
        return values


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


class DatasetDetail(serializers.ModelSerializer[Dataset]):
    id = serializers.CharField(source="public_id")

    class Meta:
        model = Dataset
        fields = ("id", "name", "notes", "created_at")


class DatasetChange(serializers.ModelSerializer[Dataset]):
    class Meta:
        model = Dataset
        fields = ("name", "notes")
        extra_kwargs = {"name": {"required": False}}


class DesignChange(serializers.ModelSerializer[Study]):
    """Settings and parts of a design; what is left out stays as it is."""

    dataset = serializers.CharField(
        max_length=22, required=False, help_text="The id of a dataset that you may read."
    )
    criteria = serializers.ListField(
        child=CriterionRow(), required=False, max_length=MAX_ROWS, help_text="All criteria."
    )
    systems = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        max_length=1000,
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


class TemplateSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField(help_text="The name to create a study with.")
    title = serializers.CharField()
    source = serializers.CharField(  # type: ignore[assignment]
        help_text="The publication that the protocol comes from."
    )
    use_for = serializers.CharField()
    steps_left = serializers.ListField(
        child=serializers.CharField(), help_text="What you still have to do afterwards."
    )


class TemplateChoice(serializers.Serializer[Any]):
    template = serializers.CharField(max_length=100, help_text="The `slug` of a template.")


class NewFromTemplate(TemplateChoice):
    title = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="By default the template's."
    )


class CloneSerializer(serializers.Serializer[Any]):
    study = serializers.CharField(source="study.public_id", help_text="The id of the clone.")
    not_copied = serializers.ListField(child=serializers.CharField())


class ItemsQuery(serializers.Serializer[Any]):
    q = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Words that occur in the item."
    )
    page = serializers.IntegerField(
        default=1, min_value=1, max_value=10**9, help_text="The number of the page, from 1."
    )


class ItemQuery(serializers.Serializer[Any]):
    item = serializers.CharField(max_length=200, help_text="The item's name.")


class ItemSerializer(serializers.ModelSerializer[Instance]):
    id = serializers.CharField(source="key")

    class Meta:
        model = Instance
        fields = ("id", "source", "messages", "category", "reference", "metadata")


class ItemPage(serializers.Serializer[Any]):
    total = serializers.IntegerField(help_text="The number of items on all pages.")
    pages = serializers.IntegerField()
    items = ItemSerializer(many=True)


ROLE_CHOICES = [role.value for role in ROLES]


class ReferenceUnitSerializer(serializers.Serializer[Any]):
    unit = serializers.CharField(source="key")
    role = serializers.ChoiceField(ROLE_CHOICES)
    instance = serializers.CharField(source="instance.key", default=None, allow_null=True)
    labels = serializers.DictField(
        source="known_labels",
        child=serializers.CharField(),
        help_text="The expected label by criterion, in system order.",
    )
    explanation = serializers.CharField()


class DegradedCopies(serializers.Serializer[Any]):
    role = serializers.ChoiceField(ROLE_CHOICES)
    n = serializers.IntegerField(min_value=1, max_value=1000, default=20)
    perturbation = serializers.ChoiceField(
        PERTURBATION_CHOICES, default=OBVIOUS, help_text="What is changed in the copies."
    )


class PerturbedCopies(serializers.Serializer[Any]):
    perturbations = serializers.ListField(
        child=serializers.ChoiceField(PERTURBATION_CHOICES),
        allow_empty=False,
        max_length=len(PERTURBATIONS),
    )
    seed = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_BIG_SEED,
        help_text="The same texts and seed give the same copies on every machine.",
    )


class ModelCopies(serializers.Serializer[Any]):
    names = serializers.ListField(
        child=serializers.ChoiceField([(p.name, p.change) for p in MODEL_PERTURBATIONS.values()]),
        allow_empty=False,
        max_length=len(MODEL_PERTURBATIONS),
    )
    server = serializers.CharField(max_length=50)
    language_model = serializers.CharField(max_length=200, allow_blank=True, default="")
    temperature = serializers.FloatField(
        default=TEMPERATURE, min_value=0, max_value=MAX_TEMPERATURE
    )
    max_tokens = serializers.IntegerField(default=COPY_TOKENS, min_value=1, max_value=MAX_TOKENS)
    seed = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_BIG_SEED,
        help_text="Texts whose answer was refused are asked about again only with another seed.",
    )


class RefusedCopies(serializers.Serializer[Any]):
    perturbation = serializers.CharField()
    code = serializers.CharField()
    reason = serializers.CharField()
    number = serializers.IntegerField(help_text="How many answers of the model are no copies.")
    example = serializers.CharField(help_text="The last of them; empty if nothing was asked.")


class CopiesMade(serializers.Serializer[Any]):
    copies = serializers.IntegerField(help_text="How many copies were made now.")
    systems = serializers.ListField(
        child=serializers.CharField(), help_text="The systems of copies that the study now has."
    )
    refused = serializers.DictField(
        child=serializers.IntegerField(), help_text="Texts without a copy, by the reason's code."
    )


class ReferenceRows(serializers.Serializer[Any]):
    role = serializers.ChoiceField(ROLE_CHOICES)
    rows = serializers.FileField(
        help_text="JSON Lines with the columns of a reference item, as docs/collecting.md says."
    )


class ExpectedLabels(serializers.Serializer[Any]):
    unit = serializers.CharField(max_length=255)
    labels = serializers.DictField(
        child=serializers.CharField(max_length=100), help_text="The label of each criterion."
    )


class UnitQuery(serializers.Serializer[Any]):
    unit = serializers.CharField(max_length=255, help_text="The reference item's name.")


class CreatedUnits(serializers.Serializer[Any]):
    created = serializers.IntegerField()


class DummiesQuery(serializers.Serializer[Any]):
    number = serializers.IntegerField(
        min_value=0, max_value=10**9, help_text="How many dummy texts you expect to be removed."
    )


class DummyTextsSerializer(serializers.Serializer[Any]):
    texts = serializers.IntegerField()
    systems = serializers.ListField(child=serializers.CharField())
    scores = serializers.IntegerField()
    draws = serializers.IntegerField()
    plans = serializers.IntegerField()


class SystemChange(serializers.Serializer[Any]):
    """A system of a dataset: which model writes its texts, and how."""

    name = serializers.CharField(max_length=200)
    language_model = serializers.CharField(max_length=200, allow_blank=True, required=False)
    prompt_template = serializers.CharField(
        max_length=100_000, allow_blank=True, required=False, help_text="With {source} in it."
    )
    decoding = serializers.DictField(required=False, help_text="For example a temperature.")
    server = serializers.CharField(max_length=50, allow_blank=True, required=False)
