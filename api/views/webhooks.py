"""The webhooks of a study."""

from typing import Any

from rest_framework.response import Response

from api.resources import Resource, endpoint
from api.serializers.webhooks import NewWebhook, WebhookSerializer, WebhookUrl
from api.services.webhooks import create_webhook, delete_webhook
from studies.access import Right


class Webhooks(Resource):
    tag = "webhooks"
    lookup_url_kwarg, lookup_value_converter = "webhook_id", "public_id"

    @endpoint(gives=WebhookSerializer, many=True)
    def list(self) -> Any:
        """List a study's webhooks."""
        return self.study(Right.CHANGE).webhooks.all()

    @endpoint(takes=WebhookUrl, gives={201: NewWebhook})
    def create(self) -> Response:
        """Create a webhook."""
        webhook, secret = create_webhook(study=self.study(), url=self.values["url"])
        return Response(WebhookSerializer(webhook).data | {"secret": secret}, status=201)

    @endpoint()
    def destroy(self) -> None:
        """Delete a webhook."""
        delete_webhook(study=self.study(), public_id=self.kwargs["webhook_id"])
