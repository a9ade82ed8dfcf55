"""The design of a draft: settings, criteria, systems, screening, templates, clones."""

from typing import Any

from django.db import transaction
from django.forms import modelform_factory
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import creator, researcher, visible_dataset, visible_study
from api.messages import UNKNOWN_STUDY
from api.schema import described
from api.serializers.design import (
    CloneSerializer,
    DesignChange,
    NewFromTemplate,
    NewStudy,
    SystemChange,
    TemplateChoice,
    TemplateSerializer,
)
from api.serializers.studies import ChangedStudy, StudyDetail
from api.validation import checked, checked_form
from metrics.demo import start_demo
from recruitment.services.cloning import clone_study
from recruitment.services.settings import save_settings
from studies.access import studies_of
from studies.admin import StudyDesignForm
from studies.design.opened_forms import NAME
from studies.design.protocols import create_from_protocol, fill_in, protocol_named, protocols
from studies.models import ComprehensionQuestion, Criterion, Screening, Study, StudySystem
from studies.models.settings import SETTINGS
from studies.services import (
    create_study,
    describe_systems,
    save_rows,
    systems_named,
    use_dataset_systems,
)
from tiebreak.errors import DomainError

TAG = "design"


def change_design(study: Study, values: dict[str, Any], request: Request) -> int | None:
    """Save what is given of a design, or nothing. Return how many places more ratings added."""
    names = [name for name in ("title", "dataset", *SETTINGS) if name in values]
    with transaction.atomic():
        added = _save_settings(study, {name: values[name] for name in names}, request)
        for model, rows in _rows(study, values, request).items():
            save_rows(study=study, model=model, rows=rows)
        use_dataset_systems(study=study)
    return added


def _save_settings(study: Study, values: dict[str, Any], request: Request) -> int | None:
    """Save settings by the form of the pages, so that pages and programs have the same rules."""
    if not values:
        return None
    if "dataset" in values:
        visible_dataset(request, values["dataset"])
    form_class: Any = modelform_factory(Study, form=StudyDesignForm, fields=list(values))
    # A program names what it changes, and has opened no page.
    form = form_class(values | {NAME: form_class(instance=study).digests()}, instance=study)
    checked_form(form)
    return save_settings(study=form.instance, by=researcher(request))


def _rows(study: Study, values: dict[str, Any], request: Request) -> dict[type, Any]:
    """Return the rows to replace, by their model."""
    numbered = {"criteria": Criterion, "comprehension": ComprehensionQuestion}
    rows: dict[type, Any] = {
        model: [{**row, "position": n} for n, row in enumerate(values[name])]
        for name, model in numbered.items()
        if name in values
    }
    if "systems" in values:
        systems = systems_named(study, values["systems"])
        rows[StudySystem] = [{"system": s, "position": n} for n, s in enumerate(systems)]
    if "screening" in values:
        screening = values["screening"]
        _check_accepted(screening, request)
        rows[Screening] = [screening] if screening else []
    return rows


def _check_accepted(screening: dict[str, Any] | None, request: Request) -> None:
    other = (screening or {}).get("accepts_from_id")
    if other and not studies_of(request.user).filter(pk=other).exists():
        raise DomainError("unknown_study", UNKNOWN_STUDY, status=404)


class DescribeSystems(APIView):
    @described(
        "Say how systems write texts",
        tag=TAG,
        description="Changes the language models, prompts and decoding settings of the dataset's"
        " systems that are named. They are used when texts are generated.",
        request=SystemChange(many=True),
        responses={200: SystemChange(many=True)},
        refusals={409: ["no_dataset", "unknown_system"]},
    )
    def patch(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        rows = checked(SystemChange, request.data, many=True)
        systems = describe_systems(study=study, rows=rows)
        return Response(SystemChange(systems, many=True).data)


class DraftStudy(APIView):
    @described(
        "Create a study without a file",
        tag=TAG,
        description="A draft for a dataset that is on the server, or without one, with a first"
        " question.",
        request=NewStudy,
        responses={201: StudyDetail},
        refusals={403: ["needs_all_studies"], 404: ["no_such_dataset"]},
    )
    def post(self, request: Request) -> Response:
        owner = creator(request)
        values = checked(NewStudy, request.data)
        if values["dataset"] is not None:
            values["dataset"] = visible_dataset(request, values["dataset"])
        study = create_study(study=Study(**values), owner=owner)
        return created(study, StudyDetail(study).data)


class DemoStudy(APIView):
    @described(
        "Load the demo study",
        tag=TAG,
        description="A job loads it; the study then is in the list of your studies.",
        responses={202: OpenApiResponse(description="The study is being loaded.")},
        refusals={403: ["needs_all_studies"], 409: ["job_unfinished"], 503: ["no_broker"]},
    )
    def post(self, request: Request) -> Response:
        start_demo(by=creator(request))
        return Response(status=202)


class Templates(APIView):
    @described(
        "List the templates of published protocols",
        tag=TAG,
        responses={200: TemplateSerializer(many=True)},
    )
    def get(self, _request: Request) -> Response:
        return Response(TemplateSerializer(protocols(), many=True).data)

    @described(
        "Create a study from a template",
        tag=TAG,
        description="The study has no dataset yet.",
        request=NewFromTemplate,
        responses={201: StudyDetail},
        refusals={403: ["needs_all_studies"], 404: ["no_such_template"]},
    )
    def post(self, request: Request) -> Response:
        owner = creator(request)
        values = checked(NewFromTemplate, request.data)
        protocol = protocol_named(values["template"])
        study = create_from_protocol(protocol=protocol, owner=owner, title=values["title"])
        return created(study, StudyDetail(study).data)


class UseTemplate(APIView):
    @described(
        "Fill in a draft from a template",
        tag=TAG,
        description="Guidelines, consent, criteria, settings, screening, questions and the design of"
        " the selection become those of the template. Title, dataset, systems, members and channels"
        " stay.",
        request=TemplateChoice,
        responses={200: StudyDetail},
        refusals={404: ["no_such_template"], 409: ["frozen_design", "already_planned"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        protocol = protocol_named(checked(TemplateChoice, request.data)["template"])
        filled = fill_in(study=study, protocol=protocol, by=researcher(request))
        return Response(StudyDetail(filled).data)


class CloneStudy(APIView):
    @described(
        "Clone a study",
        tag=TAG,
        description="Creates a draft with the same design and without ratings.",
        responses={201: CloneSerializer},
        refusals={403: ["needs_all_studies"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        creator(request)
        clone = clone_study(study=visible_study(request, study_id))
        return created(clone.study, CloneSerializer(clone).data)


def created(study: Study, body: Any) -> Response:
    """Return the response to a request that made a study."""
    url = reverse("api:study", args=[study.pk])
    return Response(body, status=201, headers={"Location": url})


def changed(study: Study, added: int | None) -> Response:
    stored = Study.objects.get(pk=study.pk)
    return Response(ChangedStudy({"study": stored, "added_places": added}).data)


CHANGE = described(
    "Change a study's design",
    tag=TAG,
    description="What is left out stays as it is; a list replaces the whole list. Once a study was"
    " opened, only settings that do not change what its ratings mean can be changed.",
    request=DesignChange,
    responses={200: ChangedStudy},
    refusals={
        404: ["no_such_dataset"],
        409: ["frozen_design", "ratings_per_hit_shrinks", "unknown_system", "no_dataset"],
    },
)
