"""Juries: list, add, and decide what is missing."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import described
from api.serializers.juries import JurySerializer, NewJury
from api.serializers.studies import JobSerializer
from api.validation import checked, checked_form
from api.views.jobs import started
from machine_raters.juries.forms import JuryForm
from machine_raters.juries.services import (
    add_jury,
    juries_of,
    jury_named,
    possible_members,
    start_jury,
)

TAG = "judges"
IMPOSSIBLE = ["nothing_to_decide", "answers_missing", "member_has_budget"]


class Juries(APIView):
    @described("List a study's juries", tag=TAG, responses={200: JurySerializer(many=True)})
    def get(self, request: Request, study_id: str) -> Response:
        juries = juries_of(visible_study(request, study_id))
        return Response(JurySerializer(juries, many=True).data)

    @described(
        "Add a jury",
        tag=TAG,
        description="It combines the answers of machine raters into one label for each item, and"
        " starts at once. It never changes once it exists. Its name is that of its machine rater.",
        request=NewJury,
        responses={201: JurySerializer},
        refusals={400: ["few_members", "no_labels"], 409: [*IMPOSSIBLE, "name_taken"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(NewJury, request.data)
        criterion = study.criteria.filter(name=values["criterion"]).first()
        known = dict(possible_members(study).values_list("pseudonym", "pk"))
        # A name that no machine rater has is refused by the form, like any other choice.
        members = [known.get(name, name) for name in values["members"]]
        form = JuryForm(
            study, values | {"criterion": criterion and criterion.pk, "members": members}
        )
        added = add_jury(study=study, by=researcher(request), **checked_form(form))
        return Response(JurySerializer(jury_named(study, added.public_id)).data, status=201)


class StartJury(APIView):
    @described(
        "Let a jury decide what its members have answered since",
        tag=TAG,
        request=None,
        responses={201: JobSerializer},
        refusals={404: ["no_such_jury"], 409: [*IMPOSSIBLE, "member_excluded", "job_unfinished"]},
    )
    def post(self, request: Request, study_id: str, jury_id: str) -> Response:
        jury = jury_named(visible_study(request, study_id), jury_id)
        return started(start_jury(jury=jury, by=researcher(request)))
