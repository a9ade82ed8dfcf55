"""What requests and responses about machine raters contain, for each kind."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from machine_raters.forms import (
    BASELINE_SETTINGS,
    JUDGE_CRITERIA,
    JUDGE_SETTINGS,
    JURY_SETTINGS,
    SET_SETTINGS,
)
from machine_raters.judging.presets import PRESETS
from machine_raters.judging.second_answers import Again, AskedAgain
from machine_raters.kinds import KINDS
from machine_raters.models import (
    Baseline,
    Judge,
    JudgeCriterion,
    Jury,
    MachineRater,
    SyntheticSet,
)
from machine_raters.models.machine_rater import MAX_REASON
from machine_raters.models.stated_cost import COST_DIGITS
from machine_raters.services.rating_costs import RatingCost
from machine_raters.synthetic.accuracy import ABOUT, CAUTION, JudgeAccuracy
from machine_raters.synthetic.summaries import DroppedTexts
from tiebreak.stats import Estimate

Kind = MachineRater.Kind
COMMON = ("id", "kind", "created_at", "excluded", "excluded_reason")


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


class JuryCost(serializers.Serializer[RatingCost]):
    amount = serializers.DecimalField(
        max_digits=None,
        decimal_places=COST_DIGITS,
        allow_null=True,
        help_text="Of one rating, which needs all members' ratings of an item, in the study's currency.",
    )
    unknown_because = serializers.CharField(help_text="Why the amount is not known, or empty.")


class JudgeModelRow(serializers.Serializer[Any]):
    model = serializers.CharField(help_text="As the server named it with the answers.")
    revision = serializers.CharField(help_text="What else the server reported, or empty.")
    server_version = serializers.CharField(help_text="What ran the model, or empty.")
    device = serializers.CharField(help_text="Its accelerators, as told or declared, or empty.")
    is_batch_invariant = serializers.BooleanField(allow_null=True, help_text="Null if unknown.")
    answers = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    constrained = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField(allow_null=True)
    tokens = serializers.IntegerField(allow_null=True)
    first = serializers.DateTimeField()
    last = serializers.DateTimeField()


class SameShare(serializers.Serializer[Estimate]):
    value = serializers.FloatField()
    low = serializers.FloatField(help_text="Wilson's interval at 95%.")
    high = serializers.FloatField()


class AgainSerializer(serializers.Serializer[Again]):
    criterion = serializers.CharField()
    answers = serializers.IntegerField()
    flips = serializers.IntegerField(help_text="Second answers with another verdict.")
    same = SameShare(help_text="Share of second answers with the same verdict.")


class AskedAgainSerializer(serializers.Serializer[AskedAgain]):
    test = serializers.IntegerField(help_text="How often the judge had been asked again, from 1.")
    asked_at = serializers.DateTimeField()
    servers = serializers.ListField(
        child=serializers.CharField(),
        help_text="What is known of the models and servers that answered.",
    )
    prompts = serializers.IntegerField(help_text="Prompts that were answered again.")
    word_for_word = serializers.IntegerField(
        help_text="Prompts whose answer was equal to the first."
    )
    same = SameShare(help_text="Share of prompts with the same verdict.")
    criteria = AgainSerializer(many=True)


class JudgeProblemExample(serializers.Serializer[Any]):
    unit = serializers.CharField()
    words = serializers.CharField(help_text="The beginning of the answer, or the error.")


class JudgeProblem(serializers.Serializer[Any]):
    kind = serializers.CharField()
    number = serializers.IntegerField()
    examples = JudgeProblemExample(many=True)


class JudgeCriterionSerializer(serializers.ModelSerializer[JudgeCriterion]):
    criterion = serializers.CharField(source="criterion.name")
    examples_sha256 = serializers.CharField(
        help_text="Hash of the examples as the judge reads them."
    )

    class Meta:
        model = JudgeCriterion
        fields = ("criterion", "examples_sha256", "steps", "steps_prompt")


class MachineSerializer(serializers.ModelSerializer[Any]):
    id = serializers.CharField(source="public_id")
    kind = serializers.ChoiceField(Kind.choices)


class JudgeSerializer(MachineSerializer):
    criteria = JudgeCriterionSerializer(many=True, source="questions")
    preset = serializers.CharField(help_text="The published prompt that it started from, or empty.")
    answered_by = serializers.ChoiceField(Judge.AnsweredBy.choices)
    constraint = serializers.ChoiceField(Judge.Constraint.choices)
    comparisons = serializers.ChoiceField(Judge.Schedule.choices)
    example_set = serializers.CharField(
        source="example_set.name", allow_null=True, default=None, help_text="The set's name."
    )
    answers = serializers.IntegerField(help_text="How many answers are stored.")
    unparsed = serializers.IntegerField(help_text="How many of them could not be read.")
    nonresponses = serializers.IntegerField(
        help_text="How many of them say that the model cannot judge."
    )
    cost = JudgeCost(source="progress.cost")
    models = JudgeModelRow(many=True, source="progress.models")
    unreadable = JudgeProblem(many=True, source="progress.unreadable")
    failures = JudgeProblem(
        many=True,
        source="progress.failures",
        help_text="Questions without an answer, by the error's code. They can be asked again.",
    )
    warnings = serializers.ListField(child=serializers.CharField(), source="progress.warnings")
    asked_again = AskedAgainSerializer(
        many=True, help_text="Tests of its server, the newest first."
    )

    class Meta:
        model = Judge
        fields = (
            *COMMON,
            *(name for name in JUDGE_SETTINGS if name not in JUDGE_CRITERIA),
            *("criteria", "answers", "unparsed", "nonresponses", "cost", "models", "unreadable"),
            *("failures", "warnings", "asked_again"),
        )


class JurySerializer(MachineSerializer):
    criterion = serializers.CharField(source="criterion.name")
    members: Any = serializers.SlugRelatedField("pseudonym", many=True, read_only=True)
    decided = serializers.IntegerField(help_text="How many items it has decided.")
    without_label = serializers.IntegerField(
        help_text="How many of them have no label, for lack of a majority or of readable answers."
    )
    cost = JuryCost()

    class Meta:
        model = Jury
        fields = (*COMMON, *JURY_SETTINGS, "decided", "without_label", "cost")


class BaselineSerializer(MachineSerializer):
    criterion = serializers.CharField(source="criterion.name")
    rated = serializers.IntegerField(help_text="How many items it has rated.")
    no_reference = serializers.IntegerField(
        help_text="How many items have no rating because there is no reference to compare with."
    )
    equal_scores = serializers.IntegerField(
        help_text="How many items have no rating because both texts score the same, and the scale"
        " has no tie."
    )

    class Meta:
        model = Baseline
        fields = (*COMMON, *BASELINE_SETTINGS, "rated", "no_reference", "equal_scores")


class DroppedSerializer(serializers.Serializer[DroppedTexts]):
    kind = serializers.CharField(help_text="What the texts were meant to be.")
    reason = serializers.CharField()
    number = serializers.IntegerField()


class ShareSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="How the items were made; empty for all items.")
    items = serializers.IntegerField(
        help_text="How many answers: one about each item, of comparisons one in each order."
    )
    value = serializers.FloatField()
    low = serializers.FloatField(allow_null=True, help_text="Null without an interval.")
    high = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(help_text="Why there is no interval.", allow_null=True)


class JudgeAccuracySerializer(serializers.Serializer[JudgeAccuracy]):
    judge = serializers.CharField(source="judge.name")
    criterion = serializers.CharField()
    unreadable = serializers.IntegerField(
        help_text="Answers that do not name a label, which are wrong."
    )
    first_shown = ShareSerializer(
        allow_null=True,
        help_text="How often the answer shown first is preferred, ties as half; null without comparisons.",
    )
    shares = ShareSerializer(many=True, source="*", help_text=f"{ABOUT} {CAUTION}")

    def to_representation(self, instance: JudgeAccuracy) -> dict[str, Any]:
        first, kinds = instance.first_shown, (("", instance.overall), *instance.by_kind)
        return {
            "judge": instance.judge.name,
            "criterion": instance.criterion,
            "unreadable": instance.unreadable,
            "first_shown": first and _share("", first),
            "shares": [_share(kind, share) for kind, share in kinds],
        }


def _share(kind: str, share: Estimate) -> dict[str, Any]:
    json = share.as_json()
    interval = {name: json.get(name) for name in ("value", "low", "high", "reason")}
    return {"kind": kind, "items": share.n, **interval}


class SyntheticSetSerializer(MachineSerializer):
    retriever = serializers.ChoiceField(SyntheticSet.Retriever.choices)
    questions = serializers.IntegerField(help_text="How many questions were made.")
    kept = serializers.IntegerField(help_text="How many of them brought back their own passage.")
    items = serializers.IntegerField(source="n_items")
    dropped = DroppedSerializer(many=True)
    judges = JudgeAccuracySerializer(many=True)

    class Meta:
        model = SyntheticSet
        fields = (*COMMON, *SET_SETTINGS, "questions", "kept", "items", "dropped", "judges")


SHOWN: Mapping[str, type[MachineSerializer]] = {
    Kind.JUDGE.value: JudgeSerializer,
    Kind.BASELINE.value: BaselineSerializer,
    Kind.JURY.value: JurySerializer,
    Kind.SYNTHETIC_SET.value: SyntheticSetSerializer,
}


class NewMachine(serializers.ModelSerializer[Any]):
    """The settings of a new machine rater; those with a default may be left out."""

    kind = serializers.ChoiceField(Kind.choices)


# The settings that are named, and those with another default than the table's.
NAMED: Mapping[str, serializers.Field[Any, Any, Any, Any]] = {
    "criterion": serializers.CharField(max_length=200, help_text="The criterion's name."),
    "criteria": serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        min_length=1,
        max_length=100,
        help_text="The names of the criteria by which a judge rates. One may be named as `criterion`.",
    ),
    "members": serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=2,
        max_length=100,
        help_text="The names of machine raters.",
    ),
    "example_set": serializers.CharField(
        max_length=200, required=False, help_text="The name of a set of examples."
    ),
    "preset": serializers.ChoiceField(
        list(PRESETS),
        required=False,
        help_text="A published prompt, which fills in the settings that are left out.",
    ),
    "instructions": serializers.CharField(
        max_length=100_000,
        required=False,
        help_text="With {guidelines}, {question} and {answers} in it; by default the page's, or the preset's.",
    ),
}


def _new(model: type[MachineRater], settings: Sequence[str]) -> type[NewMachine]:
    """Return the serializer of a request to create a machine rater with these settings."""
    fields = {name: NAMED[name] for name in settings if name in NAMED}
    if "criteria" in settings:
        fields["criterion"] = serializers.CharField(max_length=200, required=False)
    meta = type("Meta", (), {"model": model, "fields": ("kind", *settings)})
    return type(f"New{model.__name__}", (NewMachine,), {"Meta": meta, **fields})


NEW = {name: _new(kind.model, [*kind.form.base_fields]) for name, kind in KINDS.items()}


class NewMachineRater(PolymorphicProxySerializer):
    """Describes a request to create a machine rater of any kind."""

    def __init__(self, **_: Any) -> None:
        super().__init__("NewMachineRater", dict(NEW), "kind")

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of all kinds, none of which is unknown before the kind is looked at."""
        return {name: field for one in NEW.values() for name, field in one().get_fields().items()}


def shown_machines(*, many: bool = False) -> Any:
    """Return the description of machine raters in a response."""
    return PolymorphicProxySerializer(
        component_name="MachineRater",
        serializers=dict(SHOWN),
        resource_type_field_name="kind",
        many=many,
    )


class KindQuery(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(Kind.choices, required=False, help_text="Only this kind.")


class MachineExclusionRequest(serializers.Serializer[Any]):
    reason = serializers.CharField(
        max_length=MAX_REASON,
        help_text="The fault in how it was made, as the report and exports should state it.",
    )
