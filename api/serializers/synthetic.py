"""What requests and responses about synthetic sets contain."""

from collections.abc import Iterator
from typing import Any

from rest_framework import serializers

from machine_raters.models import SyntheticSet
from machine_raters.synthetic.accuracy import ABOUT, CAUTION, JudgeAccuracy
from machine_raters.synthetic.forms import SET_SETTINGS
from machine_raters.synthetic.summaries import DroppedTexts, SetSummary
from tiebreak.stats import Estimate


class NewSyntheticSet(serializers.ModelSerializer[SyntheticSet]):
    retriever = serializers.ChoiceField(
        SyntheticSet.Retriever.choices,
        default=SyntheticSet.Retriever.ROUGE_1,
        help_text="A question stays only if its own passage is more similar to it than all others.",
    )

    class Meta:
        model = SyntheticSet
        fields = SET_SETTINGS
        extra_kwargs = {
            "passages": {"default": 100},
            "examples": {"default": 3},
            "temperature": {"default": 0.7},
            "max_tokens": {"default": 256},
            "seed": {"default": 0},
        }


class DroppedSerializer(serializers.Serializer[DroppedTexts]):
    kind = serializers.CharField(help_text="What the texts were to be.")
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
    criterion = serializers.CharField(source="judge.criterion.name")
    unreadable = serializers.IntegerField(help_text="Answers that name no label, which are wrong.")
    first_shown = ShareSerializer(
        allow_null=True,
        help_text="How often the answer shown first is preferred, ties as half; null without comparisons.",
    )
    shares = ShareSerializer(many=True, source="*", help_text=f"{ABOUT} {CAUTION}")

    def to_representation(self, instance: JudgeAccuracy) -> dict[str, Any]:
        first = instance.first_shown
        return {
            "judge": instance.judge.name,
            "criterion": instance.judge.criterion.name,
            "unreadable": instance.unreadable,
            "first_shown": first and _share("", first),
            "shares": list(_shares(instance)),
        }


class SyntheticSetSerializer(serializers.ModelSerializer[SyntheticSet]):
    id = serializers.CharField(source="public_id")
    retriever = serializers.ChoiceField(SyntheticSet.Retriever.choices)
    questions = serializers.IntegerField(help_text="How many questions were made.")
    kept = serializers.IntegerField(help_text="How many of them brought back their own passage.")
    items = serializers.IntegerField(source="n_items")

    class Meta:
        model = SyntheticSet
        fields = (
            *("id", *SET_SETTINGS, "questions", "kept", "items", "created_at"),
            *("excluded", "excluded_reason"),
        )


class SetSummarySerializer(serializers.Serializer[SetSummary]):
    set = SyntheticSetSerializer(source="made")
    dropped = DroppedSerializer(many=True)
    judges = JudgeAccuracySerializer(many=True)


def _shares(tested: JudgeAccuracy) -> Iterator[dict[str, Any]]:
    for kind, share in (("", tested.overall), *tested.by_kind):
        yield _share(kind, share)


def _share(kind: str, share: Estimate) -> dict[str, Any]:
    return {"kind": kind, "items": share.n, **_interval(share)}


def _interval(share: Estimate) -> dict[str, Any]:
    json = share.as_json()
    return {name: json.get(name) for name in ("value", "low", "high", "reason")}
