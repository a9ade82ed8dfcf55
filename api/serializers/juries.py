"""What requests and responses about juries contain."""

from typing import Any

from rest_framework import serializers

from machine_raters.models import Jury


class JurySerializer(serializers.ModelSerializer[Jury]):
    id = serializers.CharField(source="public_id")
    criterion = serializers.CharField(source="criterion.name")
    members: Any = serializers.SlugRelatedField("pseudonym", many=True, read_only=True)
    decided = serializers.IntegerField(help_text="How many items it has decided.")
    without_label = serializers.IntegerField(
        help_text="How many of them have no label, for lack of a majority or of readable answers."
    )

    class Meta:
        model = Jury
        fields = (
            *("id", "name", "criterion", "members", "rule"),
            *("decided", "without_label", "created_at"),
        )


class NewJury(serializers.ModelSerializer[Jury]):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")
    members = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=2,
        max_length=100,
        help_text="The names of machine raters.",
    )

    class Meta:
        model = Jury
        fields = ("name", "criterion", "members", "rule")
