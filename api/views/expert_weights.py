"""Which survey's votes weigh the criteria of a study's discernment scores."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.running_serializers import ExpertWeights, SurveyChoice
from api.schema import described
from api.validation import checked
from metrics.expert_weights import surveys_for, use_expert_weights, weights_of
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
        study = visible_study(request, study_id)
        return Response(
            ExpertWeights({"survey": study.weights_from_id, "weights": weights_of(study)}).data
        )

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
        weights = use_expert_weights(study=study, survey=survey, by=user)
        return Response(ExpertWeights({"survey": name, "weights": weights}).data)
