"""Which survey's votes weigh the criteria of a study's discernment scores, and making that survey."""

from dataclasses import asdict

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import creator, researcher, visible_studies, visible_study
from api.schema import described
from api.serializers.running_study import ExpertWeights, SurveyChoice
from api.serializers.studies import StudyDetail
from api.validation import checked
from api.views.design import created
from metrics.planning.expert_weights import (
    made_survey,
    surveys_for,
    use_expert_weights,
    votes_in,
    weights_of,
)
from studies.design.expert_surveys import make_expert_survey
from studies.models import Study
from tiebreak.errors import DomainError

TAG = "licences"
NO_SURVEY = (
    "There is no survey with this id whose votes you may read. Give the id of a nominal study."
)


class ExpertWeightsView(APIView):
    @described(
        "Read experts' weights of a study's criteria",
        tag=TAG,
        description="Shares of votes by perturbation; empty while all criteria have equal weights.",
        responses={200: ExpertWeights},
    )
    def get(self, request: Request, study_id: str) -> Response:
        return _weights(request, visible_study(request, study_id))

    @described(
        "Choose the survey whose votes weigh a study's criteria",
        tag=TAG,
        description="Without a survey, all criteria have equal weights again.",
        request=SurveyChoice,
        responses={200: ExpertWeights},
        refusals={404: ["no_such_survey"], 409: ["no_votes", "other_perturbations"]},
    )
    def put(self, request: Request, study_id: str) -> Response:
        study, user = visible_study(request, study_id), researcher(request)
        name = checked(SurveyChoice, request.data)["survey"]
        survey = surveys_for(user, study).filter(pk=name).first() if name else None
        if name and survey is None:
            raise DomainError("no_such_survey", NO_SURVEY, status=404)
        use_expert_weights(study=study, survey=survey, by=user)
        return _weights(request, Study.objects.get(pk=study.pk))


class ExpertSurveyView(APIView):
    @described(
        "Make a survey for experts from a scoring study",
        tag=TAG,
        description="A draft with an item for each perturbation, whose choices are the study's criteria."
        " If the study has a survey already, that one is returned, with status 200.",
        request=None,
        responses={201: StudyDetail, 200: StudyDetail},
        refusals={
            403: ["needs_all_studies"],
            409: [
                *("not_a_scoring_study", "too_few_criteria", "names_are_no_labels"),
                *("no_perturbed_copies", "survey_of_others"),
            ],
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study, owner = visible_study(request, study_id), creator(request)
        made = make_expert_survey(study=study, owner=owner)
        body = StudyDetail(made.survey).data
        return created(made.survey, body) if made.is_new else Response(body)


def _weights(request: Request, study: Study) -> Response:
    """Return the weights in use, and the survey that was made from the study with its votes."""
    survey = made_survey(researcher(request), study)
    if survey and not visible_studies(request).filter(pk=survey.pk).exists():
        survey = None
    made = {"id": survey.pk, **asdict(votes_in(survey))} if survey else None
    content = {"survey": study.weights_from_id, "weights": weights_of(study), "made_survey": made}
    return Response(ExpertWeights(content).data)
