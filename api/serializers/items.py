"""What requests and responses about items and reference items contain."""

from typing import Any

from rest_framework import serializers

from annotation.services.reference_units import ROLES
from studies.models import Instance


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


class ReferenceRows(serializers.Serializer[Any]):
    role = serializers.ChoiceField(ROLE_CHOICES)
    rows = serializers.FileField(
        help_text="JSON Lines with the columns of a reference item, as docs/collecting.md says."
    )


class CreatedUnits(serializers.Serializer[Any]):
    created = serializers.IntegerField()
