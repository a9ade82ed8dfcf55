"""The steps *Quality*, *Size & pay* and *Analysis plan* of a study."""

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, cast
from urllib.parse import parse_qsl

from django import forms
from django.contrib import admin, messages
from django.db.models import Exists, OuterRef, prefetch_related_objects
from django.forms import modelform_factory
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import urlencode

from annotation.imports.uploads import stored_upload, upload_limits
from annotation.models import Assignment, Rater
from annotation.services.planning import hits_to_collect
from annotation.services.reference_units import (
    ROLES,
    degrade_copies,
    import_reference_units,
    remove_reference_unit,
)
from annotation.services.screening import (
    RoleCount,
    gold_checks_met,
    role_counts,
    screening_of,
    tasks_each,
)
from recruitment.costs import forecast, proposal_for
from recruitment.early_stops import WHO_FAILS, early_stop_rules, who_fails
from recruitment.launch.analysis_plan import FIELD_OF, plan_can_be_followed
from recruitment.launch.texts import most_comparisons
from recruitment.ledger import Ledger
from recruitment.reference_unit_forms import (
    ReferenceUnitsForm,
    labels_forms,
    offered_units_form,
    reference_unit_pages,
    save_labels,
)
from recruitment.services.settings import save_settings
from studies.access import shows_study, studies_of, user_of
from studies.design.analysis_plan import PLAN
from studies.design.design_form import StudyDesignForm
from studies.design.family_rows import FamilyRows, models_of
from studies.design.opened_forms import OpenedModelForm
from studies.design.order_fields import CountsFromOne
from studies.design.step_admin import DesignRows, StepAdmin, step_page
from studies.instance_selection.set_aside import STAGES, left_to_rate
from studies.models import ComprehensionQuestion, Screening, Study, Unit
from studies.models.screening import default_pass_mark
from studies.refusals import form_errors
from studies.services import MOST_ANSWERS, is_frozen
from tiebreak.digits import counted
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.confined import LINES
from tiebreak.report.analysis_plan import ELO_SETTINGS

Response = HttpResponseRedirect
NINE_IN_TEN = "Leave empty for nine in ten of the items: all of up to three, and from four items on, one may be wrong."
# Before the reward is entered.
NO_REWARD = WHO_FAILS.format(" and no reward")
MAIN_MACHINE = (
    "The machine rater whose agreement with annotators is a leading number. Once the study has been opened,"
    " the log and the report say who chose it when."
)
FAMILIES = (
    "A section of the results then says whether a judge prefers texts of its own model family more than people do."
    " Where a model's name suggests a family, it is shown as a proposal and not used until you enter it. Once the"
    " study has been opened, the log and the report say what was changed."
)
REMAIN = (
    " {} of {} remain to be rated with the numbers that are saved: each item of training or the test takes one,"
    " which nobody rates. Comprehension questions, below, take none."
)
ALL_REMAIN = " {} of {} remain to be rated: of so few, also those that training and the test show."
ONE_INSTANCE = (
    " With one instance per task there are at most as many as a system has texts for it: here {n}."
    " For more, choose several instances under “bundling”."
)


USES = "This uses {} of your {}, which nobody rates then."
USES_EACH = "Each item of training or the test that you ask for above uses one of your {}, which nobody rates then."
USES_NONE = "Of your {}, also those that training and the test show are rated, as they are so few."


class ScreeningFields(OpenedModelForm):
    """Screening whose pass mark follows the number of items in the test until one is entered."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        mark = self.fields.get("pass_mark")
        if mark is not None:  # it is read-only once the study is open
            mark.required, mark.initial = False, None
            mark.help_text = f"{mark.help_text} {NINE_IN_TEN}"
            items = self.instance.qualification_units
            if items:
                mark.widget.attrs["placeholder"] = f"{default_pass_mark(items)} of {items}"
            # One that was not entered follows the number of items, also if that changes.
            is_default = not items or self.instance.pass_mark == default_pass_mark(items)
            if self.instance.pk and is_default:
                self.initial["pass_mark"] = None


class ScreeningForm(DesignRows, admin.StackedInline[Screening, Study]):
    model = Screening
    form = ScreeningFields
    fk_name = "study"
    max_num = 1
    can_delete = False
    verbose_name_plural = "Screening and gold checks"
    fieldsets = (
        (
            "Before the first task",
            {
                "fields": (
                    ("training_units", "qualification_units"),
                    ("pass_mark", "qualification_tries"),
                    ("shows_answers", "valid_days", "accepts_from"),
                    ("comprehension_tries",),
                )
            },
        ),
        ("Gold checks", {"fields": (("check_rate", "checks_failed", "check_action"),)}),
    )

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "accepts_from":
            here = request.resolver_match.kwargs["study_id"] if request.resolver_match else ""
            kwargs["queryset"] = studies_of(request.user).exclude(pk=here)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_formset(self, request: HttpRequest, obj: Study | None = None, **kwargs: Any) -> Any:
        """Say at the number of items in the test what becomes of who fails, and how much remains to be rated."""
        formset = super().get_formset(request, obj, **kwargs)
        in_test = formset.form.base_fields.get("qualification_units")
        if obj is not None and in_test is not None:
            fails = NO_REWARD if obj.reward is None else who_fails(obj)
            in_test.help_text += fails + _remain(obj)
        return formset

    def get_extra(self, request: HttpRequest, obj: Study | None = None, **_: Any) -> int:  # noqa: ARG002
        """Show the form of a draft immediately; nothing is stored as long as it is not changed."""
        return int(obj is None or not is_frozen(obj))


def _remain(study: Study) -> str:
    """Say how many instances remain to be rated beside training and the test; "" for a draw, which leaves none out."""
    if is_frozen(study) or study.selected.exists():
        return ""
    screening = screening_of(study) or Screening()
    items = screening.training_units + screening.qualification_units
    remaining, every = left_to_rate(study, items)
    if not every:
        return ""
    return (ALL_REMAIN if items and remaining == every else REMAIN).format(
        remaining, counted(every, "instance")
    )


def _uses(study: Study, counts: list[RoleCount]) -> str:
    """Say how many instances the items take that are missing; "" for a draw, which leaves none out."""
    if is_frozen(study) or study.selected.exists():
        return ""
    asked = [count for count in counts if count.role in STAGES]
    missing = sum(max(0, count.needed - count.present) for count in asked)
    remaining, every = left_to_rate(study, sum(count.needed for count in asked))
    if not every:
        return ""
    instances = counted(every, "instance")
    if not missing:
        return USES_EACH.format(instances)
    return (USES_NONE if remaining == every else USES.format(missing, "{}")).format(instances)


class ComprehensionRows(
    CountsFromOne, DesignRows, admin.StackedInline[ComprehensionQuestion, Study]
):
    model = ComprehensionQuestion
    fields = ("position", "text", "choices", "answer", "explanation")
    verbose_name_plural = "Comprehension questions"


class CollectingStep(StepAdmin):
    """A step with settings that may add places to the plan of an open study, within its budget."""

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:  # noqa: ARG002
        added = save_settings(study=obj, by=user_of(request))
        if added is not None:
            sentence = f"R is now {obj.ratings_per_hit}. Responses that were added to the plan:"
            self.message_user(request, f"{sentence} {added}.")


class QualityStep(CollectingStep):
    """Screening, comprehension questions and reference units, with one form for everything."""

    slug = "quality"
    url_name = "recruitment:quality"
    change_form_template = "recruitment/quality.html"
    inlines = (ScreeningForm, ComprehensionRows)

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:
        page, counts = reference_unit_pages(study, request.GET.get("page")), role_counts(study)
        prefetch_related_objects([study], "criteria")
        return {
            "role_counts": counts,
            "uses": _uses(study, counts),
            "checks_met": gold_checks_met(study, screening_of(study) or Screening()),
            "tasks_each": tasks_each(study),
            "is_limited": study.hits_per_annotator is not None,
            "may_lack": not is_frozen(study) or any(count.is_short for count in counts),
            "page": page,
            "units": labels_forms(study, page),
            "make": offered_units_form(study, counts, request.GET.get("role")),
        }

    def response_change(self, request: HttpRequest, obj: Study) -> Response:
        """Store the labels, then remove or make units, if such a button was pressed."""
        try:
            save_labels(obj, request.POST, request.POST.getlist("units"))
            if key := request.POST.get("_remove"):
                remove_reference_unit(study=obj, key=key)
            elif "_make" in request.POST:
                messages.success(request, _make(request, obj))
        except DomainError as refusal:
            for error in form_errors(refusal):
                messages.error(request, str(error.message), extra_tags=error.code or "")
            return redirect(self.url_name, obj.pk)
        response: Response = super().response_change(request, obj)
        if {"_remove", "_make"} & request.POST.keys():
            role = urlencode({"role": request.POST.get("make-role", "")})
            return redirect(f"{response.url}?{role}#units-heading")
        return response


def _make(request: HttpRequest, study: Study) -> str:
    """Make or read reference units, and return a sentence on what was made."""
    form = ReferenceUnitsForm(request.POST, request.FILES, prefix="make")
    if not form.is_valid():
        problems = [str(sentence) for errors in form.errors.values() for sentence in errors]
        raise DomainError("invalid", " ".join(problems), status=400)
    if request.POST["_make"] == "missing":
        return _make_missing(study, form)
    role, upload = Unit.Role(form.cleaned_data["role"]), form.cleaned_data["rows"]
    if upload is None:
        n, seed = form.cleaned_data["n"], study.units.count()
        perturbation = form.cleaned_data["perturbation"]
        made = degrade_copies(study=study, role=role, n=n, seed=seed, perturbation=perturbation)
        return _made({role: made})
    with stored_upload(upload, LINES) as path:
        made = import_reference_units(study=study, role=role, path=path, limits=upload_limits())
    return _made({role: made})


def _make_missing(study: Study, form: ReferenceUnitsForm) -> str:
    """Make the reference units that the screening needs and the study lacks, and return what was made."""
    chosen, seed, made = form.cleaned_data["perturbation"], study.units.count(), {}
    # Where texts run out, later tasks without a gold check do least harm. They are counted last, because
    # there are fewer tasks once the test shows some instances.
    for role in sorted(ROLES, key=lambda role: role == Unit.Role.GOLD):
        count = next(one for one in role_counts(study) if one.role == role)
        if n := max(0, count.needed - count.present):
            made[role] = degrade_copies(study=study, role=role, n=n, seed=seed, perturbation=chosen)
    return _made(made)


def _made(numbers: Mapping[Unit.Role, int]) -> str:
    """Say how many reference units were made, and for what."""
    if not numbers:
        return "Nothing was missing, so no item was made."
    items = counted(sum(numbers.values()), "item")
    return f"{items} made: {', '.join(f'{n} for {ROLES[role]}' for role, n in numbers.items())}."


def _part(title: str, *fields: str, **options: Any) -> tuple[str, dict[str, Any]]:
    return title, {"fields": fields, **options}


FIRST_SYSTEM = "the first system"
BASELINE = "The system that all others are compared with. Used only with a baseline."


# What a proposal of pay may fill in.
PROPOSED = {"hits_per_annotator", "minutes_per_hit", "promised_hourly_rate", "reward"}


class SizeStep(CollectingStep):
    slug = "size"
    url_name = "recruitment:size"
    change_form_template = "recruitment/size.html"
    fieldsets: ClassVar[Any] = (
        _part(
            "Which systems and samples are compared",
            *("pairing", "baseline_system", "pairs_per_instance", "sample_choice"),
            classes=("collapse",),
        ),
        _part(
            "How much is collected",
            *("ratings_per_hit", "bundling", "comparisons_per_hit", "hits_per_annotator"),
        ),
        _part(
            "Further ratings of some tasks",
            *("further_share", "further_ratings"),
            classes=("collapse",),
        ),
        _part(
            "Time and pay",
            # The promise first: once it is known, the page offers the reward that keeps it.
            *("minutes_per_hit", "currency", "promised_hourly_rate", "reward", "budget"),
        ),
        _part(
            "Repeats and unfinished tasks",
            *("repeats_per_hit", "repeat_distance", "lease_minutes", "abandoned"),
            classes=("collapse",),
        ),
        _part(
            "Limits",
            *("hits_per_day", "most_answers", "most_answers_per_day", "annotators_per_address"),
            *("entries_per_address_per_hour", "unconfirmed_leases"),
            classes=("collapse",),
        ),
    )

    def change_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Let the values of a proposal whose button was pressed count, instead of what was typed there."""
        sent = request.POST.copy()
        for name, value in parse_qsl(sent.pop("_use", [""])[-1]):
            if name in PROPOSED:
                sent[name] = value
        request.POST = cast(Any, sent)
        return super().change_view(request, *args, **options)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """Show the costs of what is typed, also where something else was typed wrongly."""
        costs = priced(self.study)
        return super().render_change_form(request, context | costs, *args, **options)

    def get_form(
        self, request: HttpRequest, obj: Study | None = None, *args: Any, **options: Any
    ) -> Any:
        """Say at N what limits it, and offer the study's systems as the baseline.

        A task about one instance has no more comparisons than texts.
        """
        form = super().get_form(request, obj, *args, **options)
        baseline = form.base_fields.get("baseline_system")
        if baseline is not None and obj is not None:
            names = [system.name for system in obj.ordered_systems()]
            stored = [name for name in [obj.baseline_system] if name not in {*names, ""}]
            choices = [("", FIRST_SYSTEM), *((name, name) for name in (*names, *stored))]
            baseline.widget, baseline.help_text = forms.Select(choices=choices), BASELINE
        n = form.base_fields.get("comparisons_per_hit")
        if n is not None and obj is not None and obj.unit_kind == Study.UnitKind.COMPARISON:
            n.help_text += ONE_INSTANCE.format(n=most_comparisons(obj))
        return form


class AnalysisPlanFields(StudyDesignForm):
    """The analysis plan, which names only what the study has."""

    def clean(self) -> None:
        super().clean()
        typed = copy(self.instance)
        for name in self.cleaned_data.keys() & set(PLAN):
            setattr(typed, name, self.cleaned_data[name])
        for check in plan_can_be_followed(typed):
            name = FIELD_OF[check.code]
            if name in self.fields and name not in self.errors:
                self.add_error(name, forms.ValidationError(check.sentence, code=check.code))


class AnalysisPlanStep(CollectingStep):
    form = AnalysisPlanFields
    slug = "analysis-plan"
    url_name = "recruitment:analysis-plan"
    fieldsets: ClassVar[Any] = (
        _part(
            "Analysis plan",
            *PLAN,
            description="All of this is optional: decisions made before anyone answers. They are"
            " frozen when the study opens, and the report states them with their digest and lists"
            " what departed from them.",
        ),
        _part("What the report leads with", "main_machine", "similarity"),
        _part("Elo ratings", *ELO_SETTINGS, classes=("collapse",)),
        _part("Families of models", "families", classes=("collapse",)),
    )

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
            form.base_fields["families"].widget = FamilyRows(models_of(obj, names))
            form.base_fields["families"].help_text = FAMILIES
            form.base_fields["main_machine"].widget = forms.Select(choices=choices)
            form.base_fields["main_machine"].help_text = MAIN_MACHINE
        return form


def cost_context(
    study: Study, completed: int | None = None, entries: Ledger | None = None
) -> dict[str, Any]:
    """Return what the study costs with its settings, or why that is not known.

    ``completed`` is the number of its completed responses and ``entries`` its ledger, if they are known.
    """
    prefetch_related_objects([study], "channels")
    planned = study.hits.main().count()
    try:
        hits = planned if is_frozen(study) else hits_to_collect(study)
    except (DomainError, InvalidInput) as refusal:
        return {"n_planned": planned, "why_unknown": refusal.message}
    cost = forecast(study, hits=hits, completed=completed, entries=entries)
    return {
        "n_planned": planned,
        "hits": hits,
        "is_planned": hits == planned,
        "cost": cost,
        "early_stop_rules": early_stop_rules(study, hits),
    }


def priced(study: Study) -> dict[str, Any]:
    """Return what the step shows: costs, gold checks, and what an empty one of time, hourly pay and reward follows to be."""
    costs = cost_context(study)
    counts = [] if is_frozen(study) else role_counts(study)
    gold = next((count for count in counts if count.role == Unit.Role.GOLD), None)
    if "hits" not in costs:
        return costs | {"offer": None, "gold": gold}
    offer = proposal_for(study, hits=costs["hits"])
    values = [(offer.field, offer.value), ("hits_per_annotator", offer.maximum)] if offer else []
    use = urlencode([(name, str(value)) for name, value in values if value])
    return costs | {"offer": offer, "use": use, "gold": gold}


@shows_study
def cost_part(request: HttpRequest, study: Study) -> HttpResponse:
    """Return only the costs, with the typed values instead of the stored ones, or only their two sums in a "line"."""
    fields = [name for _, options in SizeStep.fieldsets for name in options["fields"]]
    typed = [name for name in fields if name in request.GET]
    form = modelform_factory(Study, fields=typed)(request.GET, instance=study)
    stored = {name: getattr(study, name) for name in typed}
    form.is_valid()
    for name in form.errors.keys() & stored.keys():
        setattr(study, name, stored[name])
    context = {"study": study, "can_save": True, "is_part": True, **priced(study)}
    name = "price_line" if "line" in request.GET else "costs"
    return render(request, f"recruitment/{name}.html", context)


quality = step_page(QualityStep)
size = step_page(SizeStep)
analysis_plan = step_page(AnalysisPlanStep)
