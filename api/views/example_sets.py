"""Named sets of examples for judges: list, add and delete."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import NOTHING, described
from api.serializers.judges import ExampleSetSerializer, NewExampleSet
from api.validation import checked
from machine_raters.judging.example_sets import (
    add_example_set,
    delete_example_set,
    example_set_named,
    example_sets_of,
)

TAG = "judges"


class ExampleSets(APIView):
    @described(
        "List a study's sets of examples for judges",
        tag=TAG,
        responses={200: ExampleSetSerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        sets = example_sets_of(visible_study(request, study_id))
        return Response(ExampleSetSerializer(sets, many=True).data)

    @described(
        "Name a set of examples for judges",
        tag=TAG,
        description="The set consists of training items, in the order in which judges read them.",
        request=NewExampleSet,
        responses={201: ExampleSetSerializer},
        refusals={400: ["not_a_training_item", "repeated_item"], 409: ["name_taken"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study, values = visible_study(request, study_id), checked(NewExampleSet, request.data)
        added = add_example_set(study=study, by=researcher(request), **values)
        named = example_set_named(study, added.public_id)
        return Response(ExampleSetSerializer(named).data, status=201)


class DeleteExampleSet(APIView):
    @described(
        "Delete a set of examples that no judge uses",
        tag=TAG,
        responses=NOTHING,
        refusals={404: ["no_such_example_set"], 409: ["example_set_in_use"]},
    )
    def delete(self, request: Request, study_id: str, example_set_id: str) -> Response:
        example_set = example_set_named(visible_study(request, study_id), example_set_id)
        delete_example_set(example_set=example_set, by=researcher(request))
        return Response(status=204)
