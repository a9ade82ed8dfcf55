"""What requests and responses about licences contain."""

from typing import Any

from rest_framework import serializers

from metrics.models import Licence
from studies.models.bounds import MAX_COUNT


class EvidenceQuery(serializers.Serializer[Any]):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")
    annotators = serializers.ChoiceField(
        Licence.Annotators.choices,
        default=Licence.Annotators.CROWD,
        help_text="ε is at most 0.2 for experts, 0.15 for trained annotators and 0.1 for crowd workers.",
    )


class LicenceEvidenceSerializer(serializers.Serializer[Any]):
    """What speaks for one machine rater on one kind of item."""

    machine = serializers.CharField()
    classification = serializers.CharField(source="stratum.stratifier")
    items = serializers.CharField(source="stratum.stratum")
    n_items = serializers.IntegerField(source="stratum.n_units")
    labels = serializers.IntegerField(source="replacement.labels")
    instances = serializers.IntegerField(source="replacement.instances")
    simulated = serializers.IntegerField(help_text="How many of the labels were given by bots.")
    annotators = serializers.IntegerField(source="test.annotators", default=None, allow_null=True)
    agreement = serializers.FloatField(allow_null=True)
    winning_rate = serializers.FloatField(allow_null=True, help_text="ω; null without a test.")
    advantage_probability = serializers.FloatField(
        allow_null=True, help_text="ρ; null without a test."
    )
    epsilon = serializers.FloatField(source="test.epsilon", default=None, allow_null=True)
    coin_winning_rate = serializers.FloatField(
        allow_null=True, help_text="ω of a coin on average; null without a test."
    )
    passes = serializers.BooleanField(
        allow_null=True, help_text="Null without a test, and before the planned number is reached."
    )
    sentence = serializers.CharField()


class LicenceSerializer(serializers.ModelSerializer[Licence]):
    id = serializers.CharField(source="public_id")
    criterion = serializers.CharField(source="criterion.name")
    machine = serializers.CharField(source="rater.pseudonym")
    annotators = serializers.ChoiceField(Licence.Annotators.choices)
    state = serializers.CharField(help_text="in force, expired, revoked or revoked by drift")
    granted_by = serializers.CharField(
        source="granted_by.username", default=None, allow_null=True, help_text="The user name."
    )
    ended_by = serializers.CharField(source="ended_by.username", default=None, allow_null=True)
    evidence = serializers.DictField(
        help_text="The numbers on which it was granted; `simulated` is how many of the labels were"
        " given by bots."
    )
    checked = serializers.DictField(help_text="What the newest test of drift compared.")
    follow_ups = serializers.SlugRelatedField[Any](
        slug_field="study_id", many=True, read_only=True, help_text="Ids of the follow-up studies."
    )

    class Meta:
        model = Licence
        fields = (
            *("id", "criterion", "machine", "category", "annotators", "valid_until", "state"),
            *("granted_at", "granted_by", "evidence", "checked", "ended_at", "ended_by", "reason"),
            "follow_ups",
        )


class NewLicence(serializers.Serializer[Any]):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")
    machine = serializers.CharField(max_length=200, help_text="The machine rater's name.")
    category = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="Empty for all items."
    )
    annotators = serializers.ChoiceField(Licence.Annotators.choices)
    valid_until = serializers.DateField()


class NewFollowUp(serializers.Serializer[Any]):
    instances = serializers.IntegerField(
        min_value=1, max_value=MAX_COUNT, help_text="How many instances are drawn at random."
    )


class Revocation(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=500, default="", allow_blank=True)
