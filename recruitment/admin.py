"""Extends the study's admin page with planning, opening, progress and reference units."""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_http_methods, require_POST
from django.views.generic import RedirectView

from annotation.counts import progress_of
from annotation.imports.uploads import stored_upload, upload_limits
from annotation.models import Assignment, Place, Rater
from annotation.services.late_answers import late_answers
from annotation.services.reference_units import (
    OBVIOUS,
    ROLES,
    degrade_copies,
    import_reference_units,
)
from recruitment.confirmations import quality
from recruitment.reference_unit_forms import ReferenceUnitsForm, role_counts
from recruitment.services.cloning import clone_study
from recruitment.services.launch_checks import launch_checks
from recruitment.services.settings import save_settings
from recruitment.study_actions import ACTIONS, offered_actions
from studies.access import Right, check_right, right_for, studies_of, study_for
from studies.admin import FrozenInline, StudyAdmin
from studies.confirming import Question, ask, is_confirmed
from studies.design.opened_forms import OpenedModelForm
from studies.design.order_fields import CountsFromOne
from studies.design.steps import count_of
from studies.models import ComprehensionQuestion, Screening, Study, Unit
from studies.refusals import told_on
from studies.services import MOST_ANSWERS
from tiebreak.errors import DomainError
from tiebreak.formats.confined import LINES
from tiebreak.reading.words import counted

if TYPE_CHECKING:
    ScreeningStacked = admin.StackedInline[Screening, Study]
    ComprehensionStacked = admin.StackedInline[ComprehensionQuestion, Study]
else:
    ScreeningStacked = ComprehensionStacked = admin.StackedInline


CLONED = (
    "This is the clone: a separate draft with the same design, screening, reference items, selected"
    " instances and channels. Plan its tasks and connect its platforms again."
)


NINE_IN_TEN = "Leave empty for nine in ten of the items, rounded up."
# The actions that the list of studies offers.
LISTED = ("plan", "open", "pause", "close", "reopen")


class ScreeningFields(OpenedModelForm):
    """Screening whose pass mark follows the number of items in the test until one is entered."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        mark = self.fields.get("pass_mark")
        if mark is not None:  # it is read-only once the study is open
            mark.required, mark.initial = False, None
            mark.help_text = f"{mark.help_text} {NINE_IN_TEN}"
            if self.instance.pk and not self.instance.qualification_units:
                self.initial["pass_mark"] = None  # that of no test


class ScreeningInline(FrozenInline, ScreeningStacked):
    model = Screening
    form = ScreeningFields
    fk_name = "study"
    extra = 0
    max_num = 1
    can_delete = False
    verbose_name_plural = "Screening before the first task, and gold checks"
    fieldsets = (
        (
            "Before the first task",
            {
                "fields": (
                    ("comprehension_tries", "training_units"),
                    ("qualification_units", "pass_mark", "qualification_tries"),
                    ("shows_answers", "valid_days", "accepts_from"),
                )
            },
        ),
        ("Gold checks", {"fields": (("check_rate", "checks_failed", "check_action"),)}),
    )

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "accepts_from":
            kwargs["queryset"] = studies_of(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class ComprehensionInline(CountsFromOne, FrozenInline, ComprehensionStacked):
    model = ComprehensionQuestion
    extra = 0
    fields = ("position", "text", "choices", "answer", "explanation")
    verbose_name_plural = "Comprehension questions, asked first"


class CollectingStudyAdmin(StudyAdmin):
    change_form_template = "admin/studies/study/change_form.html"
    inlines = (*StudyAdmin.inlines, ScreeningInline, ComprehensionInline)
    list_display = (*StudyAdmin.list_display, "completed_places")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        """Return the studies, in the list with their numbers of places."""
        studies = super().get_queryset(request)
        name = request.resolver_match.url_name if request.resolver_match else None
        if name != "studies_study_changelist":
            return studies
        places = Place.objects.filter(study=OuterRef("pk"))
        done = count_of(places.filter(completed_at__isnull=False))
        return studies.annotate(total=count_of(places), done=done)

    @admin.display(description="responses completed")
    def completed_places(self, study: Any) -> str:
        return f"{study.done} of {study.total}"

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer the actions on one study for all selected studies as well."""
        offered: dict[str, Any] = super().get_actions(request)
        for name in LISTED:
            do, key = partial(CollectingStudyAdmin._each, action=name), f"{name}_selected"
            offered[key] = (do, key, ACTIONS[name].label.removesuffix("…"))
        return offered

    def _each(self, request: HttpRequest, queryset: Any, action: str) -> HttpResponse | None:
        """Apply the action to all selected studies, after one confirmation for all of them."""
        studies = list(queryset)
        questions = self._questions(studies, action)
        if questions and not is_confirmed(request, list(questions.values())):
            back = reverse("admin:studies_study_changelist")
            carry = [("action", f"{action}_selected"), *_selected(request)]
            return ask(request, list(questions.values()), back=back, carry=carry)
        for study in studies:
            self._do(request, study, action, questions.get(study.pk))
        return None

    def _questions(self, studies: list[Study], action: str) -> dict[str, Question]:
        questions = {study.pk: ACTIONS[action].question_for(study) for study in studies}
        return {key: question for key, question in questions.items() if question is not None}

    def _do(
        self, request: HttpRequest, study: Study, action: str, question: Question | None
    ) -> None:
        try:
            check_right(request.user, study, Right.CHANGE)
            sentence = ACTIONS[action].do(study, cast(User, request.user), question)
        except DomainError as error:
            message = f"{study.title}: {error.message}"
            self.message_user(request, message, messages.ERROR, extra_tags=error.code)
        else:
            self.message_user(request, f"{study.title}: {sentence}", messages.SUCCESS)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        urls = [
            path(
                "import/",
                view(RedirectView.as_view(pattern_name="annotation:new-study")),
                name="studies_study_import",
            ),
            path(
                "<str:object_id>/do/<str:action>/",
                view(require_http_methods(["GET", "HEAD", "POST"])(self.do_view)),
                name="studies_study_do",
            ),
            path(
                "<str:object_id>/reference-units/",
                view(self.reference_units_view),
                name="studies_study_reference_units",
            ),
            path(
                "<str:object_id>/clone/",
                view(require_POST(self.clone_view)),
                name="studies_study_clone",
            ),
        ]
        return urls + super().get_urls()

    def do_view(self, request: HttpRequest, object_id: str, action: str) -> HttpResponse:
        """Apply an action to the study, after a confirmation if it cannot be undone."""
        study = study_for(request.user, object_id)
        if action not in ACTIONS:
            return self._back(study)
        if ACTIONS[action].question is None and request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        question = self._questions([study], action).get(study.pk)
        if question is not None and not is_confirmed(request, [question]):
            return ask(request, [question], back=self._address(study))
        self._do(request, study, action, question)
        return self._back(study)

    def response_change(self, request: HttpRequest, obj: Study) -> HttpResponse:
        """Apply the action whose button was pressed, after the form was saved."""
        action = request.POST.get("_do", "")
        if action not in {*ACTIONS, "clone", "reference-units"}:
            return super().response_change(request, obj)
        if action == "clone":
            return self.clone_view(request, obj.pk)
        if action == "reference-units":
            return redirect("admin:studies_study_reference_units", obj.pk)
        if ACTIONS[action].question is not None:
            return self._ask(request, obj, action)
        self._do(request, obj, action, None)
        return self._back(obj)

    def _ask(self, request: HttpRequest, study: Study, action: str) -> HttpResponseRedirect:
        """Lead to the confirmation of an action, after what the confirmation is about."""
        try:
            ACTIONS[action].prepare_question(study)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR, extra_tags=error.code)
            return self._back(study)
        return redirect("admin:studies_study_do", study.pk, action)

    def clone_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        clone = clone_study(study=study_for(request.user, object_id))
        self.message_user(request, CLONED, messages.SUCCESS)
        if clone.not_copied:
            self.message_user(request, f"Not copied: {', '.join(clone.not_copied)}.")
        return redirect("studies:data", clone.study.pk)

    def reference_units_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Create reference units on a separate page so that neither form loses typed values."""
        study = study_for(request.user, object_id, right_for(request))
        is_sent = request.method == "POST"
        form = ReferenceUnitsForm(request.POST, request.FILES) if is_sent else ReferenceUnitsForm()
        if is_sent and form.is_valid():
            with told_on(form):
                n = make_reference_units(study, form)
                name = ROLES[Unit.Role(form.cleaned_data["role"])]
                self.message_user(
                    request, f"Created {counted(n, 'item')} for {name}.", messages.SUCCESS
                )
                return self._back(study)
        counts = Counter(study.units.exclude(role=Unit.Role.MAIN).values_list("role", flat=True))
        context = {
            **self.admin_site.each_context(request),
            "form": form,
            "study": study,
            "reference_units": [
                (name, counts[role]) for role, name in ROLES.items() if counts[role]
            ],
            "title": "Create reference items",
        }
        return render(request, "admin/studies/study/reference_units.html", context)

    def _back(self, study: Study) -> HttpResponseRedirect:
        return redirect(self._address(study))

    def _address(self, study: Study) -> str:
        return reverse("admin:studies_study_change", args=[study.pk])

    def get_form(
        self, request: HttpRequest, obj: Study | None = None, change: bool = False, **options: Any
    ) -> Any:
        """Offer the machine raters that the study has, and the one that was chosen before."""
        form = super().get_form(request, obj, change, **options)
        if obj is not None and "main_machine" in form.base_fields:
            theirs = Assignment.objects.filter(rater=OuterRef("pk"), hit__study=obj)
            machines = Rater.objects.filter(Exists(theirs), kind=Rater.Kind.MACHINE)
            names = {*machines.values_list("pseudonym", flat=True), obj.main_machine} - {""}
            choices = [("", MOST_ANSWERS), *((name, name) for name in sorted(names))]
            form.base_fields["main_machine"].widget = forms.Select(choices=choices)
        return form

    def store(self, request: HttpRequest, study: Study) -> None:
        added = save_settings(study=study, by=cast(User, request.user))
        if added is not None:
            sentence = f"R is now {study.ratings_per_hit}. Responses that were added to the plan:"
            self.message_user(request, f"{sentence} {added}.")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        study = options.get("obj")
        if study is not None and "here" not in context:  # a step shows no more than its part
            # A refused form has changed its object, but not the stored study.
            stored = study if request.method == "GET" else Study.objects.get(pk=study.pk)
            context |= _state(stored)
        return super().render_change_form(request, context, *args, **options)


def _state(study: Study) -> dict[str, Any]:
    """Return what the page says about a study above its settings."""
    is_draft = study.status == Study.Status.DRAFT
    late = None if is_draft else late_answers(study)
    checks = launch_checks(study) if study.status != Study.Status.OPEN else []
    return {
        "progress": progress_of(study),
        "verbs": offered_actions(study, checks, has_late=late is not None),
        "checks": checks if is_draft else [],
        "late": () if late is None else quality(late),
    }


def _selected(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the selected rows of the list, which the confirmation form has to send again."""
    selected_rows = [
        (ACTION_CHECKBOX_NAME, key) for key in request.POST.getlist(ACTION_CHECKBOX_NAME)
    ]
    return [*selected_rows, ("select_across", request.POST.get("select_across", "0"))]


def make_missing_units(study: Study, form: ReferenceUnitsForm) -> None:
    """Make the reference units that the screening needs and the study lacks."""
    chosen = form.cleaned_data["perturbation"] or OBVIOUS
    for count in role_counts(study):
        if n := max(0, count.needed - count.present):
            degrade_copies(study=study, role=count.role, n=n, perturbation=chosen)


def make_reference_units(study: Study, form: ReferenceUnitsForm) -> int:
    role, upload = Unit.Role(form.cleaned_data["role"]), form.cleaned_data["rows"]
    if upload is None:
        n, seed = form.cleaned_data["n"], study.units.count()
        perturbation = form.cleaned_data["perturbation"] or OBVIOUS
        return degrade_copies(study=study, role=role, n=n, seed=seed, perturbation=perturbation)
    with stored_upload(upload, "known.jsonl", LINES) as path:
        return import_reference_units(study=study, role=role, path=path, limits=upload_limits())


admin.site.unregister(Study)
admin.site.register(Study, CollectingStudyAdmin)
