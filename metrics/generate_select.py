"""The page where a researcher sees what is separable and chooses what people will rate."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import trigger_client_event

from annotation.services.dummies import dummy_texts, remove_dummy_generations
from annotation.services.planning import Plan, forecast_plan, plan_hits
from metrics.charts import scenarios_chart, separability_histogram
from metrics.forms import DesignForm, design_form, sampling_form, scoring_form
from recruitment.confirmations import replacing_plan
from studies.access import researchers_only, study_for
from studies.confirming import Question, ask, is_confirmed
from studies.instance_selection.drawing import (
    draw_instances,
    extremes,
    proposed_instances,
    selection_previews,
    take_all_instances,
)
from studies.instance_selection.robustness import similarity_of_parts, variants
from studies.instance_selection.sampling import SAMPLES, is_dummy_job, start_sampling
from studies.jobs import Pace, pace_of, pause_job, resume_job, start_job, stop_job
from studies.models import Generation, Job, SeparabilityScore, Study, System
from studies.refusals import form_errors
from studies.stuck_jobs import StuckJob, stuck_jobs
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.similarity import ENCODED, similarity_title

Json = dict[str, Any]
MAX_JOBS = 6
MAX_POINTS = 2_000
# Words and spaces of a text whose differences are marked.
MAX_MARKED = 1_000


@require_safe
@researchers_only
def generate_select(request: HttpRequest, public_id: str) -> HttpResponse:
    """With a design in the address, what it would bring; nothing is drawn by looking."""
    study = study_for(request.user, public_id)
    return render(request, "metrics/generate_select.html", _page(request, study))


@require_safe
@researchers_only
def jobs(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part that changes by itself, without the forms that somebody may be filling in."""
    return _jobs_part(request, study_for(request.user, public_id))


@require_safe
@researchers_only
def results(request: HttpRequest, public_id: str) -> HttpResponse:
    study = study_for(request.user, public_id)
    return render(request, "metrics/generate_select_results.html", _results(request, study))


@require_safe
@researchers_only
def selection_preview(request: HttpRequest, public_id: str) -> HttpResponse:
    study = study_for(request.user, public_id)
    context = _draw(study, design_form(study, request.GET)) | {"is_part": True}
    return render(request, "metrics/selection_preview.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def act(request: HttpRequest, public_id: str, verb: str) -> HttpResponse:
    study = study_for(request.user, public_id)
    if verb not in STEPS and verb not in VERBS:
        raise Http404("No such step.")
    if request.method != "POST":  # back at the address where a form was refused
        return redirect("metrics:generate-select", public_id)
    return _take_step(request, study, verb) if verb in STEPS else _do(request, study, verb)


def _take_step(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """A form that is refused is shown again as it was filled in."""
    step = STEPS[name]
    form = step.form(study, request.POST)
    if form.is_valid():
        try:
            asked = step.question(study, form) if step.question else None
            if asked is not None and not is_confirmed(request, [asked]):
                return ask(request, [asked], back=_back(study), carry=_typed(form))
            messages.success(request, step.take(study, form, cast(User, request.user)))
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            return redirect("metrics:generate-select", study.pk)
    return render(
        request, "metrics/generate_select.html", _page(request, study, {name: form}), status=400
    )


def _back(study: Study) -> str:
    return reverse("metrics:generate-select", args=[study.pk])


def _typed(form: forms.BaseForm) -> list[tuple[str, str]]:
    return [(each.html_name, str(each.value())) for each in form if each.value() is not None]


def _do(request: HttpRequest, study: Study, verb: str) -> HttpResponse:
    asked = _before_taking_all(study) if verb == "take-all" else None
    if asked is not None and not is_confirmed(request, [asked]):
        return ask(request, [asked], back=_back(study))
    code = ""
    try:
        level, said = messages.SUCCESS, VERBS[verb](request, study)
    except DomainError as refusal:
        level, said, code = messages.ERROR, refusal.message, refusal.code
    if "HX-Request" in request.headers:
        return _jobs_part(request, study, said, code)
    messages.add_message(request, level, said, extra_tags=code)
    return redirect("metrics:generate-select", study.pk)


def _page(request: HttpRequest, study: Study, refused: Json | None = None) -> Json:
    filled = {name: step.form(study) for name, step in STEPS.items()}
    if "design" in request.GET:
        filled["draw"] = design_form(study, request.GET)
    filled |= refused or {}
    return {
        "here": "generate-select",
        "sampling_form": filled["sample"],
        "scoring_form": filled["score"],
        **_jobs(study),
        **_results(request, study),
        **_draw(study, cast(DesignForm, filled["draw"])),
    }


@dataclass(frozen=True)
class JobRow:
    """A job, what tells it apart from the others, and how fast it is."""

    job: Job
    about: str
    pace: Pace
    stuck: StuckJob | None


def _jobs(study: Study) -> Json:
    own = study.jobs.filter(kind__in=[Job.Kind.SAMPLING, Job.Kind.SCORING])
    unfinished = list(own.filter(finished_at=None))
    ended = own.exclude(finished_at=None)[: max(0, MAX_JOBS - len(unfinished))]
    stuck = {each.job.pk: each for each in stuck_jobs(unfinished)}
    rows = [
        JobRow(job, _about(job), pace_of(job), stuck.get(job.pk)) for job in [*unfinished, *ended]
    ]
    is_moving = any(row.job.status in {"queued", "running"} for row in rows)
    return {"study": study, "jobs": rows, "is_moving": is_moving}


def _jobs_part(request: HttpRequest, study: Study, said: str = "", code: str = "") -> HttpResponse:
    """When no job is under way any more, the page is told, and shows what they made."""
    context = _jobs(study)
    if not context["is_moving"]:
        said = said or "No job is under way any more. What they made is shown below."
    answer = render(
        request, "metrics/generate_select_jobs.html", context | {"said": said, "code": code}
    )
    return answer if context["is_moving"] else trigger_client_event(answer, "jobs-ended")


def _about(job: Job) -> str:
    known = job.options
    if job.kind == Job.Kind.SCORING:
        encoder = f", encoder {known['encoder']}" if "encoder" in known else ""
        return f"{similarity_title(known.get('similarity') or job.study.similarity)}{encoder}"
    temperatures = ", ".join(f"{each:g}" for each in known.get("temperatures") or [])
    return ", ".join(
        [
            "dummy texts" if is_dummy_job(known) else f"server {known.get('server', '')}",
            f"K = {known.get('samples', SAMPLES)}",
            f"τ = {temperatures} on {known.get('instances')} instances"
            if temperatures
            else "each system's own τ",
            f"seed {known.get('seed', 0)}",
        ]
    )


def _results(request: HttpRequest, study: Study) -> Json:
    """What there is of generations and scores, by the similarity that is asked for."""
    scored = sorted(_scored_similarities(study))
    asked = request.GET.get("similarity", "")
    shown = asked if asked in scored else study.similarity
    is_robustness = "robustness" in request.GET and shown == study.similarity
    pairs = study.system_pairs()
    return {
        "study": study,
        "dummies": dummy_texts(study.dataset) if study.dataset else None,
        "pairs": [_pair(study, pair, shown, with_variants=is_robustness) for pair in pairs],
        "shown": similarity_title(shown),
        "own": similarity_title(study.similarity),
        "is_own": shown == study.similarity,
        "asked": urlencode({"similarity": shown} | ({"robustness": 1} if is_robustness else {})),
        "scored": [(name, similarity_title(name)) for name in scored if name != shown],
        "is_robustness": is_robustness,
        "of_parts": similarity_title(similarity_of_parts(study)),
    }


def _scored_similarities(study: Study) -> set[str]:
    scores = SeparabilityScore.objects.filter(instance__dataset=study.dataset_id)
    return {study.similarity, *scores.values_list("similarity", flat=True).distinct()}


def _draw(study: Study, form: DesignForm) -> Json:
    is_draft = study.status == Study.Status.DRAFT
    is_asked = is_draft and form.is_bound and form.is_valid()
    return {
        "study": study,
        "previews": _selection_previews(study, form) if is_asked else None,
        "design_form": form,
        "drawn": study.selected.count(),
        "is_draft": is_draft,
    }


def _selection_previews(study: Study, form: DesignForm) -> Json | None:
    """What the design would bring, and the design itself; a refusal goes to the form."""
    names = {system.pk: system.name for pair in study.system_pairs() for system in pair}
    try:
        design = form.save(commit=False)
        found = selection_previews(study, design)
        plan = forecast_plan(study=study, selected=proposed_instances(study, design))
    except (DomainError, InvalidInput) as refusal:
        form.add_error(None, form_errors(refusal))
        return None
    planned = {(each.system_a, each.system_b): each for each in plan.pairs}
    return {
        "rows": [
            (f"{names[a]} – {names[b]}", each, planned.get((a, b)))
            for (a, b), each in found.items()
        ],
        "plan": plan,
        "cost": _cost(study, plan),
        "design": [(field.html_name, field.value()) for field in form],
    }


def _cost(study: Study, plan: Plan) -> str:
    """The reward for all places, without a platform's fee."""
    if study.reward is None or not study.hits_per_annotator:
        return ""
    return f"{study.reward * plan.places / study.hits_per_annotator:.2f} {study.currency}"


def _pair(
    study: Study, pair: tuple[System, System], similarity: str, *, with_variants: bool
) -> Json:
    rows = SeparabilityScore.objects.known(pair, similarity)
    values = list(
        rows.order_by("pk").values_list(
            "delta", "cross_alignment", "self_alignment_a", "self_alignment_b"
        )
    )
    points = values[:MAX_POINTS]
    return {
        "variants": variants(study, pair) if with_variants else None,
        "name": f"{pair[0].name} – {pair[1].name}",
        "n": len(values),
        "truncated": sum(rows.values_list("truncated", flat=True)),
        "histogram": separability_histogram([float(v[0]) for v in values if v[0] is not None]),
        "scenarios": scenarios_chart(
            [float(v[1] or 0) for v in points], [max(v[2] or 0.0, v[3] or 0.0) for v in points]
        ),
        "extremes": [
            (title, [_beside(score, pair) for score in scores])
            for title, scores in extremes(pair, similarity).items()
        ]
        if values
        else [],
    }


def _beside(score: SeparabilityScore, pair: tuple[System, System]) -> Json:
    """An instance with the first generation of either system."""
    rows = Generation.objects.filter(instance=score.instance_id, system__in=pair)
    texts: dict[int, Generation] = {}
    for generation in rows.order_by("sample_index"):
        texts.setdefault(generation.system_id, generation)
    shown = [texts.get(system.pk, Generation()) for system in pair]
    first, second = (each.text for each in shown)
    marked = _marked(first, second), _marked(second, first)
    is_dummy = [each.is_dummy for each in shown]
    return {"score": score, "texts": list(zip(pair, marked, is_dummy, strict=True))}


def _marked(text: str, other: str) -> SafeString:
    """The text with the words marked that the other one lacks at that place.

    Of a long one only the beginning: comparing takes the square of the length.
    """
    words, others = (re.findall(r"\S+|\s+", each) for each in (text, other))
    words, rest = words[:MAX_MARKED], words[MAX_MARKED:]
    others = others[:MAX_MARKED]
    same = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    parts, at = [], 0
    for start, _, size in same:
        parts.append(("mark", "".join(words[at:start])))
        parts.append(("span", "".join(words[start : start + size])))
        at = start + size
    parts.append(("span", "".join(rest)))
    shown = [(tag, part, tag) for tag, part in parts if part]
    return format_html_join("", "<{}>{}</{}>", shown)


def _sample(study: Study, form: forms.BaseForm, by: User) -> str:
    start_sampling(study=study, options=form.cleaned_data, by=by)
    return "Sampling has begun; this page shows how far it is."


def _score(study: Study, form: forms.BaseForm, by: User) -> str:
    queue = "gpu" if form.cleaned_data["similarity"] in ENCODED else "default"
    options = {**form.cleaned_data, "queue": queue}
    start_job(study=study, kind=Job.Kind.SCORING, options=options, by=by)
    return "Scoring has begun; this page shows how far it is."


def _before_drawing(study: Study, form: forms.BaseForm) -> Question | None:
    """None of what is refused anyway; a design that cannot be drawn is refused here already."""
    if study.status != Study.Status.DRAFT:
        return None
    found = selection_previews(study, cast(DesignForm, form).save(commit=False)).values()
    chosen, of = sum(each.instances for each in found), sum(each.of for each in found)
    return replacing_plan(
        study,
        title="Draw these instances and plan the HITs?",
        button="Draw and plan",
        said=f"{chosen} of {of} scored instances are drawn, over all pairs of systems, with seed"
        f" {form.cleaned_data['seed']}.",
        facts=sorted(form.cleaned_data.items()),
    )


def _before_taking_all(study: Study) -> Question | None:
    if study.status != Study.Status.DRAFT:
        return None
    return replacing_plan(
        study,
        title="Take every instance after all?",
        button="Take every instance",
        said="The draw is forgotten, and HITs are planned for every instance.",
        facts=(),
    )


def _plan_drawn(study: Study, form: forms.BaseForm, by: User) -> str:
    with transaction.atomic():  # a draw that cannot be planned is none
        design = cast(DesignForm, form).save(commit=False)
        n = draw_instances(study=study, design=design, by=by)
        plan = plan_hits(study=study)
    return f"Drew {n} instances and planned {plan.summary}"


@dataclass(frozen=True)
class Step:
    """What is filled in, and what is then done and said."""

    form: Callable[..., forms.BaseForm]
    take: Callable[[Study, forms.BaseForm, User], str]
    question: Callable[[Study, forms.BaseForm], Question | None] | None = None


STEPS: dict[str, Step] = {
    "sample": Step(sampling_form, _sample),
    "score": Step(scoring_form, _score),
    "draw": Step(design_form, _plan_drawn, _before_drawing),
}


def _take_all(request: HttpRequest, study: Study) -> str:
    with transaction.atomic():
        take_all_instances(study=study, by=cast(User, request.user))
        plan = plan_hits(study=study)
    return f"The draw is forgotten: every instance is planned, {plan.summary}"


def _job(request: HttpRequest, study: Study) -> Job:
    asked = request.POST.get("job", "")
    job = next((each for each in study.jobs.all() if each.public_id == asked), None)
    if job is None:
        raise DomainError("no_such_job", "This study has no such job.", status=404)
    return job


def _pause(request: HttpRequest, study: Study) -> str:
    pause_job(job=_job(request, study))
    return "The job pauses after the chunk it is at."


def _resume(request: HttpRequest, study: Study) -> str:
    resume_job(job=_job(request, study))
    return "The job goes on."


def _stop(request: HttpRequest, study: Study) -> str:
    stop_job(job=_job(request, study))
    return "The job has ended; what it made is kept."


def _remove_dummies(request: HttpRequest, study: Study) -> str:
    number = request.POST.get("number", "")
    if study.dataset is None:
        raise DomainError("no_dataset", "The study has no dataset. Choose one first.")
    confirmed = int(number) if number.isdecimal() and number.isascii() else -1
    gone = remove_dummy_generations(dataset=study.dataset, confirmed=confirmed)
    return f"Removed {gone.texts} dummy texts and what was made of them."


VERBS: dict[str, Callable[[HttpRequest, Study], str]] = {
    "take-all": _take_all,
    "pause": _pause,
    "resume": _resume,
    "stop": _stop,
    "remove-dummies": _remove_dummies,
}
