"""Participants: list, evidence, and what their researchers do about them."""

from typing import Any

from rest_framework.response import Response

from annotation.models import Participation
from annotation.participant_evidence import evidence_of
from api.access import visible_participation
from api.pagination import ParticipantPagination
from api.resources import Resource, endpoint
from api.serializers.participants import (
    BonusRequest,
    ExclusionRequest,
    PaidSerializer,
    ParticipantDetail,
    ParticipantRow,
    ParticipantsQuery,
    PayManyRequest,
    RejectionRequest,
)
from recruitment.ledger import LedgerRow, ledger
from recruitment.services.participants import (
    Chosen,
    exclude_participant,
    pay_awaiting,
    pay_bonus,
    reinstate_participant,
    reject_submission,
)
from studies.access import Right


class Participants(Resource):
    """A worker asks the platform, at most once; its answer shows when the participant is read again."""

    tag = "participants"
    lookup_url_kwarg, lookup_value_converter = "participation_id", "public_id"

    def participation(self, may: Right | None = None) -> Participation:
        return visible_participation(self.request, may=may, **self.kwargs)

    @endpoint(query=ParticipantsQuery, gives=ParticipantRow, many=True, pages=ParticipantPagination)
    def list(self) -> Response:
        """List a study's participants.

        Under their pseudonyms, in the order in which they arrived. With `awaiting`, only those who are
        owed a payment, as the *Participants & payments* page lists them.
        """
        pages, study_ledger = ParticipantPagination(), ledger(self.study())
        people = study_ledger.people
        if self.values["awaiting"]:
            people = study_ledger.listed("awaiting_payment") | study_ledger.listed("screened_out")
        page = pages.paginate_queryset(people, self.request, view=self)
        shown = study_ledger.people.filter(pk__in=[one.pk for one in page or []])
        rows = [ParticipantRow(row).data for row in study_ledger.rows_of(shown)]
        return pages.get_paginated_response(rows)

    @endpoint(gives=ParticipantDetail)
    def retrieve(self) -> dict[str, Any]:
        """Read about one participant.

        With the evidence of how the answers were given, which is not a verdict.
        """
        participation = self.participation()
        return {"row": _row(participation), "evidence": evidence_of(participation)}

    @endpoint(detail=False, takes=PayManyRequest, gives=PaidSerializer)
    def pay(self) -> Any:
        """Pay all who await payment.

        Or some of them. `total` is the sum that you expect, without fees; with another sum nobody is
        paid. A worker asks the platform, at most once; read the participants again to see the result.
        What no platform pays is recorded as paid by you.
        """
        study, names = self.study(Right.OWN), self.values["participants"]
        chosen = Chosen(None if names is None else tuple(names))
        return pay_awaiting(study=study, chosen=chosen, total=self.values["total"], by=self.by)

    @endpoint(detail=True, takes=BonusRequest, gives=ParticipantRow)
    def bonus(self) -> LedgerRow:
        """Pay a bonus.

        Once for each `request_key`, so a request can be repeated. A worker asks the platform;
        read the participant again to see the result.
        """
        participation = self.participation(Right.OWN)
        pay_bonus(participation=participation, **self.values, by=self.by)
        return _row(participation)

    @endpoint(detail=True, takes=RejectionRequest, gives=ParticipantRow)
    def reject(self) -> LedgerRow:
        """Reject a submission.

        It is not paid, and its ratings do not count. A worker asks the platform; read the participant
        again to see the result.
        """
        participation = self.participation(Right.OWN)
        reject_submission(participation=participation, **self.values, by=self.by)
        return _row(participation)

    @endpoint(detail=True, takes=ExclusionRequest, gives=ParticipantRow)
    def exclude(self) -> LedgerRow:
        """Exclude an annotator.

        The ratings no longer count, and the work is offered to others. The report lists the exclusion
        with its reason.
        """
        participation = self.participation()
        exclude_participant(participation=participation, **self.values, by=self.by)
        return _row(participation)

    @endpoint(detail=True, gives=ParticipantRow)
    def reinstate(self) -> LedgerRow:
        """Reinstate an annotator."""
        participation = self.participation()
        reinstate_participant(participation=participation, by=self.by)
        return _row(participation)


def _row(participation: Participation) -> LedgerRow:
    """Return the participant as they are now; eager workers may have asked the platform."""
    study_ledger = ledger(participation.study)
    return study_ledger.rows_of(study_ledger.people.filter(pk=participation.pk))[0]
