"""The Generate & select page: generating texts, scoring separability, selecting instances."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import trigger_client_event

from annotation.pilot_doubts import frames_for
from annotation.pilot_gains import PilotGain, pilot_gains
from annotation.services.dummy_texts import dummy_texts, remove_dummy_generations
from annotation.services.planning import draw_and_plan, forecast_plan, take_all_and_plan
from jobs.models import Job
from jobs.rows import job_rows, newest_and_unfinished
from metrics.job_views import CHANGES
from metrics.messages import (
    GENERATION_STARTED,
    JOBS_ENDED,
    NO_SUCH_JOB,
    PILOT_SAVES,
    PILOT_SAVES_NOTHING,
    SCORING_STARTED,
    TRIAL_STARTED,
)
from metrics.planning.forms import DesignForm, Researcher, design_form, sampling_form, scoring_form
from metrics.planning.score_distributions import scored_similarities
from metrics.planning.separability_figure import selection_chart, separability_figure
from metrics.planning.stages import stages_of
from metrics.planning.trials import trial_of
from recruitment.confirmations import replacing_plan
from studies.access import Right, of_study, researchers_only, shows_study, study_for, user_of
from studies.confirming import Question, ask, is_confirmed
from studies.data.dataset_jobs import dataset_of, jobs_of, start_dataset_job
from studies.instance_selection.drawing import (
    extremes,
    proposed_instances,
    selection_previews,
)
from studies.instance_selection.robustness import similarity_of_parts, variants
from studies.instance_selection.sampling import (
    SamplingJob,
    start_sampling,
)
from studies.instance_selection.score_rows import normalised_of
from studies.instance_selection.scoring import ScoringJob
from studies.instance_selection.set_aside import every_instance_is_used, set_aside
from studies.instance_selection.trial import SystemTrialJob, start_trial
from studies.models import Generation, SeparabilityScore, Study, System, Unit
from studies.refusals import form_errors, told_on
from tiebreak.digits import money
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.identifiers import looks_like_public_id
from tiebreak.reading.figures.separability import alignments_figure
from tiebreak.reading.shown import Number, number
from tiebreak.similarity import similarity_title
from tiebreak.stats.design.drawing import drawn_from
from tiebreak.stats.design.separability import scenario_shares

Json = dict[str, Any]
MAX_JOBS = 6
MAX_POINTS = 2_000
# Differences are marked in this many words and spaces, as the time to compare is quadratic.
MAX_MARKED = 1_000
# A page whose address says which results to show has them immediately; others load them afterwards.
OF_RESULTS = {"pair", "similarity", "robustness"}


@shows_study
def generate_select(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the page, with a preview if the query string has a design; nothing is drawn."""
    return render(request, "metrics/generate_select.html", _page(request, study))


@require_safe
@researchers_only
def jobs(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return only the list of jobs, which the page polls so that the forms keep their values."""
    return _jobs_part(request, study_for(request.user, public_id, Right.READ))


@shows_study
def results(request: HttpRequest, study: Study) -> HttpResponse:
    return render(request, "metrics/generate_select_results.html", _results(request, study))


@shows_study
def selection_preview(request: HttpRequest, study: Study) -> HttpResponse:
    context = _selection(study, design_form(study, request.GET, request.user)) | {"is_part": True}
    return render(request, "metrics/selection_preview.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@of_study(Right.CHANGE)
def act(request: HttpRequest, study: Study, action: str) -> HttpResponse:
    if action not in STEPS and action not in ACTIONS:
        raise Http404("This page has no such action.")
    if request.method != "POST":  # the page was reloaded after it showed a refused form here
        return redirect("metrics:generate-select", study.pk)
    return _submit(request, study, action) if action in STEPS else _perform(request, study, action)


def _submit(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """Run a step if its form is valid and confirmed, otherwise show the form with its values."""
    step = STEPS[name]
    form = step.form(study, request.POST, request.user)
    if form.is_valid():
        with told_on(form):
            question = step.question(study, form) if step.question else None
            if question is not None and not is_confirmed(request, question):
                return ask(request, question, back=_page_url(study), carry=_entered(form))
            messages.success(request, step.run(study, form, user_of(request)))
            return redirect("metrics:generate-select", study.pk)
    return render(
        request, "metrics/generate_select.html", _page(request, study, {name: form}), status=400
    )


def _page_url(study: Study) -> str:
    return reverse("metrics:generate-select", args=[study.pk])


def _entered(form: forms.BaseForm) -> list[tuple[str, str]]:
    return [(field.html_name, str(field.value())) for field in form if field.value() is not None]


def _perform(request: HttpRequest, study: Study, action: str) -> HttpResponse:
    question = _question_before_taking_all(study) if action == "take-all" else None
    if question is not None and not is_confirmed(request, question):
        return ask(request, question, back=_page_url(study))
    code = ""
    try:
        level, message = messages.SUCCESS, ACTIONS[action](request, study)
    except DomainError as refusal:
        level, message, code = messages.ERROR, refusal.message, refusal.code
    if "HX-Request" in request.headers:
        return _jobs_part(request, study, message, code)
    messages.add_message(request, level, message, extra_tags=code)
    return redirect("metrics:generate-select", study.pk)


def _page(request: HttpRequest, study: Study, refused: Json | None = None) -> Json:
    page_forms = {name: step.form(study, None, request.user) for name, step in STEPS.items()}
    if "design" in request.GET:
        page_forms["draw"] = design_form(study, request.GET, request.user)
    page_forms |= refused or {}
    tried = page_forms.pop("try")
    selection, jobs = _selection(study, cast(DesignForm, page_forms["draw"])), _jobs(study)
    return {
        "here": "generate-select",
        # The button that leads on is the page's own until tasks are planned.
        "can_save": not selection["is_planned"],
        "study_similarity": similarity_title(study.similarity),
        "sampling_form": tried if tried.is_bound else page_forms["sample"],
        "scoring_form": page_forms["score"],
        "planned_cost": _cost(study, jobs["stages"].places),
        **jobs,
        **(_results(request, study) if OF_RESULTS & request.GET.keys() else {"study": study}),
        **selection,
    }


def _jobs(study: Study) -> Json:
    """Return the jobs, and what there is because of them."""
    kinds = [SamplingJob.name, ScoringJob.name, SystemTrialJob.name]
    rows = job_rows(newest_and_unfinished(jobs_of(study).filter(kind__in=kinds), MAX_JOBS))
    return {
        "study": study,
        "jobs": rows,
        "is_moving": any(row.job.is_moving for row in rows),
        "trial": trial_of(study),
        "stages": stages_of(study),
        "is_draft": study.status == Study.Status.DRAFT,
    }


def _jobs_part(
    request: HttpRequest, study: Study, message: str = "", code: str = ""
) -> HttpResponse:
    """Return the list of jobs; when no job is running, make the page reload the results."""
    context = _jobs(study)
    if not context["is_moving"]:
        message = message or JOBS_ENDED
    context |= {"status_message": message, "code": code, "is_part": True}
    response = render(request, "metrics/generate_select_jobs.html", context)
    return response if context["is_moving"] else trigger_client_event(response, "jobs-ended")


def _results(request: HttpRequest, study: Study) -> Json:
    """Return the texts and scores to show, for the pair and the similarity in the query string."""
    similarities = sorted({study.similarity, *scored_similarities(study)})
    requested = request.GET.get("similarity", "")
    shown = requested if requested in similarities else study.similarity
    is_robustness = "robustness" in request.GET and shown == study.similarity
    pairs = study.system_pairs()
    asked = request.GET.get("pair", "")
    is_pair = asked.isdecimal() and 1 <= int(asked[:9]) <= len(pairs)
    number = int(asked) if is_pair else 1
    query = {"similarity": shown, "pair": number} | ({"robustness": 1} if is_robustness else {})
    return {
        "study": study,
        "dummies": dummy_texts(study.dataset) if study.dataset else None,
        "figure": separability_figure(study, shown),
        # For the addresses of figures, which those of scores do not depend on.
        "criterion": getattr(study.criteria.first(), "name", "preference"),
        "pair": _pair(study, pairs[number - 1], shown, with_variants=is_robustness)
        if pairs
        else None,
        "pair_number": number,
        "pair_names": [_name(pair) for pair in pairs],
        "similarity": shown,
        "shown": similarity_title(shown),
        "study_similarity": similarity_title(study.similarity),
        "is_study_similarity": shown == study.similarity,
        "query": urlencode(query),
        "other_similarities": [
            (name, similarity_title(name)) for name in similarities if name != shown
        ],
        "is_robustness": is_robustness,
        "parts_similarity": similarity_title(similarity_of_parts(study)),
    }


def _name(pair: tuple[System, System]) -> str:
    return f"{pair[0].name} – {pair[1].name}"


def _selection(study: Study, form: DesignForm) -> Json:
    is_draft = study.status == Study.Status.DRAFT
    has_design = is_draft and form.is_bound and form.is_valid()
    previews = _selection_previews(study, form) if has_design else None
    selected = list(study.selected.all())
    return {
        "study": study,
        "previews": previews,
        "design_form": form,
        "drawn": len(selected),
        "is_draft": is_draft,
        "is_planned": not is_draft or study.units.filter(role=Unit.Role.MAIN).exists(),
        "chosen": selection_chart(study, previews["chosen"] if previews else selected),
    }


def _selection_previews(study: Study, form: DesignForm) -> Json | None:
    """Return what a design would select, plan and cost; if it is refused, add the form's error."""
    names = {system.pk: system.name for pair in study.system_pairs() for system in pair}
    try:
        design = form.save(commit=False)
        frames = frames_for(study, design)
        previews = selection_previews(study, design, frames)
        chosen = proposed_instances(study, design, frames)
        plan = forecast_plan(study=study, selected=chosen)
        gains = list(pilot_gains(study, design)) if design.pilot else []
    except (DomainError, InvalidInput) as refusal:
        form.add_error(None, form_errors(refusal))
        return None
    planned = {(pair.system_a, pair.system_b): pair for pair in plan.pairs}
    return {
        "rows": [
            (f"{names[a]} – {names[b]}", preview, planned.get((a, b)))
            for (a, b), preview in previews.items()
        ],
        "plan": plan,
        "chosen": chosen,
        "gains": [(way, _gains_by_pair(way, names)) for way in gains],
        "pilot_finding": _pilot_finding(gains),
        "cost": _cost(study, plan.places),
        "design": _entered(form),
    }


def _gains_by_pair(way: PilotGain, names: dict[int, str]) -> list[tuple[str, Number]]:
    return [
        (f"{names[a]} – {names[b]}", number(gain, low=0, high=2, reference=1))
        for (a, b), gain in way.gains.items()
    ]


def _pilot_finding(gains: Sequence[PilotGain]) -> str:
    """Return which ways of choosing are shown to save ratings, for some pair of systems."""
    saving = [
        way.design
        for way in gains
        if any(gain.has_interval and gain.low > 1 for gain in way.gains.values())
    ]
    return PILOT_SAVES.format(ways="; ".join(saving)) if saving else PILOT_SAVES_NOTHING


def _cost(study: Study, places: int) -> str:
    """Return the reward for all places without platform fees, or "" if no reward is set."""
    if study.reward is None or not study.hits_per_annotator:
        return ""
    return f"{money(study.reward * places / study.hits_per_annotator)} {study.currency}"


def _pair(
    study: Study, pair: tuple[System, System], similarity: str, *, with_variants: bool
) -> Json:
    rows = SeparabilityScore.objects.known(pair, similarity)
    points = rows.order_by("pk").values_list(
        "cross_alignment", "self_alignment_a", "self_alignment_b"
    )[:MAX_POINTS]
    scaled = normalised_of(pair, similarity)
    counted = rows.aggregate(n=Count("pk"), truncated=Coalesce(Sum("truncated"), 0))
    return {
        "variants": variants(study, pair) if with_variants else None,
        "name": _name(pair),
        **counted,
        "figure": alignments_figure(
            (pair[0].name, pair[1].name),
            [cross or 0.0 for cross, *_ in points],
            [max(of_a or 0.0, of_b or 0.0) for _, of_a, of_b in points],
            scenario_shares(scenario for _, scenario in scaled.values()),
        ),
        "extremes": [
            (title, [_comparison(score, pair, scaled[score.pk]) for score in scores])
            for title, scores in extremes(pair, similarity).items()
        ]
        if counted["n"]
        else [],
    }


def _comparison(
    score: SeparabilityScore, pair: tuple[System, System], scaled: tuple[float | None, str | None]
) -> Json:
    """Return an instance's score with the first generation of each system."""
    rows = Generation.objects.filter(instance=score.instance_id, system__in=pair)
    texts: dict[int, Generation] = {}
    for generation in rows.order_by("sample_index"):
        texts.setdefault(generation.system_id, generation)
    shown = [texts.get(system.pk, Generation()) for system in pair]
    first, second = (generation.text for generation in shown)
    marked = _marked(first, second), _marked(second, first)
    is_dummy = [generation.is_dummy for generation in shown]
    delta, scenario = scaled
    about = {"score": score, "normalised": delta, "scenario": scenario}
    return about | {"texts": list(zip(pair, marked, is_dummy, strict=True))}


def _marked(text: str, other: str) -> SafeString:
    """Return the text as HTML, with marks on words that differ from the other text.

    Only the beginning of a long text is compared.
    """
    words, others = (re.findall(r"\S+|\s+", whole) for whole in (text, other))
    words, rest = words[:MAX_MARKED], words[MAX_MARKED:]
    others = others[:MAX_MARKED]
    matches = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    parts, end = [], 0
    for start, _, size in matches:
        parts.append(("mark", "".join(words[end:start])))
        parts.append(("span", "".join(words[start : start + size])))
        end = start + size
    parts.append(("span", "".join(rest)))
    elements = [(tag, part, tag) for tag, part in parts if part]
    return format_html_join("", "<{}>{}</{}>", elements)


def _start_sampling(study: Study, form: forms.BaseForm, by: User) -> str:
    start_sampling(study=study, options=form.cleaned_data, by=by)
    return GENERATION_STARTED


def _start_trial(study: Study, form: forms.BaseForm, by: User) -> str:
    name = form.data.get("system", "")
    start_trial(study=study, system=name, options=form.cleaned_data, by=by)
    return TRIAL_STARTED.format(name=name)


def _start_scoring(study: Study, form: forms.BaseForm, by: User) -> str:
    start_dataset_job(study=study, kind=ScoringJob.name, options=form.cleaned_data, by=by)
    return SCORING_STARTED


def _question_before_drawing(study: Study, form: forms.BaseForm) -> Question | None:
    """Return the question, or None if drawing will be refused; raise if nothing can be drawn."""
    if study.status != Study.Status.DRAFT:
        return None
    design = cast(DesignForm, form).save(commit=False)
    frames = frames_for(study, design)
    previews = selection_previews(study, design, frames).values()
    selected = sum(preview.instances for preview in previews)
    known = sum(preview.of for preview in previews)
    kind = drawn_from(design.design)
    return replacing_plan(
        study,
        title="Draw these instances and plan the tasks?",
        button="Draw and plan",
        consequence=f"{selected} of {known} {kind} will be drawn over all pairs of"
        f" systems with the seed {form.cleaned_data['seed']}.",
        facts=sorted(_entered(form)),
    )


def _question_before_taking_all(study: Study) -> Question | None:
    if study.status != Study.Status.DRAFT or not (study.selected.exists() or study.units.exists()):
        return None
    return replacing_plan(
        study,
        title="Use every instance?",
        button="Use every instance",
        consequence="The draw will be deleted, and tasks will be planned for every instance.",
        facts=(),
    )


def _draw_and_plan(study: Study, form: forms.BaseForm, by: User) -> str:
    design = cast(DesignForm, form).save(commit=False)
    drawn, plan = draw_and_plan(study=study, design=design, by=by)
    return f"Drew {drawn} instances and planned {plan.summary}"


@dataclass(frozen=True)
class Step:
    """A form, a function that runs if it is valid and returns a message, and a question before."""

    form: Callable[[Study, Any, Researcher], forms.BaseForm]
    run: Callable[[Study, forms.BaseForm, User], str]
    question: Callable[[Study, forms.BaseForm], Question | None] | None = None


STEPS: dict[str, Step] = {
    "try": Step(lambda study, data, _user: sampling_form(study, data), _start_trial),
    "sample": Step(lambda study, data, _user: sampling_form(study, data), _start_sampling),
    "score": Step(lambda study, data, _user: scoring_form(study, data), _start_scoring),
    "draw": Step(design_form, _draw_and_plan, _question_before_drawing),
}


def _take_all(request: HttpRequest, study: Study) -> str:
    plan = take_all_and_plan(study=study, by=user_of(request))
    return f"{every_instance_is_used(len(set_aside(study)))} Planned {plan.summary}"


def _job(request: HttpRequest, study: Study) -> Job:
    public_id = request.POST.get("job", "")
    # PostgreSQL refuses to look up some texts, such as one with a NUL.
    known = looks_like_public_id(public_id)
    job = jobs_of(study).filter(public_id=public_id).first() if known else None
    if job is None:
        raise DomainError("no_such_job", NO_SUCH_JOB, status=404)
    return job


def _change_job(
    change: Callable[..., object], told: str, request: HttpRequest, study: Study
) -> str:
    change(job=_job(request, study))
    return told


def _remove_dummies(request: HttpRequest, study: Study) -> str:
    number = request.POST.get("number", "")
    confirmed = int(number) if number.isdecimal() and number.isascii() else -1
    removed = remove_dummy_generations(dataset=dataset_of(study), confirmed=confirmed)
    return f"Removed {removed.texts} dummy texts and everything that was computed from them."


ACTIONS: dict[str, Callable[[HttpRequest, Study], str]] = {
    "take-all": _take_all,
    **{name: partial(_change_job, *change) for name, change in CHANGES.items()},
    "remove-dummies": _remove_dummies,
}
