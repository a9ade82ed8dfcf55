"""The members of a study, its log, and its webhooks."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import visible_study
from api.schema import NOTHING, described
from api.serializers.running_study import (
    DeliverySerializer,
    LogPage,
    LogQuery,
    MemberChoice,
    MemberQuery,
    MemberSerializer,
    NewWebhook,
    WebhookSerializer,
    WebhookUrl,
)
from api.services.webhooks import create_webhook, delete_webhook, deliveries_of, send_again
from api.validation import checked
from studies.access import Right
from studies.log import log_lines, log_page
from studies.members.memberships import remove_member, set_member

MAX_DELIVERIES = 100


class Members(APIView):
    @described(
        "List a study's members", tag="members", responses={200: MemberSerializer(many=True)}
    )
    def get(self, request: Request, study_id: str) -> Response:
        members = visible_study(request, study_id).memberships.select_related("user")
        return Response([MemberSerializer(member).data for member in members.order_by("pk")])

    @described(
        "Add a member or change a role",
        tag="members",
        request=MemberChoice,
        responses={200: MemberSerializer},
        refusals={404: ["nobody"], 409: ["no_owner"]},
    )
    def put(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.OWN)
        values = checked(MemberChoice, request.data)
        member = set_member(study=study, person=values["user"], role=values["role"])
        return Response(MemberSerializer(member).data)

    @described(
        "Remove a member",
        tag="members",
        query=MemberQuery,
        responses=NOTHING,
        refusals={404: ["no_such_member"], 409: ["no_owner"]},
    )
    def delete(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.OWN)
        remove_member(study=study, username=checked(MemberQuery, request.query_params)["user"])
        return Response(status=204)


class Log(APIView):
    @described(
        "Read who did what",
        tag="members",
        description="A page of 50 lines, newest first.",
        query=LogQuery,
        responses={200: LogPage},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        query = checked(LogQuery, request.query_params)
        page = log_page(study, query, query["page"])
        body = {"pages": page.paginator.num_pages, "lines": log_lines(page)}
        return Response(LogPage(body).data)


class Webhooks(APIView):
    @described(
        "List a study's webhooks", tag="webhooks", responses={200: WebhookSerializer(many=True)}
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.CHANGE)
        return Response(WebhookSerializer(study.webhooks.all(), many=True).data)

    @described(
        "Create a webhook",
        tag="webhooks",
        request=WebhookUrl,
        responses={201: NewWebhook},
        refusals={400: ["url_not_allowed"], 409: ["webhook_known", "too_many_webhooks"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        webhook, secret = create_webhook(study=study, url=checked(WebhookUrl, request.data)["url"])
        body = WebhookSerializer(webhook).data | {"secret": secret}
        return Response(body, status=201)


class DeleteWebhook(APIView):
    @described(
        "Delete a webhook",
        tag="webhooks",
        responses=NOTHING,
        refusals={404: ["no_such_webhook"]},
    )
    def delete(self, request: Request, study_id: str, webhook_id: str) -> Response:
        delete_webhook(study=visible_study(request, study_id), public_id=webhook_id)
        return Response(status=204)


class Deliveries(APIView):
    @described(
        "List what webhooks were sent",
        tag="webhooks",
        description="The newest 100.",
        responses={200: DeliverySerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.CHANGE)
        rows = deliveries_of(study)[:MAX_DELIVERIES]
        return Response(DeliverySerializer(rows, many=True).data)


class SendAgain(APIView):
    @described(
        "Send an event again",
        tag="webhooks",
        responses=NOTHING,
        refusals={404: ["no_such_delivery"]},
    )
    def post(self, request: Request, study_id: str, delivery_id: str) -> Response:
        send_again(study=visible_study(request, study_id), public_id=delivery_id)
        return Response(status=204)
