"""The data of a study: its items, reference items and dummy texts."""

from django.core.paginator import Paginator
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.imports.uploads import stored_upload, upload_limits
from annotation.services.dummy_texts import remove_dummy_generations
from annotation.services.items import items_of, remove_item
from annotation.services.reference_units import (
    degrade_copies,
    expect_labels,
    import_reference_units,
    remove_reference_unit,
)
from api.access import researcher, visible_dataset, visible_study
from api.schema import NOTHING, described
from api.serializers.design import (
    CopiesMade,
    CreatedUnits,
    DatasetChange,
    DatasetDetail,
    DegradedCopies,
    DummiesQuery,
    DummyTextsSerializer,
    ExpectedLabels,
    ItemPage,
    ItemQuery,
    ItemsQuery,
    ModelCopies,
    PerturbedCopies,
    ReferenceRows,
    ReferenceUnitSerializer,
    RefusedCopies,
    UnitQuery,
)
from api.serializers.studies import JobSerializer
from api.validation import checked
from api.views.jobs import started
from studies.access import Right
from studies.data.model_copies import refusals_of, start_model_copies
from studies.data.perturbed_copies import add_perturbed_copies
from studies.models import Unit
from studies.services import delete_dataset
from tiebreak.errors import DomainError
from tiebreak.formats.confined import LINES

TAG = "data"
ITEMS_PER_PAGE = 100
OF_A_DRAFT = {404: ["no_such_unit"], 409: ["not_a_draft"]}


class DatasetView(APIView):
    @described(
        "Read a dataset's name and notes",
        tag=TAG,
        responses={200: DatasetDetail},
        refusals={404: ["no_such_dataset"]},
    )
    def get(self, request: Request, dataset_id: str) -> Response:
        return Response(DatasetDetail(visible_dataset(request, dataset_id)).data)

    @described(
        "Change a dataset's name or notes",
        tag=TAG,
        request=DatasetChange,
        responses={200: DatasetDetail},
        refusals={404: ["no_such_dataset"]},
    )
    def patch(self, request: Request, dataset_id: str) -> Response:
        dataset = visible_dataset(request, dataset_id, Right.CHANGE)
        for name, value in checked(DatasetChange, request.data).items():
            setattr(dataset, name, value)
        dataset.save()
        return Response(DatasetDetail(dataset).data)

    @described(
        "Delete a dataset that no study uses",
        tag=TAG,
        responses=NOTHING,
        refusals={404: ["no_such_dataset"], 409: ["dataset_in_use"]},
    )
    def delete(self, request: Request, dataset_id: str) -> Response:
        delete_dataset(dataset=visible_dataset(request, dataset_id, Right.CHANGE))
        return Response(status=204)


class Items(APIView):
    @described(
        "Read a study's items",
        tag=TAG,
        description="A page of 100 items, of those in which all words of `q` occur.",
        query=ItemsQuery,
        responses={200: ItemPage},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        query = checked(ItemsQuery, request.query_params)
        pages = Paginator(items_of(study, query["q"]), ITEMS_PER_PAGE)
        items = pages.get_page(query["page"]).object_list
        body = {"total": pages.count, "pages": pages.num_pages, "items": items}
        return Response(ItemPage(body).data)

    @described(
        "Remove an item from a draft",
        tag=TAG,
        description="Deletes it with its texts, and the plan of the tasks.",
        query=ItemQuery,
        responses=NOTHING,
        refusals={
            404: ["unknown_item"],
            409: ["not_a_draft", "no_dataset", "dataset_shared", "dataset_busy"],
        },
    )
    def delete(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        remove_item(study=study, key=checked(ItemQuery, request.query_params)["item"])
        return Response(status=204)


class ReferenceUnits(APIView):
    @described(
        "List a study's reference items",
        tag=TAG,
        responses={200: ReferenceUnitSerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        units = visible_study(request, study_id).units.exclude(role=Unit.Role.MAIN)
        rows = units.select_related("instance").order_by("role", "pk")
        return Response(ReferenceUnitSerializer(rows, many=True).data)

    @described(
        "Make reference items from degraded copies",
        tag=TAG,
        description="Each compares a text with a copy of it that was changed on purpose.",
        request=DegradedCopies,
        responses={201: CreatedUnits},
        refusals={409: ["nothing_known", "too_few_texts", "stage_begun"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(DegradedCopies, request.data)
        role, seed = Unit.Role(values["role"]), study.units.count()
        options = {"n": values["n"], "perturbation": values["perturbation"]}
        n = degrade_copies(study=study, role=role, seed=seed, **options)
        return Response(CreatedUnits({"created": n}).data, status=201)

    @described(
        "Change the expected labels of a reference item",
        tag=TAG,
        request=ExpectedLabels,
        responses={200: ReferenceUnitSerializer},
        refusals={
            400: ["labels_missing", "unknown_criterion", "label_not_on_scale"],
            **OF_A_DRAFT,
        },
    )
    def patch(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(ExpectedLabels, request.data)
        expect_labels(study=study, key=values["unit"], labels=values["labels"])
        return Response(ReferenceUnitSerializer(study.units.get(key=values["unit"])).data)

    @described(
        "Remove a reference item of a draft",
        tag=TAG,
        query=UnitQuery,
        responses=NOTHING,
        refusals=OF_A_DRAFT,
    )
    def delete(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        remove_reference_unit(study=study, key=checked(UnitQuery, request.query_params)["unit"])
        return Response(status=204)


class PerturbedCopiesView(APIView):
    @described(
        "Add perturbed copies to a scoring study",
        tag=TAG,
        description="Every text of the study's systems is copied and changed in each of these ways."
        " The copies are scored as the originals are, and are marked as copies in every export.",
        request=PerturbedCopies,
        responses={201: CopiesMade},
        refusals={
            409: [
                *("not_a_draft", "no_dataset", "not_a_scoring_study", "no_copies"),
                *("too_many_copies", "name_too_long", "name_taken"),
            ]
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(PerturbedCopies, request.data)
        made = add_perturbed_copies(
            study=study,
            names=values["perturbations"],
            seed=values["seed"],
            by=researcher(request),
        )
        return Response(CopiesMade(made).data, status=201)


class ModelCopiesView(APIView):
    @described(
        "List answers of a language model that are no perturbed copies",
        tag=TAG,
        description="By perturbation and reason, with the number and an example.",
        responses={200: RefusedCopies(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        return Response(
            RefusedCopies(refusals_of(visible_study(request, study_id)), many=True).data
        )

    @described(
        "Have a language model write perturbed copies",
        tag=TAG,
        description="Every text of the study's systems is shown to the model with each change. What is"
        " stored is not asked for again, so that a further request asks for what is missing.",
        request=ModelCopies,
        responses={201: JobSerializer},
        refusals={
            400: ["no_model", "no_server"],
            409: [
                *("not_a_draft", "no_dataset", "not_a_scoring_study", "too_many_copies"),
                *("name_too_long", "name_taken", "no_such_server", "other_model", "job_unfinished"),
            ],
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(ModelCopies, request.data)
        return started(start_model_copies(study=study, by=researcher(request), **values))


class ReferenceUnitsFile(APIView):
    parser_classes = [MultiPartParser]

    @described(
        "Add reference items from a file",
        tag=TAG,
        description="All rows are stored, or none; `problems` of a refusal lists the lines.",
        request={"multipart/form-data": ReferenceRows},
        responses={201: CreatedUnits},
        refusals={400: ["bad_file"], 409: ["stage_begun"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(ReferenceRows, request.data)
        role = Unit.Role(values["role"])
        with stored_upload(values["rows"], "known.jsonl", LINES) as path:
            n = import_reference_units(study=study, role=role, path=path, limits=upload_limits())
        return Response(CreatedUnits({"created": n}).data, status=201)


class DummyTexts(APIView):
    @described(
        "Remove dummy texts",
        tag=TAG,
        description="Deletes the dummy texts of the study's dataset, and everything that was computed"
        " from them. `number` must be how many there are.",
        query=DummiesQuery,
        responses={200: DummyTextsSerializer},
        refusals={409: ["no_dataset", "job_unfinished", "dummies_changed", "dummies_in_use"]},
    )
    def delete(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        number = checked(DummiesQuery, request.query_params)["number"]
        if study.dataset is None:
            raise DomainError("no_dataset", "The study has no dataset. Please choose one first.")
        removed = remove_dummy_generations(dataset=study.dataset, confirmed=number)
        return Response(DummyTextsSerializer(removed).data)
