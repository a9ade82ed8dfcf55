"""Participants: list, evidence, and what their researchers do about them."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.models import Participation
from annotation.participant_evidence import evidence_of
from api.access import researcher, visible_participation, visible_study
from api.pagination import ParticipantPagination
from api.schema import described
from api.serializers.studies import (
    BonusRequest,
    ExclusionRequest,
    PaidSerializer,
    ParticipantDetail,
    ParticipantRow,
    ParticipantsQuery,
    PayManyRequest,
    RejectionRequest,
)
from api.validation import checked
from recruitment.ledger import ledger
from recruitment.services.participants import (
    Chosen,
    exclude_participant,
    pay_awaiting,
    pay_bonus,
    pay_participant,
    reinstate_participant,
    reject_submission,
    release_participant,
    request_return,
)
from recruitment.services.payments import settle
from studies.access import Right

TAG = "participants"
NO_SUCH = {404: ["no_such_participant"]}
NO_BROKER = {503: ["no_broker"]}
PLATFORM = ["no_platform", "platform_cannot", "action_pending"]
PAID_OR_NOT = ["paid_already", "over_budget"]
ROW = {200: ParticipantRow}
ASKED = "A worker asks the platform, at most once; read the participant again to see the result."


class Participants(APIView):
    # drf-spectacular reads the parameters of the list from here.
    pagination_class = ParticipantPagination

    @described(
        "List a study's participants",
        tag=TAG,
        description="Under their pseudonyms, in the order in which they came. With `awaiting`, only"
        " those who are owed a payment, as the page *Participants & payments* lists them.",
        query=ParticipantsQuery,
        responses={200: ParticipantRow(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        query = checked(ParticipantsQuery, request.query_params)
        pages, study_ledger = ParticipantPagination(), ledger(study)
        people = study_ledger.people
        if query["awaiting"]:
            people = study_ledger.listed("awaiting_payment") | study_ledger.listed("screened_out")
        page = pages.paginate_queryset(people, request, view=self)
        shown = study_ledger.people.filter(pk__in=[one.pk for one in page or []])
        rows = [ParticipantRow(row).data for row in study_ledger.rows_of(shown)]
        return pages.get_paginated_response(rows)


class ParticipantView(APIView):
    @described(
        "Read about one participant",
        tag=TAG,
        description="With the evidence of how the answers were given, which is no verdict.",
        responses={200: ParticipantDetail},
        refusals=NO_SUCH,
    )
    def get(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id)
        row, evidence = _row(participation), evidence_of(participation)
        return Response(ParticipantDetail({"row": row, "evidence": evidence}).data)


class PayMany(APIView):
    @described(
        "Pay all who await payment",
        tag=TAG,
        description="Or some of them. `total` is the sum that you expect, without fees; with"
        f" another sum nobody is paid. {ASKED} What no platform pays is recorded as paid by you.",
        request=PayManyRequest,
        responses={200: PaidSerializer},
        refusals={
            409: ["total_differs", "nobody_awaits_payment", "not_awaiting_payment", *PAID_OR_NOT],
            **NO_BROKER,
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.OWN)
        values = checked(PayManyRequest, request.data)
        names = values["participants"]
        chosen = Chosen(None if names is None else tuple(names))
        paid = pay_awaiting(
            study=study, chosen=chosen, total=values["total"], by=researcher(request)
        )
        return Response(PaidSerializer(paid).data)


class PayOne(APIView):
    @described(
        "Pay one participant",
        tag=TAG,
        description=f"What is owed, once. {ASKED}",
        responses={200: PaidSerializer},
        refusals={**NO_SUCH, 409: ["no_reward", *PAID_OR_NOT, "action_pending"], **NO_BROKER},
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id, Right.OWN)
        paid = pay_participant(participation=participation, by=researcher(request))
        return Response(PaidSerializer(paid).data)


class PayBonus(APIView):
    @described(
        "Pay a bonus",
        tag=TAG,
        description=f"Once for each `request_key`, so that a request can be repeated. {ASKED}",
        request=BonusRequest,
        responses=ROW,
        refusals={
            400: ["no_amount", "no_reason", "no_request_key"],
            **NO_SUCH,
            409: [*PLATFORM, *PAID_OR_NOT],
            **NO_BROKER,
        },
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id, Right.OWN)
        values = checked(BonusRequest, request.data)
        pay_bonus(participation=participation, **values, by=researcher(request))
        return _answer(participation)


class Reject(APIView):
    @described(
        "Reject a submission",
        tag=TAG,
        description=f"It is not paid, and its ratings do not count. {ASKED}",
        request=RejectionRequest,
        responses=ROW,
        refusals={
            400: ["message_length", "unknown_category"],
            **NO_SUCH,
            409: [*PLATFORM, "not_submitted", "paid_not_rejected"],
            **NO_BROKER,
        },
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id, Right.OWN)
        values = checked(RejectionRequest, request.data)
        reject_submission(participation=participation, **values, by=researcher(request))
        return _answer(participation)


class Exclude(APIView):
    @described(
        "Exclude an annotator",
        tag=TAG,
        description="The ratings no longer count, and the work is offered to others. The report"
        " lists the exclusion with its reason.",
        request=ExclusionRequest,
        responses=ROW,
        refusals=NO_SUCH,
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id)
        reason = checked(ExclusionRequest, request.data)["reason"]
        exclude_participant(participation=participation, reason=reason, by=researcher(request))
        return _answer(participation)


class Reinstate(APIView):
    @described("Reinstate an annotator", tag=TAG, responses=ROW, refusals=NO_SUCH)
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id)
        reinstate_participant(participation=participation, by=researcher(request))
        return _answer(participation)


class Release(APIView):
    @described(
        "Free the place of an annotator",
        tag=TAG,
        description="Completed work counts; the unfinished task is offered to others.",
        responses=ROW,
        refusals=NO_SUCH,
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id)
        release_participant(participation=participation)
        return _answer(participation)


class RequestReturn(APIView):
    @described(
        "Ask for the return of a submission",
        tag=TAG,
        description=f"Frees the place, too. {ASKED}",
        responses=ROW,
        refusals={**NO_SUCH, 409: PLATFORM, **NO_BROKER},
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id)
        request_return(participation=participation)
        return _answer(participation)


class Settle(APIView):
    @described(
        "Mark a submission as settled",
        tag=TAG,
        description="It is no longer listed among those that need a decision.",
        responses=ROW,
        refusals=NO_SUCH,
    )
    def post(self, request: Request, study_id: str, participation_id: str) -> Response:
        participation = visible_participation(request, study_id, participation_id)
        settle(participation=participation)
        return _answer(participation)


def _answer(participation: Participation) -> Response:
    """Return the participant as they are now; eager workers may have asked the platform."""
    return Response(ParticipantRow(_row(participation)).data)


def _row(participation: Participation) -> Any:
    study_ledger = ledger(participation.study)
    return study_ledger.rows_of(study_ledger.people.filter(pk=participation.pk))[0]
