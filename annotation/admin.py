"""Adds to the study's page what belongs to collecting: planning, opening, progress, preview."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import FileExtensionValidator
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from annotation.counts import study_counts
from annotation.importing import Imported, import_study
from annotation.models import ComprehensionQuestion, Screening
from annotation.services.known_units import ROLES, import_known_units, spoil_copies
from annotation.services.lifecycle import close_study, open_study, pause_study
from annotation.services.planning import grow_ratings_per_hit, plan_hits
from annotation.services.ways_in import has_open_link
from studies.access import studies_of, study_for
from studies.admin import FrozenInline, StudyAdmin
from studies.errors import DomainError
from studies.formats import FormatError
from studies.models import Study, Unit
from studies.services import clone_study, is_frozen

if TYPE_CHECKING:
    ScreeningTabular = admin.StackedInline[Screening, Study]
    ComprehensionTabular = admin.TabularInline[ComprehensionQuestion, Study]
else:
    ScreeningTabular, ComprehensionTabular = admin.StackedInline, admin.TabularInline


def _plan(study: Study) -> str:
    plan = plan_hits(study=study)
    return f"Planned {plan.said}"


def _open(study: Study) -> str:
    open_study(study=study)
    return "The study is open: annotators can start."


def _pause(study: Study) -> str:
    pause_study(study=study)
    return "The study is paused: whoever holds a place may finish it."


def _close(study: Study) -> str:
    close_study(study=study)
    return "The study is closed. Answers that still arrive are kept and flagged late."


# What can be done to a study, in which states it is offered, and what the button says.
VERBS: dict[str, tuple[Callable[[Study], str], set[str], str]] = {
    "plan": (_plan, {"draft"}, "Plan HITs"),
    "open": (_open, {"draft", "paused"}, "Open"),
    "pause": (_pause, {"open"}, "Pause"),
    "close": (_close, {"open", "paused"}, "Close"),
}


class BundleForm(forms.Form):
    bundle = forms.FileField(
        label="Bundle (.zip)",
        help_text="study.toml, instances.jsonl, generations.jsonl, and ratings where there are any",
        validators=[FileExtensionValidator(["zip"])],
    )


@contextmanager
def _stored(upload: "UploadedFile[Any]", name: str) -> Iterator[FilePath]:
    """An upload as a file, under a name of ours."""
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        path = FilePath(folder) / name
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        yield path


def _import_upload(upload: "UploadedFile[Any]", request: HttpRequest) -> Imported:
    with _stored(upload, "bundle.zip") as path:
        return import_study(path=path, owner=cast(User, request.user))


class ScreeningInline(FrozenInline, ScreeningTabular):
    model = Screening
    fk_name = "study"
    extra = 0
    max_num = 1
    can_delete = False
    verbose_name_plural = "Screening: what comes before the first HIT, and checks"
    fieldsets = (
        (
            "Before the first HIT",
            {
                "fields": (
                    ("comprehension_tries", "training_units"),
                    ("qualification_units", "pass_mark", "qualification_tries"),
                    ("shows_answers", "valid_days", "accepts_from"),
                )
            },
        ),
        ("Checks mixed in", {"fields": (("check_rate", "checks_failed", "check_action"),)}),
    )

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "accepts_from":
            kwargs["queryset"] = studies_of(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class ComprehensionInline(FrozenInline, ComprehensionTabular):
    model = ComprehensionQuestion
    extra = 0
    fields = ("position", "text", "choices", "answer", "explanation")
    verbose_name_plural = "Comprehension questions, asked before anything else"


class KnownUnitsForm(forms.Form):
    """How many units to make of originals and spoilt copies, and for what."""

    role = forms.ChoiceField(
        label="for", choices=[(role.value, name) for role, name in ROLES.items()]
    )
    n = forms.IntegerField(label="units", min_value=1, max_value=1000, initial=20)
    rows = forms.FileField(
        label="or from a file (.jsonl)",
        required=False,
        validators=[FileExtensionValidator(["jsonl"])],
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        for field in self.fields.values():
            # The form itself stands below the page's own, and forms do not nest.
            field.widget.attrs["form"] = "known-units"


class CollectingStudyAdmin(StudyAdmin):
    change_form_template = "admin/studies/study/change_form.html"
    inlines = (*StudyAdmin.inlines, ScreeningInline, ComprehensionInline)
    list_display = (*StudyAdmin.list_display, "completed_places")
    actions = ("plan_selected", "open_selected", "pause_selected", "close_selected")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        done = Count("places", filter=Q(places__completed_at__isnull=False))
        return super().get_queryset(request).annotate(total=Count("places"), done=done)

    @admin.display(description="places done")
    def completed_places(self, study: Any) -> str:
        return f"{study.done} of {study.total}"

    @admin.action(description="Plan HITs")
    def plan_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._each(request, queryset, "plan")

    @admin.action(description="Open")
    def open_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._each(request, queryset, "open")

    @admin.action(description="Pause")
    def pause_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._each(request, queryset, "pause")

    @admin.action(description="Close")
    def close_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._each(request, queryset, "close")

    def _each(self, request: HttpRequest, studies: Any, verb: str) -> None:
        for study in studies:
            self._do(request, study, verb)

    def _do(self, request: HttpRequest, study: Study, verb: str) -> None:
        try:
            sentence = VERBS[verb][0](study)
        except DomainError as error:
            self.message_user(request, f"{study.title}: {error.message}", messages.ERROR)
        else:
            self.message_user(request, f"{study.title}: {sentence}", messages.SUCCESS)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("import/", view(self.import_view), name="studies_study_import"),
            path(
                "<str:object_id>/do/<str:verb>/",
                view(require_POST(self.do_view)),
                name="studies_study_do",
            ),
            path(
                "<str:object_id>/known-units/",
                view(require_POST(self.known_units_view)),
                name="studies_study_known_units",
            ),
            path(
                "<str:object_id>/clone/",
                view(require_POST(self.clone_view)),
                name="studies_study_clone",
            ),
        ]
        return own + super().get_urls()

    def do_view(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        study = study_for(request.user, object_id)
        if verb in VERBS:
            self._do(request, study, verb)
        return self._back(study)

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Upload a bundle's .zip: the same import as the command's, all of it or nothing."""
        form = BundleForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            try:
                imported = _import_upload(form.cleaned_data["bundle"], request)
            except FormatError as error:
                form.add_error("bundle", ["Nothing was imported.", *str(error).splitlines()])
            else:
                n = study_counts(imported.study).ratings
                sentence = (
                    f"Imported {imported.instances} instances, {imported.ratings} ratings,"
                    f" {n} of them in the statistics."
                )
                self.message_user(request, sentence, messages.SUCCESS)
                return self._back(imported.study)
        context = {
            **self.admin_site.each_context(request),
            "form": form,
            "title": "Import a bundle",
        }
        return render(request, "admin/studies/study/import.html", context)

    def clone_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        clone = clone_study(study=study_for(request.user, object_id))
        self.message_user(request, "Cloned: this copy is a draft of its own.", messages.SUCCESS)
        return self._back(clone)

    def known_units_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        study = study_for(request.user, object_id)
        form = KnownUnitsForm(request.POST, request.FILES)
        if not form.is_valid():
            self.message_user(request, "Say how many units, or give a .jsonl.", messages.ERROR)
            return self._back(study)
        try:
            n = _make_known_units(study, form)
        except (DomainError, FormatError) as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            name = ROLES[Unit.Role(form.cleaned_data["role"])]
            self.message_user(request, f"Made {n} units for {name}.", messages.SUCCESS)
        return self._back(study)

    def _back(self, study: Study) -> HttpResponseRedirect:
        return redirect(reverse("admin:studies_study_change", args=[study.pk]))

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        stored = Study.objects.filter(pk=obj.pk).first() if change else None
        if stored is not None and is_frozen(stored):
            wanted, obj.ratings_per_hit = obj.ratings_per_hit, stored.ratings_per_hit
            if wanted != stored.ratings_per_hit:
                added = grow_ratings_per_hit(study=stored, ratings_per_hit=wanted)
                obj.ratings_per_hit = wanted
                self.message_user(request, f"R is {wanted} now: {added} places were added.")
        super().save_model(request, obj, form, change)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        study = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if study is not None:
            context["progress"] = study_counts(study)
            context["known_units_form"] = KnownUnitsForm()
            context["known_units"] = _known_units(study)
            context["planned"] = study.hits.main().count()
            context["has_open_link"] = has_open_link(study)
            context["verbs"] = [
                (verb, label)
                for verb, (_, states, label) in VERBS.items()
                if study.status in states
            ]
        return super().change_view(request, object_id, form_url, context)


def _make_known_units(study: Study, form: KnownUnitsForm) -> int:
    role, upload = Unit.Role(form.cleaned_data["role"]), form.cleaned_data["rows"]
    if upload is None:
        n, seed = form.cleaned_data["n"], study.units.count()
        return spoil_copies(study=study, role=role, n=n, seed=seed)
    with _stored(upload, "known.jsonl") as path:
        return import_known_units(study=study, role=role, path=path)


def _known_units(study: Study) -> list[tuple[str, int]]:
    counts = Counter(study.units.exclude(role=Unit.Role.MAIN).values_list("role", flat=True))
    return [(name, counts[role.value]) for role, name in ROLES.items() if counts[role.value]]


admin.site.unregister(Study)
admin.site.register(Study, CollectingStudyAdmin)
