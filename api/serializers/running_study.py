"""What requests and responses about people, channels, webhooks and the log contain."""

from typing import Any

from rest_framework import serializers

from api.models import Webhook, WebhookDelivery
from api.serializers.studies import PartQuery
from recruitment.services.platform_actions import MAX_PARTICIPANTS
from studies.log import EDITED
from studies.models import Membership, StudyEvent

# Actions on a whole channel. Those on one participant are about participants.
ACTIONS = (
    *("publish", "update-draft", "start", "pause", "stop", "sync", "subscribe-webhook"),
    *("check-eligibility", "rehearse", "approve-all"),
)


class MemberSerializer(serializers.Serializer[Membership]):
    user = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Membership.Role.choices)


class MemberChoice(serializers.Serializer[Any]):
    user = serializers.CharField(
        max_length=254, help_text="A researcher's exact user name or e-mail address."
    )
    role = serializers.ChoiceField(Membership.Role.choices)


class MemberQuery(serializers.Serializer[Any]):
    user = serializers.CharField(max_length=254, help_text="The member's user name.")


class CheckSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    severity = serializers.ChoiceField(["error", "warning"])
    sentence = serializers.CharField()


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
        default=dict, help_text="The settings of the platform's form on the page Recruit."
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


class OfferedFilterSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    question = serializers.CharField()
    choices = serializers.DictField(
        child=serializers.CharField(), help_text="Their titles by key; empty for a range."
    )
    low = serializers.CharField()
    high = serializers.CharField()


class RangeChoice(serializers.Serializer[Any]):
    lower = serializers.JSONField(required=False, allow_null=True)
    upper = serializers.JSONField(required=False, allow_null=True)


class FilterChoice(serializers.Serializer[Any]):
    filter_id = serializers.CharField(max_length=200)
    selected_values = serializers.ListField(required=False, max_length=1000)
    selected_range = RangeChoice(required=False)


class EligibilityChoice(serializers.Serializer[Any]):
    filters = serializers.ListField(
        child=FilterChoice(),
        max_length=100,
        help_text="Each with `filter_id`, and `selected_values` (keys of choices) or"
        " `selected_range` (`lower`, `upper`).",
    )


class EligibilitySerializer(serializers.Serializer[Any]):
    offered = OfferedFilterSerializer(many=True)
    filters = serializers.ListField(child=serializers.DictField())
    people = serializers.IntegerField(
        allow_null=True, help_text="How many people pass; null until the platform was asked."
    )


class PaymentOutcome(serializers.Serializer[Any]):
    was_paid = serializers.BooleanField(help_text="What you saw on the platform.")


class LateDecision(serializers.Serializer[Any]):
    decision = serializers.ChoiceField(["accept", "decline"])


class DecidedAnswers(serializers.Serializer[Any]):
    answers = serializers.IntegerField()


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    id = serializers.CharField(source="public_id")

    class Meta:
        model = Webhook
        fields = ("id", "url", "created_at")


class WebhookUrl(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=500, help_text="An https URL of an allowed host.")


class NewWebhook(WebhookSerializer):
    secret = serializers.CharField(help_text="It signs what is sent, and is shown only now.")

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "secret")  # type: ignore[assignment]


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    id = serializers.CharField(source="public_id")
    webhook = serializers.CharField(source="webhook.public_id")
    status = serializers.ChoiceField(WebhookDelivery.Status.choices)

    class Meta:
        model = WebhookDelivery
        fields = ("id", "webhook", "event", "time", "data", "status", "attempts", "outcome")


class LogQuery(serializers.Serializer[Any]):
    what = serializers.ChoiceField(
        [EDITED, *StudyEvent.Verb.values], default="", help_text="Only lines of this kind."
    )
    since = serializers.DateField(required=False, help_text="The first day, in UTC.")
    until = serializers.DateField(required=False, help_text="The last day, in UTC.")
    page = serializers.IntegerField(
        default=1, min_value=1, max_value=10**9, help_text="The number of the page, from 1."
    )


class LogLineSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    by = serializers.CharField(help_text="The user name; empty if a rule of the study acted.")
    what = serializers.CharField()
    details = serializers.CharField()


class LogPage(serializers.Serializer[Any]):
    pages = serializers.IntegerField()
    lines = LogLineSerializer(many=True)


class FigureQuery(PartQuery):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")
    name = serializers.CharField(
        max_length=100, help_text="As in the address of the figure's files on the pages."
    )
    file = serializers.ChoiceField(
        ["svg", "pdf", "png", "csv"], default="svg", help_text="The kind of file."
    )


class SurveyChoice(serializers.Serializer[Any]):
    survey = serializers.CharField(
        max_length=22, allow_null=True, help_text="The id of the survey, or null for equal weights."
    )


class ScoresChoice(serializers.Serializer[Any]):
    scores = serializers.CharField(
        max_length=22,
        allow_null=True,
        help_text="The id of the study of scores, or null for scores in the study itself.",
    )


class UsedScores(serializers.Serializer[Any]):
    scores = serializers.CharField(allow_null=True)
    machine_raters = serializers.ListField(
        child=serializers.CharField(), help_text="The machine raters of that study."
    )


class SharesOfVotes(serializers.Serializer[Any]):
    weights = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="For each perturbation, the share of votes for each quality.",
    )


class MadeSurvey(SharesOfVotes):
    id = serializers.CharField()
    experts = serializers.IntegerField(help_text="How many people have voted.")
    votes = serializers.IntegerField()


class ExpertWeights(SharesOfVotes):
    survey = serializers.CharField(allow_null=True)
    made_survey = MadeSurvey(
        allow_null=True,
        help_text="The survey that was made from this study, with the weights that its votes would"
        " give; null if there is none that you may read.",
    )
