"""What requests and responses about the board of systems contain."""

from typing import Any

from rest_framework import serializers

from metrics.models import MAX_PERCENT, MAX_SEED, MIN_PERCENT, Board
from studies.models import JoinedSystem, System


class JoinedSerializer(serializers.ModelSerializer[JoinedSystem]):
    system = serializers.CharField(source="system.name")
    study = serializers.CharField(
        source="study_id", help_text="The closed study in which machine raters judge it."
    )

    class Meta:
        model = JoinedSystem
        fields = ("system", "study", "created_at")


class BoardSerializer(serializers.ModelSerializer[Board]):
    hidden_seed = serializers.IntegerField(
        allow_null=True, help_text="The seed of the hidden part; null if nothing is hidden."
    )
    address = serializers.CharField(
        allow_null=True, help_text="The address of the public page; null while it is withdrawn."
    )
    joined = JoinedSerializer(many=True, help_text="The systems that only machines judge.")
    can_join = serializers.ListField(
        child=serializers.CharField(), help_text="The systems of the dataset that can join."
    )

    class Meta:
        model = Board
        fields = (
            "hidden_percent",
            "hidden_seed",
            "fixed_at",
            "published_at",
            "address",
            "joined",
            "can_join",
        )


class HiddenPartOptions(serializers.Serializer[Any]):
    percent = serializers.IntegerField(min_value=MIN_PERCENT, max_value=MAX_PERCENT)
    seed = serializers.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        help_text="Drawn at random if it is left out.",
    )


class SystemThatJoins(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=System._meta.get_field("name").max_length)
    texts = serializers.FileField(
        required=False,
        help_text="Its texts as JSON Lines with `instance` and `text`, if the dataset lacks it.",
    )


class WaitingMachines(serializers.Serializer[Any]):
    has_joined = serializers.BooleanField(help_text="Whether it joined now, and not before.")
    waiting = serializers.DictField(
        child=serializers.CharField(), help_text="Why machine raters wait, by their names."
    )
