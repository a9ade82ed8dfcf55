"""What requests and responses about webhooks contain."""

from typing import Any

from rest_framework import serializers

from api.models import Webhook


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
