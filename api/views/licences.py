"""Licences of machine raters: read the evidence, list, grant, follow up and revoke."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import creator, researcher, visible_study
from api.schema import described
from api.serializers.licences import (
    EvidenceQuery,
    LicenceEvidenceSerializer,
    LicenceSerializer,
    NewFollowUp,
    NewLicence,
    Revocation,
)
from api.serializers.studies import StudyDetail
from api.validation import checked, checked_form
from api.views.design import created
from metrics.licensing.evidence import evidence_rows
from metrics.licensing.follow_ups import make_follow_up
from metrics.licensing.forms import LicenceForm, WhoRatesForm
from metrics.licensing.services import grant_licence, licence_named, licences_of, revoke_licence

TAG = "licences"


class LicenceEvidence(APIView):
    @described(
        "Read what speaks for licensing machine raters",
        tag=TAG,
        description="A row per machine rater and kind of item, of the current ratings. Of many rows"
        " some pass or fail by chance.",
        query=EvidenceQuery,
        responses={200: LicenceEvidenceSerializer(many=True)},
        refusals={409: ["evidence_pending"], 503: ["no_broker"]},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked_form(WhoRatesForm(study, checked(EvidenceQuery, request.query_params)))
        rows = evidence_rows(study, values["criterion"], values["annotators"])
        return Response(LicenceEvidenceSerializer(rows, many=True).data)


class Licences(APIView):
    @described("List a study's licences", tag=TAG, responses={200: LicenceSerializer(many=True)})
    def get(self, request: Request, study_id: str) -> Response:
        licences = licences_of(visible_study(request, study_id))
        return Response(LicenceSerializer(licences, many=True).data)

    @described(
        "Grant a licence",
        tag=TAG,
        description="Records that a machine rater may stand for an annotator, with the evidence. It"
        " changes nothing else. Refused unless the alternative annotator test passes for these items"
        " with an ε with which coins do not, and agreement is above guessing, and, except in a dry run,"
        " if bots gave all labels.",
        request=NewLicence,
        responses={201: LicenceSerializer},
        refusals={
            400: ["date_is_past"],
            404: ["no_such_evidence"],
            409: [
                *("evidence_pending", "licence_exists", "not_passed", "not_testable"),
                *("coins_pass", "not_above_guessing", "number_unreached", "only_simulated"),
            ],
            503: ["no_broker"],
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked_form(LicenceForm(study, checked(NewLicence, request.data)))
        licence = grant_licence(study=study, by=researcher(request), **values)
        return Response(LicenceSerializer(licence).data, status=201)


class FollowUpView(APIView):
    @described(
        "Make a follow-up study of a licence",
        tag=TAG,
        description="A draft with the same design for a few instances, drawn at random, and the same"
        " judge. Once it is open, its labels are compared with the judge's new answers.",
        request=NewFollowUp,
        responses={201: StudyDetail},
        refusals={
            400: ["too_many"],
            403: ["needs_all_studies"],
            404: ["no_such_licence"],
            409: ["licence_ended", "follow_up_is_draft"],
        },
    )
    def post(self, request: Request, study_id: str, licence_id: str) -> Response:
        study, by = visible_study(request, study_id), creator(request)
        instances = checked(NewFollowUp, request.data)["instances"]
        made = make_follow_up(
            licence=licence_named(study, licence_id), instances=instances, by=by
        ).study
        return created(made, StudyDetail(made).data)


class RevokeLicence(APIView):
    @described(
        "Revoke a licence",
        tag=TAG,
        request=Revocation,
        responses={200: LicenceSerializer},
        refusals={404: ["no_such_licence"], 409: ["licence_ended"]},
    )
    def post(self, request: Request, study_id: str, licence_id: str) -> Response:
        licence = licence_named(visible_study(request, study_id), licence_id)
        reason = checked(Revocation, request.data)["reason"]
        revoke_licence(licence=licence, reason=reason, by=researcher(request))
        return Response(LicenceSerializer(licence).data)
