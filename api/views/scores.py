"""Which study's scores are set beside a study's pairwise comparisons."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import described
from api.serializers.running_study import ScoresChoice, UsedScores
from api.validation import checked
from metrics.planning.scores_study import scored_by, scoring_studies_for, use_scores
from tiebreak.errors import DomainError

TAG = "licences"
NO_STUDY = (
    "There is no study of single texts with this id and this study's data set whose ratings you may"
    " read. Give the id of one."
)


class ScoresView(APIView):
    @described(
        "Read which study's scores are set beside a study's comparisons",
        tag=TAG,
        description="Used by the section `scoring_against_pairwise` of the report.",
        responses={200: UsedScores},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        raters = scored_by(study.scores_from) if study.scores_from else []
        return Response(UsedScores({"scores": study.scores_from_id, "machine_raters": raters}).data)

    @described(
        "Choose the study whose scores are set beside a study's comparisons",
        tag=TAG,
        description="Without one, scores in the study itself are used.",
        request=ScoresChoice,
        responses={200: UsedScores},
        refusals={404: ["no_such_scores"], 409: ["no_scores"]},
    )
    def put(self, request: Request, study_id: str) -> Response:
        study, user = visible_study(request, study_id), researcher(request)
        name = checked(ScoresChoice, request.data)["scores"]
        scores = scoring_studies_for(user, study).filter(pk=name).first() if name else None
        if name and scores is None:
            raise DomainError("no_such_scores", NO_STUDY, status=404)
        raters = use_scores(study=study, scores=scores, by=user)
        return Response(UsedScores({"scores": name, "machine_raters": raters}).data)
