"""What requests and responses about channels contain."""

from typing import Any

from rest_framework import serializers

from recruitment.services.platform_actions import MAX_PARTICIPANTS

ACTIONS = (
    *("publish", "update-draft", "start", "pause", "stop", "sync", "subscribe-webhook"),
    *("check-eligibility", "rehearse", "approve-all"),
)


class ChannelSerializer(serializers.Serializer[Any]):
    """A channel, without its secrets."""

    provider = serializers.CharField(source="platform.name")
    title = serializers.CharField(source="platform.title")
    is_open = serializers.BooleanField()
    state = serializers.CharField(source="state.value")
    sentence = serializers.CharField()
    settings = serializers.DictField(
        source="channel.settings", allow_null=True, default=None, help_text="Null if not set up."
    )
    has_token = serializers.SerializerMethodField()
    external_id = serializers.CharField(source="channel.external_id", default="")
    external_status = serializers.CharField(source="channel.external_status", default="")
    pending = serializers.CharField(
        source="channel.pending", default="", help_text="The action that a worker is taking."
    )
    problem = serializers.CharField(
        source="channel.problem", default="", help_text="What went wrong in the last action."
    )

    def get_has_token(self, status: Any) -> bool:
        return bool(status.channel and status.channel.secret)


class ChannelChange(serializers.Serializer[Any]):
    settings = serializers.DictField(
        default=dict, help_text="The settings of the platform's form on the Recruit page."
    )
    token = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=1000,
        help_text="Stored encrypted and never returned; empty keeps the stored one.",
    )


class ChangedChannel(serializers.Serializer[Any]):
    channel = ChannelSerializer()
    token_problem = serializers.CharField(
        allow_null=True, help_text="Why the token could not be tested, as a code."
    )


class ChannelAction(serializers.Serializer[Any]):
    action = serializers.ChoiceField(ACTIONS)
    participants = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_PARTICIPANTS,
        help_text="With `publish`: how many participants to ask for.",
    )

    email = serializers.EmailField(
        default="",
        allow_blank=True,
        max_length=254,
        help_text="With `rehearse`: the test person's.",
    )
